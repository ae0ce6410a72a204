"""Registers that ask for little share transactions, and nothing else."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from server.domain.actor import Actor, spectator
from server.domain.bots import GENERIC
from server.domain.clock import SystemClock
from server.domain.errors import ServerNotReadyError, UserDeactivatedError
from server.events.queue_params import QueueParams, queue_params
from server.initial_state import register
from server.initial_state.base import StateSection
from server.initial_state.register import MAX_QUEUES, Registration
from storage import bots, event_queues
from storage.bots import DefaultsRow
from storage.event_queues import NewQueue
from storage.ids import QueueId
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

NOTHING = Registration(
    queue=QueueParams(event_types=("message",)),
    all_public_channels=None,
    fetch_types=frozenset(),
    include_subscribers="false",
    lifespan_seconds=600,
)


@pytest.fixture
def batches(monkeypatch):
    """The number of calls of each shared transaction."""
    sizes: list[int] = []

    async def counted(database, realm_cache, server, calls):
        sizes.append(len(calls))
        return await register.register(database, realm_cache, server, calls)

    monkeypatch.setattr("server.initial_state.queue_registrar.register", counted)
    return sizes


@pytest.fixture
def asking_for(monkeypatch):
    """A registration that asks for the one section that there is: what `fetch_many` reads."""

    def asking_for(fetch_many):
        async def fetch(snapshot):
            return (await fetch_many([snapshot]))[0]

        monkeypatch.setattr(register, "SECTIONS", (StateSection("own", fetch, (), fetch_many),))
        return replace(NOTHING, fetch_types=frozenset({"own"}))

    return asking_for


@pytest_asyncio.fixture
async def begin_as(server):
    """Begin to register a queue, together with all that begin in the same moment."""
    registrar = server.app.queue_registrar

    def begin_as(actor, registration=NOTHING):
        return asyncio.create_task(registrar.register(actor, registration))

    return begin_as


@pytest.fixture
def begin(make, begin_as):
    """The same for a user."""

    def begin(user, realm_id=make.realm_id, registration=NOTHING):
        return begin_as(Actor(realm_id, user), registration)

    return begin


async def queues_of(make, *users):
    return await make.connection.values(
        "SELECT queue_id FROM event_queues WHERE user_id = ANY(%(ids)s::bigint[])",
        ids=[user.user_id for user in users],
    )


async def test_each_of_a_crowd_gets_a_queue_that_continues_its_state(make, log_in, batches):
    users = await make.users(30)
    await make.channel("general", subscribers=users)
    sender, *clients = [await log_in(user) for user in users]

    async def say(number):
        fields = {"type": "channel", "to": "general", "topic": "t", "content": f"{number}"}
        return (await sender.post("/messages", **fields))["id"]

    async def keep_saying():
        return [await say(number) for number in range(20)]

    saying = asyncio.create_task(keep_saying())
    queues = []
    for _ in range(5):
        queues += await asyncio.gather(*[c.register(event_types=["message"]) for c in clients])
    sent = [*await saying, await say("last")]

    for queue in queues:
        events = await queue.poll()
        while events[-1]["message"]["id"] != sent[-1]:
            events += await queue.poll()
        newest = queue.state["max_message_id"]
        assert [event["message"]["id"] for event in events] == [i for i in sent if i > newest]
    assert len({queue.queue_id for queue in queues}) == len(queues)
    assert max(batches) > 1


async def test_a_batch_keeps_to_the_most_queues_of_a_user(make, begin, batches):
    full, other = await make.users(2)
    old = [QueueId(f"old {number:03}") for number in range(MAX_QUEUES)]
    rows = [NewQueue(queue_id, full.user_id, {}, 600) for queue_id in old]
    await event_queues.insert(make.connection, make.realm_id, rows)
    await event_queues.insert(
        make.connection, make.realm_id, [NewQueue(QueueId("of another"), other.user_id, {}, 600)]
    )
    await make.connection.execute(
        "UPDATE event_queues SET last_seen_at = now() - interval '1 hour'"
        " WHERE realm_id = %(realm_id)s AND queue_id < 'old 005'",
        realm_id=make.realm_id,
    )

    first, *others = await asyncio.gather(begin(other), *[begin(full) for _ in range(5)])

    assert batches == [6]
    left = await queues_of(make, full)
    assert sorted(left) == sorted([*old[5:], *[each.queue_id for each in others]])
    assert [sorted(each.ended) for each in others] == [old[:5], [], [], [], []]
    assert sorted(await queues_of(make, other)) == sorted(["of another", first.queue_id])


async def test_realms_do_not_share(make, begin, database, batches):
    user = await make.user()
    async with database.connection() as connection:
        there = await new_realm(connection)
        stranger = await there.user()
        tasks = [begin(user), begin(stranger, there.realm_id)]
        tasks += [begin(user), begin(stranger, there.realm_id)]
        registered = await asyncio.gather(*tasks)
        assert batches == [2, 2]
        assert sorted(await queues_of(make, user)) == sorted(r.queue_id for r in registered[::2])
        rows = await event_queues.live(
            connection, there.realm_id, [each.queue_id for each in registered]
        )
    assert {row.queue_id for row in rows} == {each.queue_id for each in registered[1::2]}
    assert {row.user_id for row in rows} == {stranger.user_id}


async def test_who_is_deactivated_is_refused_and_others_are_not(make, begin, batches):
    gone, staying = await make.users(2)
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(user_id)s", user_id=gone.user_id
    )
    outcomes: Any = await asyncio.gather(begin(gone), begin(staying), return_exceptions=True)
    refused, registered = outcomes
    assert batches == [2]
    assert isinstance(refused, UserDeactivatedError)
    assert await queues_of(make, gone, staying) == [registered.queue_id]


async def test_a_failure_of_one_is_not_that_of_others(make, begin, batches, asking_for):
    unlucky, lucky = await make.users(2)

    async def fail(snapshots):
        if unlucky.user_id in {each.actor.user_id for each in snapshots}:
            raise ValueError("unlucky")
        return [{} for _ in snapshots]

    failing = asking_for(fail)
    begun = [begin(unlucky, registration=failing), begin(lucky, registration=failing)]
    outcomes: Any = await asyncio.gather(*begun, return_exceptions=True)
    failed, registered = outcomes
    assert batches == [2, 1, 1]
    assert isinstance(failed, ValueError)
    assert await queues_of(make, unlucky, lucky) == [registered.queue_id]


async def test_a_queue_that_is_lost_meanwhile_is_not_handed_out(make, begin, batches, asking_for):
    """As by a crash of the database, which loses commits that are not waited for."""
    unlucky, lucky = await make.users(2)

    async def lose_a_queue(snapshots):
        await make.connection.execute(
            "DELETE FROM event_queues WHERE user_id = %(user_id)s", user_id=unlucky.user_id
        )
        return [{} for _ in snapshots]

    losing = asking_for(lose_a_queue)
    begun = [begin(unlucky, registration=losing), begin(lucky, registration=losing)]
    outcomes: Any = await asyncio.gather(*begun, return_exceptions=True)
    refused, registered = outcomes
    assert batches == [2]
    assert isinstance(refused, ServerNotReadyError)
    assert await queues_of(make, unlucky, lucky) == [registered.queue_id]


async def test_who_does_not_wait_any_more_leaves_no_queue_behind(make, begin, database, batches):
    users = await make.users(4)
    async with database.transaction() as writing:
        await writing.execute("SELECT clock_lock(%(realm_id)s)", realm_id=make.realm_id)
        impatient, patient = begin(users[0]), begin(users[1])
        while not batches:  # noqa: ASYNC110 - nothing tells that a batch has begun
            await asyncio.sleep(0)
        impatient_in_line, patient_in_line = begin(users[2]), begin(users[3])
        await asyncio.sleep(0)
        leaving = [impatient, impatient_in_line]
        for task in leaving:
            task.cancel()
        await asyncio.wait(leaving)
        assert all(task.cancelled() for task in leaving)
    registered = [await patient, await patient_in_line]
    assert batches == [2, 2]
    assert sorted(await queues_of(make, *users)) == sorted(each.queue_id for each in registered)


async def test_spectators_get_the_state_alone(make, begin, begin_as, batches):
    registration = replace(NOTHING, fetch_types=frozenset({"message"}))
    user = await make.user()
    spectating, registered = await asyncio.gather(
        begin_as(spectator(make.realm_id, {}, SystemClock().now()), registration),
        begin(user, registration=registration),
    )
    assert batches == [2]
    assert spectating.queue_id is None
    assert spectating.fields["max_message_id"] == registered.fields["max_message_id"] == -1
    assert spectating.fields["position"] == registered.fields["position"]
    assert await queues_of(make, user) == [registered.queue_id]


async def test_only_guests_have_what_guests_may_know(make, begin):
    users = [await make.user(), await make.user(), await make.user(role=GUEST)]
    registered = await asyncio.gather(*[begin(user) for user in users])
    rows = await event_queues.live(
        make.connection, make.realm_id, [each.queue_id for each in registered]
    )
    known = Counter((row.user_id, "knows_everybody" in row.params) for row in rows)
    assert known == Counter({(user.user_id, user.role == GUEST): 1 for user in users})


async def test_each_bot_has_its_own_defaults(make, begin):
    narrowed, listening, plain = [await make.user(bot_type=GENERIC) for _ in range(3)]
    channel = await make.channel("news")
    for row in (
        DefaultsRow(bot_id=narrowed.user_id, events_channel_id=channel.channel_id),
        DefaultsRow(bot_id=listening.user_id, all_public_channels=True),
    ):
        await bots.set_defaults(make.connection, make.realm_id, row)
    users = [narrowed, listening, plain, await make.user()]
    registered = await asyncio.gather(*[begin(user) for user in users])
    rows = await event_queues.live(
        make.connection, make.realm_id, [each.queue_id for each in registered]
    )
    params = {row.user_id: queue_params(row.params) for row in rows}
    narrows = [params[user.user_id].narrow for user in users]
    assert narrows == [(("channel", channel.channel_id),), (), (), ()]
    everywhere = [params[user.user_id].all_public_channels for user in users]
    assert everywhere == [False, True, False, False]
