"""Sends that come at the same time share a statement, and each ends as if it had come alone."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import psycopg
import pytest
import pytest_asyncio

from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.send import Sent, prepare, send_message
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, IdempotencyKeyReusedError
from server.domain.topic_policies import FOLLOWED
from server.events import catalogue
from server.events.base import decode_audience
from server.events.messages import MessageSent
from storage.channels import ChannelRow
from storage.database import Connection, Statement, open_database
from storage.ids import Position
from storage.users import UserRow
from testkit.clock import StoppedClock
from testkit.factories import Make
from testkit.faults.proxy import proxy_to
from testkit.stage import Happened, Stage

pytestmark = pytest.mark.asyncio

ODD_CONTENTS = [
    "plain",
    'a "quoted" \\ backslash \\u0041 and {"json": [1]}',
    "tab\tnew line\nand \x01 control",
    "snow \N{SNOWMAN}, \N{GRINNING FACE}, \N{COMBINING ACUTE ACCENT}e, \N{RIGHT-TO-LEFT OVERRIDE}",
    "```\n<b>&amp;</b>\n```",
    "x" * 10_000,
]
ANSWER_BYTES = 420
STEP = 30


@pytest_asyncio.fixture
async def people(make: Make) -> list[UserRow]:
    return await make.users(4)


@pytest_asyncio.fixture
async def channel(make: Make, people: list[UserRow]) -> ChannelRow:
    return await make.channel(subscribers=people)


def to(channel: ChannelRow, content: str = "hello", **facts) -> OutgoingMessage:
    facts = {"type": "channel", "to": channel.channel_id, "topic": "t", **facts}
    return OutgoingMessage(content=content, **facts)


def named(draft: OutgoingMessage, key: str, digest: bytes = b"d") -> OutgoingMessage:
    return replace(draft, idempotency_key=key, idempotency_digest=digest)


def touched(table: str, column: str, realm_id: int, row_id: int, **facts: object) -> Statement:
    """A change of a row, at a position."""
    values = "".join(f", {name} = %({name})s" for name in facts)
    return Statement(
        f"UPDATE {table} SET changed_at = current_position(){values}"
        f" WHERE realm_id = %(r)s AND {column} = %(id)s",
        {"r": realm_id, "id": row_id, **facts},
    )


async def send(stage: Stage, actor: Actor, draft: OutgoingMessage) -> Sent:
    decision = await prepare(
        stage.realm_caches.of(actor.realm_id), actor, draft, stage.database.connection
    )
    clocked = await stage.write(send_message, actor, draft, decision, stage.clock.now())
    return cast("Sent", clocked.result)


def nothing() -> None:
    pass


async def together(
    stage: Stage, *sends: tuple[Actor, OutgoingMessage], decided: Callable[[], None] = nothing
) -> list[Any]:
    """What came of each, or what refused it: all are decided first, and then handed in."""
    decisions = [
        await prepare(
            stage.realm_caches.of(actor.realm_id), actor, draft, stage.database.connection
        )
        for actor, draft in sends
    ]
    decided()
    now = stage.clock.now()
    answers = await asyncio.gather(
        *(
            stage.write(send_message, actor, draft, decision, now)
            for (actor, draft), decision in zip(sends, decisions, strict=True)
        ),
        return_exceptions=True,
    )
    return [each if isinstance(each, BaseException) else each.result for each in answers]


def messages(stage: Stage) -> dict[int, MessageSent]:
    """What was told of messages, by their ids."""
    return {
        each.position: each.event for each in stage.happened if isinstance(each.event, MessageSent)
    }


async def logged(stage: Stage, actor: Actor) -> list[tuple[int, str, bytes, bytes]]:
    async with stage.database.connection() as connection:
        return await connection.tuples(
            "SELECT position, kind, audience, body FROM event_log"
            " WHERE realm_id = %(realm_id)s ORDER BY position",
            realm_id=actor.realm_id,
        )


async def test_each_has_its_own_id_and_says_what_it_said(stage: Stage, make: Make, people, channel):
    actors = [await make.actor(person) for person in people]
    await send(stage, actors[0], to(channel))
    before = stage.writers.of(make.realm_id).commits
    sends = [(actors[n % 4], to(channel, content)) for n, content in enumerate(ODD_CONTENTS)]
    answers = await together(stage, *sends)
    assert stage.writers.of(make.realm_id).commits == before + 1
    ids = [answer.message_id for answer in answers]
    assert ids == sorted(set(ids))
    async with stage.database.connection() as connection:
        rows = await connection.tuples(
            "SELECT sender_id, content, sent_at, conversation_id FROM messages"
            " WHERE realm_id = %(realm_id)s AND id = ANY(%(ids)s::bigint[]) ORDER BY id",
            realm_id=make.realm_id,
            ids=ids,
        )
    conversations = {row[3] for row in rows}
    assert len(conversations) == 1
    assert [row[:3] for row in rows] == [
        (actor.user_id, draft.content, stage.clock.now()) for actor, draft in sends
    ]


async def test_what_is_told_is_what_the_log_holds(stage: Stage, make: Make, people, channel):
    actors = [await make.actor(person) for person in people]
    await send(stage, actors[0], to(channel))
    await together(stage, *((actor, to(channel, odd)) for actor in actors for odd in ODD_CONTENTS))
    made, *rows = await logged(stage, actors[0])
    assert made[1] == "tick"
    assert stage.happened == [
        Happened(Position(position), catalogue.decode(kind, body), decode_audience(audience))
        for position, kind, audience, body in rows
    ]
    assert [event.content for event in messages(stage).values()] == [
        "hello",
        *(odd for _ in actors for odd in ODD_CONTENTS),
    ]


async def test_one_that_is_stale_is_decided_again_and_the_others_are_sent(
    stage: Stage, make: Make, people, channel
):
    other = await make.channel(subscribers=people)
    actors = [await make.actor(person) for person in people]
    for each in (channel, other):
        await send(stage, actors[0], to(each))
    r = make.realm_id
    await make.at_position(
        touched("channels", "channel_id", r, other.channel_id, is_archived=True),
        touched("users", "user_id", r, people[2].user_id, full_name="Renamed"),
    )
    stage.happened.clear()
    one, refused, renamed, last = await together(
        stage,
        (actors[0], to(channel)),
        (actors[1], to(other)),
        (actors[2], to(channel)),
        (actors[3], to(channel)),
    )
    assert isinstance(refused, BadRequestError)
    names = {place: event.message.sender.full_name for place, event in messages(stage).items()}
    assert set(names) == {one.message_id, renamed.message_id, last.message_id}
    assert names[renamed.message_id] == "Renamed"


async def test_of_one_name_there_is_one_message(stage: Stage, make: Make, people, channel):
    alice, bob = [await make.actor(person) for person in people[:2]]
    await send(stage, alice, to(channel))
    twice = named(to(channel, "once"), "a")
    first, second, theirs = await together(stage, (alice, twice), (alice, twice), (bob, twice))
    assert first == second
    assert theirs.message_id != first.message_id
    again, other, reused = await together(
        stage,
        (alice, twice),
        (alice, named(to(channel, "more"), "b")),
        (alice, named(to(channel, "else"), "a", b"another")),
    )
    assert again == first
    assert other.message_id > theirs.message_id
    assert isinstance(reused, IdempotencyKeyReusedError)


async def test_direct_messages_go_with_the_others(stage: Stage, make: Make, people, channel):
    alice, bob = [await make.actor(person) for person in people[:2]]
    direct = OutgoingMessage(type="direct", to=[bob.user_id], topic=None, content="hi")
    await send(stage, alice, to(channel))
    began = await together(stage, (alice, direct), (bob, replace(direct, to=[alice.user_id])))
    before = stage.writers.of(make.realm_id).commits
    went = await together(
        stage, (alice, direct), (bob, to(channel)), (bob, replace(direct, to=[alice.user_id]))
    )
    assert stage.writers.of(make.realm_id).commits == before + 1
    async with stage.database.connection() as connection:
        places = await connection.tuples(
            "SELECT id, conversation_id FROM messages"
            " WHERE realm_id = %(r)s AND channel_id IS NULL",
            r=make.realm_id,
        )
    assert {place for place, _ in places} == {
        answer.message_id for answer in [*began, went[0], went[2]]
    }
    assert len({conversation for _, conversation in places}) == 1
    await make.at_position(
        touched("users", "user_id", make.realm_id, people[1].user_id, full_name="Robert")
    )
    [renamed, _] = await together(stage, (alice, direct), (alice, to(channel)))
    told = messages(stage)[renamed.message_id].message
    assert {each.full_name for each in told.recipients} == {people[0].full_name, "Robert"}


async def test_senders_come_to_follow_what_they_take_part_in(
    stage: Stage, make: Make, people, channel
):
    keen, idle = people[:2]
    settings = Connection.json({"automatically_follow_topics_policy": 2})
    await make.at_position(
        touched("users", "user_id", make.realm_id, keen.user_id, settings=settings)
    )
    alice, bob = await make.actor(keen), await make.actor(idle)
    await send(stage, bob, to(channel))
    stage.realm_caches.of(make.realm_id).forget_everything()
    stage.happened.clear()
    first, theirs, second = await together(
        stage, (alice, named(to(channel), "k")), (bob, to(channel)), (alice, to(channel))
    )
    assert first.new_visibility_policy == FOLLOWED
    assert (theirs.new_visibility_policy, second.new_visibility_policy) == (None, None)
    assert stage.kinds() == ["message", "message", "message", "user_topic"]
    assert stage.happened[-1].audience.users == (alice.user_id,)
    again = await send(stage, alice, named(to(channel), "k"))
    assert again == first


async def test_an_answer_that_is_cut_at_any_byte_costs_and_doubles_nothing(
    database_url: str, database, make: Make, people, channel
):
    port = psycopg.conninfo.conninfo_to_dict(database_url).get("port")
    async with proxy_to(int(port or 5432)) as proxy:
        url = psycopg.conninfo.make_conninfo(database_url, host="127.0.0.1", port=proxy.port)
        async with open_database(url, min_size=2, max_size=4) as behind:
            stage = Stage(behind, StoppedClock())
            actors = [await make.actor(person) for person in people]
            ids = [(await send(stage, actors[0], to(channel))).message_id]
            for length in range(0, ANSWER_BYTES, STEP):

                def cut(length: int = length) -> None:
                    for link in proxy.links:
                        link.far.allowance = length

                sends = ((actor, to(channel)) for actor in actors)
                answers = await together(stage, *sends, decided=cut)
                proxy.forgive()
                ids += [answer.message_id for answer in answers]
            assert proxy.cuts
            proxy.forgive()
            await stage.writers.drain()
    async with database.connection() as connection:
        found = await connection.values(
            "SELECT id FROM messages WHERE realm_id = %(r)s", r=make.realm_id
        )
    assert sorted(found) == sorted(ids)
    assert len(set(ids)) == 1 + 4 * len(range(0, ANSWER_BYTES, STEP))


async def test_all_that_waits_shares_a_commit_if_other_processes_write_too(
    stage: Stage, database, make: Make, people, channel
):
    """Alone, half of it is committed while the requests of the others are read."""
    alice = await make.actor(people[0])
    elsewhere = Stage(database, StoppedClock())
    writer = stage.writers.of(make.realm_id)

    async def commits_of_eight() -> int:
        """Of as many as shared the commit before."""
        writer._at_once = 8
        before = writer.commits
        await together(stage, *[(alice, to(channel)) for _ in range(8)])
        return writer.commits - before

    await send(stage, alice, to(channel))
    assert await commits_of_eight() == 2
    async with asyncio.timeout(60):
        while not writer.contention.has_rivals:
            await send(elsewhere, alice, to(channel))
            await send(stage, alice, to(channel))
    assert await commits_of_eight() == 1
