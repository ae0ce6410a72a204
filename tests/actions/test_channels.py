"""Channels are renamed, closed, opened, made private and public; everyone keeps up with it."""

import pytest

from server.actions.channels.change import change_privacy, rename, set_archived
from server.domain.channel_creation import ChannelTerms
from server.domain.errors import BadRequestError, ChannelAlreadyExistsError

pytestmark = pytest.mark.asyncio


async def private_channel(hall):
    return await hall.make.channel(
        "plans", invite_only=True, subscribers=[hall.member, hall.guest], creator=hall.member
    )


async def public_channel(hall):
    return await hall.make.channel("plans", subscribers=[hall.member, hall.guest])


@pytest.mark.parametrize("make_channel", [private_channel, public_channel])
async def test_a_channel_gets_another_name(hall, witnesses, make_channel):
    channel = await make_channel(hall)

    async def change():
        actor = hall.actor(hall.admin)
        await hall.stage.run(rename, actor, channel.channel_id, "  Better  ")

    await witnesses.watch(change, hall.everybody)

    again = await hall.make.again(channel)
    assert again.name == "Better"
    assert again.changed_at == hall.stage.happened[0].position
    assert hall.stage.happened[0].event.name == "plans"


async def test_a_name_is_given_once(hall):
    channel = await public_channel(hall)
    await hall.make.channel("taken")

    with pytest.raises(ChannelAlreadyExistsError):
        await hall.stage.run(rename, hall.actor(hall.admin), channel.channel_id, "TAKEN")
    await hall.stage.run(rename, hall.actor(hall.admin), channel.channel_id, "PLANS")


@pytest.mark.parametrize("make_channel", [private_channel, public_channel])
async def test_a_channel_is_closed_and_opened_again(hall, witnesses, make_channel):
    channel = await make_channel(hall)
    await hall.make.connection.execute(
        "UPDATE subscriptions SET is_muted = true WHERE user_id = %(user_id)s",
        user_id=hall.guest.user_id,
    )
    actor = hall.actor(hall.admin)

    async def close():
        await hall.stage.run(set_archived, actor, channel.channel_id, archived=True)

    async def open_again():
        await hall.stage.run(set_archived, actor, channel.channel_id, archived=False)

    await witnesses.watch(close, hall.everybody)
    assert (await hall.make.again(channel)).is_archived
    await witnesses.watch(open_again, hall.everybody)
    assert not (await hall.make.again(channel)).is_archived


async def test_a_channel_is_closed_once(hall):
    channel = await public_channel(hall)
    actor = hall.actor(hall.admin)

    with pytest.raises(BadRequestError):
        await hall.stage.run(set_archived, actor, channel.channel_id, archived=False)


async def test_a_closed_channel_is_no_default_any_more(hall, witnesses):
    channel = await hall.make.channel(is_default=True)

    async def close():
        actor = hall.actor(hall.admin)
        await hall.stage.run(set_archived, actor, channel.channel_id, archived=True)

    await witnesses.watch(close, hall.everybody)

    assert [each.event.default_streams for each in hall.told("default_streams")] == [[]]


PRIVATE = ChannelTerms(invite_only=True)
SHARED = ChannelTerms(invite_only=True, history_public_to_subscribers=True)
PUBLIC = ChannelTerms()
OPEN = ChannelTerms(is_web_public=True)


@pytest.mark.parametrize("before", [PRIVATE, PUBLIC, OPEN])
@pytest.mark.parametrize("after", [PRIVATE, SHARED, PUBLIC, OPEN])
async def test_everyone_keeps_up_with_who_may_know_of_a_channel(hall, witnesses, before, after):
    settings = '{"enable_spectator_access": true}'
    await hall.make.connection.execute("UPDATE realms SET settings = %(it)s", it=settings)
    channel = await hall.make.channel(
        invite_only=before.invite_only,
        is_web_public=before.is_web_public,
        subscribers=[hall.member],
        can_subscribe_group=[hall.owner],
    )

    async def change():
        await hall.stage.run(
            change_privacy,
            hall.actor(hall.admin),
            channel.channel_id,
            after,
            web_public_enabled=True,
        )

    await witnesses.watch(change, hall.everybody)

    row = await hall.make.again(channel)
    assert (row.invite_only, row.is_web_public) == (after.invite_only, after.is_web_public)
    assert row.history_public_to_subscribers == after.shares_history


async def test_only_who_administers_a_channel_changes_it(hall):
    plans = await public_channel(hall)
    secret = await hall.make.channel(invite_only=True)

    async def renaming(tx, actor, channel_id):
        await rename(tx, actor, channel_id, "new")

    async def closing(tx, actor, channel_id):
        await set_archived(tx, actor, channel_id, archived=True)

    async def hiding(tx, actor, channel_id):
        await change_privacy(tx, actor, channel_id, PRIVATE, web_public_enabled=False)

    for actor, channel_id, message in (
        (hall.member, plans.channel_id, "permission to administer"),
        (hall.guest, plans.channel_id, "permission to administer"),
        (hall.other, secret.channel_id, "Invalid channel ID"),
        (hall.owner, 10**9, "Invalid channel ID"),
    ):
        for action in (renaming, closing, hiding):
            with pytest.raises(BadRequestError, match=message):
                await hall.stage.run(action, hall.actor(actor), channel_id)
