"""Sends and changes of membership that share a commit keep their order."""

import asyncio

import pytest

from server.actions.channels.create import ChannelSpec
from server.actions.messages import move, send
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.move import MoveRequest
from server.actions.subscriptions.subscribe import SubscriptionRequest, subscribe
from server.actions.subscriptions.unsubscribe import unsubscribe
from storage import message_flags

pytestmark = pytest.mark.asyncio


async def in_one_commit(hall, *writes):
    """Hand in these writes together, in this order."""
    writer = hall.stage.writers.of(hall.make.realm_id)
    await hall.stage.write(_nothing, hall.actor(hall.member))
    before = writer.commits
    hall.stage.happened.clear()
    await asyncio.gather(*(hall.stage.write(*write) for write in writes))
    assert writer.commits == before + 1


async def _nothing(_tx, _actor):
    return None


def joining(hall):
    request = SubscriptionRequest(wanted=[ChannelSpec("plans")])

    async def join(tx, actor):
        await subscribe(tx, actor, request, web_public_enabled=False)

    return join, hall.actor(hall.other)


def leaving(hall):
    return unsubscribe, hall.actor(hall.other), ["plans"]


async def sending(hall):
    """A message of the member that mentions the other."""
    actor = hall.actor(hall.member)
    draft = OutgoingMessage(type="channel", to="plans", topic="t", content="@**Other** hello")
    realm_cache = hall.stage.realm_caches.of(hall.make.realm_id)
    decision = await send.prepare(realm_cache, actor, draft, hall.stage.database.connection)
    return send.send_message, actor, draft, decision, hall.stage.clock.now()


async def flagged(hall):
    """Who has flags of their own for a message."""
    return await hall.make.connection.values("SELECT user_id FROM message_flags")


@pytest.mark.parametrize("first", ["send", "change"])
async def test_who_leaves_after_a_message_is_mentioned_in_it(hall, first):
    await hall.make.channel("plans", subscribers=[hall.member, hall.other])
    writes = [await sending(hall), leaving(hall)]

    await in_one_commit(hall, *(writes if first == "send" else reversed(writes)))

    expected = [hall.other.user_id] if first == "send" else []
    assert await flagged(hall) == expected


@pytest.mark.parametrize("first", ["send", "change"])
async def test_who_joins_before_a_message_is_mentioned_in_it(hall, first):
    await hall.make.channel("plans", subscribers=[hall.member])
    writes = [await sending(hall), joining(hall)]

    await in_one_commit(hall, *(writes if first == "send" else reversed(writes)))

    expected = [] if first == "send" else [hall.other.user_id]
    assert await flagged(hall) == expected


async def test_who_leaves_beside_a_move_is_not_given_what_it_brings(hall, changes):
    """A write that runs alone knows the members: positions of the same commit are not known yet."""
    await hall.make.channel("open", subscribers=[hall.member])
    plans = await hall.make.channel(
        "plans", invite_only=True, shares_history=False, subscribers=[hall.member, hall.other]
    )
    await changes.send(hall.member, "plans")
    sent = await changes.send(hall.member, "open")
    request = MoveRequest(channel_id=plans.channel_id)
    now = hall.stage.clock.now()

    await asyncio.gather(
        hall.stage.write(*leaving(hall)),
        hall.stage.write(move.begin, hall.actor(hall.member), sent, request, now),
    )
    await hall.make.subscribe(plans, [hall.other])

    states = await message_flags.states(
        hall.make.connection, hall.make.realm_id, user_ids=[hall.other.user_id], message_ids=[sent]
    )
    assert [state.accessible for state in states] == [False]


async def test_joining_twice_in_one_commit_is_joining_once(hall):
    channel = await hall.make.channel("plans")

    await in_one_commit(hall, joining(hall), joining(hall), leaving(hall), joining(hall))

    assert hall.stage.kinds().count("subscription/add") == 2
    assert await hall.subscribers(channel) == [hall.other.user_id]
    assert (await hall.make.again(channel)).subscriber_count == 1


async def test_a_channel_wanted_twice_in_one_commit_is_made_once(hall):
    await in_one_commit(hall, joining(hall), joining(hall))

    assert hall.stage.kinds() == ["stream/create", "subscription/add", "subscription/peer_add"]
