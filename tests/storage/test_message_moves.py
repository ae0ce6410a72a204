"""Moves and deletions write messages, and nothing of their readers."""

import pytest
import pytest_asyncio

from storage import message_moves
from storage.database import Connection
from storage.ids import ChannelId, MessageId, TopicId
from storage.message_moves import TopicMove
from tests.storage.read_state_driver import NOW, Driver
from tests.storage.read_state_model import Channel

pytestmark = pytest.mark.asyncio

PUBLIC = Channel(invite_only=False, is_web_public=False, shares_history=True)


@pytest_asyncio.fixture
async def driver(connection: Connection) -> Driver:
    return await Driver.in_new_realm(connection, 1, [PUBLIC, PUBLIC])


async def send(driver: Driver, topic: str = "a") -> tuple[int, int]:
    [user] = driver.people
    channel = min(driver.channels)
    return await driver.send_to_channel(user, channel, topic, traits=0, mentioned=[])


async def test_a_topic_that_came_meanwhile_is_not_made_twice(driver: Driver):
    _, topic_id = await send(driver, "Topic")

    assert await driver.topic_for_move(min(driver.channels), "TOPIC") == topic_id


async def test_a_topic_is_not_renamed_to_a_name_that_came_meanwhile(driver: Driver):
    _, topic_id = await send(driver, "a")
    await send(driver, "b")

    assert await driver.rename(topic_id, "B") == "stale"
    assert await driver.rename(topic_id, "A") == "renamed"


async def test_the_latest_edit_comes_first(driver: Driver):
    message_id, topic_id = await send(driver)
    target = max(driver.channels)

    for number in (1, 2):
        old_topic_id = topic_id
        topic_id = await driver.topic_for_move(target, f"topic {number}")
        await message_moves.move(
            driver.connection,
            driver.realm_id,
            [MessageId(message_id)],
            [TopicMove(TopicId(old_topic_id), TopicId(topic_id), {"timestamp": number})],
            channel_id=ChannelId(target),
            moved_at=NOW,
        )

    [row] = await driver.connection.tuples(
        "SELECT channel_id, origin_channel_id, moved_at, edit_history FROM messages"
    )
    assert row == (target, min(driver.channels), NOW, [{"timestamp": 2}, {"timestamp": 1}])


async def test_what_a_topic_was_called_goes_with_those_who_saw_it(driver: Driver):
    first, topic_id = await send(driver, "a")
    await send(driver, "meanwhile")
    await driver.rename(topic_id, "b")
    second, _ = await send(driver, "b")
    await send(driver, "meanwhile")
    await driver.rename(topic_id, "c")
    third, _ = await send(driver, "c")
    target = max(driver.channels)

    await driver.move([first, second, third], target, await driver.topic_for_move(target, "d"))

    rows = await driver.connection.tuples(
        """
        SELECT edit_history, renames_before FROM messages
         WHERE moved_at IS NOT NULL ORDER BY id
        """
    )
    [(a, b), (only_b,), ()] = [[e["topic"] for e in history[1:]][::-1] for history, _ in rows]
    assert (a, b, only_b) == ("b", "c", "c")
    assert {"position"}.isdisjoint(key for history, _ in rows for each in history for key in each)
    assert [renames for _, renames in rows] == [0, 0, 0]


async def test_a_long_move_goes_in_steps(driver: Driver):
    sent = [await send(driver) for _ in range(5)]
    topic_id = TopicId(sent[0][1])
    ids = [message_id for message_id, _ in sent]

    first = await message_moves.ids_in_topic(
        driver.connection,
        driver.realm_id,
        topic_id,
        since=MessageId(0),
        until=MessageId(2**62),
        limit=3,
    )
    rest = await message_moves.ids_in_topic(
        driver.connection,
        driver.realm_id,
        topic_id,
        since=MessageId(first[-1] + 1),
        until=MessageId(2**62),
        limit=3,
    )

    assert (first, rest) == (ids[:3], ids[3:])


async def test_what_is_deleted_leaves_no_row(driver: Driver):
    message_id, _ = await send(driver)
    kept, _ = await send(driver)
    [user] = driver.people
    await driver.star(user, [message_id, kept])
    await driver.connection.execute(
        """
        INSERT INTO reactions SELECT realm_id, id, sender_id, 'unicode_emoji', '1f44d', 'x', 1
          FROM messages
        """
    )

    await driver.delete([message_id])

    for table, column in (
        ("messages", "id"),
        ("message_flags", "message_id"),
        ("reactions", "message_id"),
    ):
        assert await driver.connection.values(f"SELECT {column} FROM {table}") == [kept]
