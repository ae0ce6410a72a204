"""Marking, flagging and folding: what is kept, what changes, what the log tells."""

from typing import Any

import pytest
import pytest_asyncio

from storage import read_marks, read_state
from storage.database import Connection, Statement
from storage.ids import ChannelId, MessageId, UserId
from storage.message_bits import CHANNEL_WILDCARD
from storage.read_state import DIRECT, Unread
from tests.storage.read_state_driver import WRITE_ID, Driver
from tests.storage.read_state_model import Channel

pytestmark = pytest.mark.asyncio

PUBLIC = Channel(invite_only=False, is_web_public=False, shares_history=True)
LOG: dict[str, Any] = {"audience": b"{}", "write_id": WRITE_ID}
UNREAD_LOG = LOG | {"empty_topic_name": "general chat"}


def told(events: list[Any]) -> list[int]:
    """The messages that the events name."""
    return [i for event in events for i in event["messages"]]


class Reader:
    """A user in two public channels to which another user writes."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.writer, self.user = (UserId(u) for u in sorted(driver.people))
        self.here, self.there = sorted(driver.channels)
        self.realm_id = driver.realm_id

    async def send(self, topic: str = "a", *, channel: int | None = None, traits: int = 0) -> int:
        message_id, _ = await self.driver.send_to_channel(
            self.writer, channel or self.here, topic, traits=traits, mentioned=[]
        )
        return message_id

    async def get_many(self, count: int, *, step: int = 1, first: int = 1000) -> list[int]:
        """Messages of the topic at every step-th position, and the clock behind them."""
        topic_id = await self.driver.topic_for_move(self.here, "a")
        await self.driver.connection.execute(
            """
            INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
                                  origin_channel_id, origin_conversation_id, sent_at, client,
                                  content, rendered_content)
            SELECT %(realm_id)s, %(first)s + n * %(step)s, %(sender)s, %(channel)s, %(topic)s,
                   %(channel)s, %(topic)s, now(), '', '', ''
              FROM generate_series(0, %(count)s - 1) n
            """,
            realm_id=self.realm_id,
            sender=self.writer,
            channel=self.here,
            topic=topic_id,
            first=first,
            step=step,
            count=count,
        )
        await self.driver.connection.execute(
            "UPDATE realm_clock SET position = %(last)s WHERE realm_id = %(realm_id)s",
            realm_id=self.realm_id,
            last=first + count * step,
        )
        return [first + n * step for n in range(count)]

    async def run(self, statement: Statement) -> tuple[Any, list[Any]]:
        [row], events = await self.driver.clocked(statement)
        return row[0] if len(row) == 1 else row, events

    async def mark(self, *ids: int) -> list[int]:
        return (await self.driver.mark_reads({self.user: list(ids)}))[self.user]

    async def unread(self, limit: int = read_state.MAX_UNREAD) -> Unread:
        return await read_state.unread(
            self.driver.connection, self.realm_id, self.user, limit=limit
        )

    async def unread_ids(self) -> list[int]:
        found = await self.unread()
        return sorted(i for each in found.conversations for i in each.message_ids)

    async def sets(self, table: str = "conversation_read") -> list[str]:
        return await self.driver.connection.values(
            f"SELECT read::text FROM {table} WHERE user_id = %(user)s", user=self.user
        )

    async def fold(self) -> list[read_state.Fold]:
        folds = await read_state.folds(
            self.driver.connection,
            self.realm_id,
            self.user,
            [DIRECT, ChannelId(self.here), ChannelId(self.there)],
        )
        await self.driver.clocked(read_state.fold(self.realm_id, self.user, folds))
        return folds


@pytest_asyncio.fixture
async def reader(connection: Connection) -> Reader:
    reader = Reader(await Driver.in_new_realm(connection, 2, [PUBLIC, PUBLIC]))
    for channel in (reader.here, reader.there):
        await reader.driver.subscribe(reader.user, channel)
    return reader


async def test_reading_a_topic_in_any_order_leaves_one_range(reader: Reader):
    sent = []
    for _ in range(5):
        sent.append(await reader.send("a"))
        await reader.send("b")

    for number in (2, 0, 4, 1, 3):
        assert await reader.mark(sent[number]) == [sent[number]]

    assert await reader.sets() == [f"{{[1,{sent[4] + 1})}}"]


async def test_what_is_read_already_changes_nothing_and_is_not_told(reader: Reader):
    message_id = MessageId(await reader.send())
    await reader.mark(message_id)

    assert await reader.mark(message_id, 999) == []


async def test_several_readers_are_marked_and_told_at_once(reader: Reader):
    old, new = [await reader.send() for _ in range(2)]
    await reader.mark(old)
    await reader.driver.subscribe(reader.writer, reader.here)
    later = await reader.send()

    changed = await reader.driver.mark_reads(
        {reader.user: [later, new, old, later], reader.writer: [old, later]}
    )

    assert changed == {reader.user: [new, later], reader.writer: [later]}
    assert await reader.unread_ids() == []


async def test_more_than_a_thousand_messages_are_told_in_entries_of_a_thousand(reader: Reader):
    sent = [MessageId(i) for i in await reader.get_many(2_001)]
    statement = read_marks.mark_reads(
        reader.realm_id, [read_marks.ReadMarker(reader.user, sent, b"{}")], write_id=WRITE_ID
    )

    _, events = await reader.driver.clocked(statement)

    assert [e["messages"] for e in events] == [sent[:1000], sent[1000:2000], sent[2000:]]


async def test_the_log_tells_what_was_read(reader: Reader):
    sent = [MessageId(await reader.send()) for _ in range(2)]

    statement = read_marks.mark_reads(
        reader.realm_id,
        [read_marks.ReadMarker(reader.user, [*sent, sent[0]], b"{}")],
        write_id=WRITE_ID,
    )
    _, events = await reader.driver.clocked(statement)

    assert events == [
        {
            "type": "update_message_flags",
            "op": "add",
            "operation": "add",
            "flag": "read",
            "messages": sent,
            "all": False,
        }
    ]


async def test_the_log_tells_where_unread_messages_are(reader: Reader):
    in_channel = await reader.send("a", traits=CHANNEL_WILDCARD)
    direct, _ = await reader.driver.send_direct(
        reader.writer, [reader.writer, reader.user], traits=0, mentioned=[]
    )
    await reader.mark(in_channel, direct)

    changed, events = await reader.run(
        read_marks.mark_unread(
            reader.realm_id, reader.user, [MessageId(direct), MessageId(in_channel)], **UNREAD_LOG
        )
    )

    assert changed == ([in_channel, direct], [])
    assert events[0]["messages"] == [in_channel, direct]
    assert events[0]["message_details"] == {
        str(in_channel): {
            "type": "stream",
            "stream_id": reader.here,
            "topic": "a",
            "mentioned": True,
        },
        str(direct): {"type": "private", "user_ids": [reader.writer]},
    }
    assert await reader.unread_ids() == [in_channel, direct]


async def test_nothing_becomes_unread_in_a_channel_that_one_has_left(reader: Reader):
    here, there = await reader.send(), await reader.send(channel=reader.there)
    await reader.mark(here, there)
    await reader.driver.unsubscribe(reader.user, reader.there)

    changed, _ = await reader.run(
        read_marks.mark_unread(
            reader.realm_id, reader.user, [MessageId(here), MessageId(there)], **UNREAD_LOG
        )
    )

    assert changed == ([here], [reader.there])


async def test_many_messages_are_told_of_a_thousand_at_a_time(reader: Reader):
    sent = await reader.get_many(2001)

    _, events = await reader.run(
        read_marks.mark_channel_read(reader.realm_id, reader.user, ChannelId(reader.here), **LOG)
    )

    assert [len(event["messages"]) for event in events] == [1000, 1000, 1]
    assert told(events) == sent


async def test_reading_everything_is_one_range_a_channel(reader: Reader):
    await reader.mark(await reader.send("a"))
    left = [await reader.send("b"), await reader.send("c", channel=reader.there)]
    position = await reader.driver.make.position()

    _, events = await reader.run(read_marks.mark_all_read(reader.realm_id, reader.user, **LOG))

    assert told(events) == left
    assert [event["all"] for event in events] == [True]
    assert await reader.sets("channel_read") == [f"{{[0,{position + 1})}}"] * 3
    assert await reader.sets() == []
    assert await reader.unread_ids() == []
    later = await reader.send()
    assert await reader.unread_ids() == [later]


async def test_reading_everything_tells_of_the_newest_and_that_this_is_all(reader: Reader):
    sent = await reader.get_many(30)

    _, events = await reader.run(
        read_marks.mark_all_read(reader.realm_id, reader.user, limit=4, **LOG)
    )

    assert told(events) == sent[-4:]
    assert [event["all"] for event in events] == [True]
    assert await reader.unread_ids() == []


async def test_the_newest_are_told_of_and_that_there_are_more(reader: Reader):
    sent = await reader.get_many(10)

    found = await reader.unread(limit=4)

    assert [each.message_ids for each in found.conversations] == [sent[-4:]]
    assert found.is_cut
    assert not (await reader.unread(limit=10)).is_cut


async def test_old_messages_are_found_block_by_block(reader: Reader):
    sent = await reader.get_many(30, step=300_000)
    moved = sent[3:5]
    await reader.driver.move(
        moved, reader.there, await reader.driver.topic_for_move(reader.there, "b")
    )

    assert await reader.unread_ids() == sent
    [newest] = (await reader.unread(limit=2)).conversations
    assert newest.message_ids == sent[-2:]


async def test_a_flag_on_an_unseen_message_neither_doubles_nor_hides_it(reader: Reader):
    message_id = await reader.send()
    await reader.driver.connection.execute(
        "INSERT INTO message_flags VALUES (%(realm_id)s, %(user)s, %(message_id)s, 1)",
        realm_id=reader.realm_id,
        user=reader.user,
        message_id=message_id,
    )

    assert await reader.unread_ids() == [message_id]
    await reader.fold()
    await reader.driver.connection.execute("DELETE FROM message_flags")
    assert await reader.unread_ids() == [message_id]


async def test_mentions_are_told_apart(reader: Reader):
    by_name, _ = await reader.driver.send_to_channel(
        reader.writer, reader.here, "a", traits=CHANNEL_WILDCARD, mentioned=[reader.user]
    )
    wildcard = await reader.send(traits=CHANNEL_WILDCARD)
    seen = await reader.send(traits=CHANNEL_WILDCARD)
    await reader.send()
    await reader.mark(seen)

    found = await reader.unread()

    assert found.mentioned == {MessageId(by_name)}
    assert found.wildcards == {MessageId(wildcard)}


async def test_much_that_is_read_topic_by_topic_asks_to_be_folded(reader: Reader):
    sent = await reader.get_many(200, first=20)
    assert (await reader.unread()).foldable == []
    await reader.mark(*sent[:150], *sent[151:])

    assert (await reader.unread()).foldable == [reader.here]

    folds = await reader.fold()
    assert [each.channel_id for each in folds if each.channel_id == reader.here]
    assert await reader.unread_ids() == [sent[150]]
    assert (await reader.unread()).foldable == []
    assert await reader.sets() == []
    assert await reader.fold() == []


async def test_a_fold_leaves_small_stretches_alone(reader: Reader):
    sent = await reader.get_many(300)
    left = [*sent[40:60:2], sent[150]]
    await reader.mark(*(i for i in sent if i not in left))

    await reader.fold()

    assert await reader.unread_ids() == left
    [absorbed] = await reader.driver.connection.values(
        "SELECT read::text FROM channel_read WHERE channel_id = %(here)s", here=reader.here
    )
    end = await reader.driver.make.position() + 1
    assert absorbed == f"{{[0,{left[0]}),[{left[9] + 1},{left[10]}),[{left[10] + 1},{end})}}"
    [rest] = await reader.sets()
    assert rest.count("[") == 9


async def test_a_fold_stays_true_however_late_it_is_written(reader: Reader):
    sent = await reader.get_many(120)
    await reader.mark(*sent)
    folds = await read_state.folds(
        reader.driver.connection, reader.realm_id, reader.user, [ChannelId(reader.here)]
    )
    later = await reader.send()
    await reader.run(
        read_marks.mark_unread(reader.realm_id, reader.user, [MessageId(sent[5])], **UNREAD_LOG)
    )

    await reader.driver.clocked(read_state.fold(reader.realm_id, reader.user, folds))

    assert await reader.unread_ids() == [sent[5], later]


async def test_a_quiet_channel_far_behind_the_clock_asks_to_be_folded(reader: Reader):
    [old] = await reader.get_many(1)
    await reader.mark(old)
    await reader.driver.connection.execute(
        "UPDATE realm_clock SET position = 1000000 WHERE realm_id = %(realm_id)s",
        realm_id=reader.realm_id,
    )

    assert (await reader.unread()).foldable == [DIRECT, reader.here, reader.there]
    await reader.fold()
    assert (await reader.unread()).foldable == []


async def test_an_old_unread_message_does_not_ask_again_and_again(reader: Reader):
    await reader.get_many(1)
    await reader.driver.connection.execute(
        "UPDATE realm_clock SET position = 1000000 WHERE realm_id = %(realm_id)s",
        realm_id=reader.realm_id,
    )

    assert reader.here not in (await reader.unread()).foldable


async def test_a_user_with_more_unread_than_is_told_of_is_not_asked_to_fold(reader: Reader):
    await reader.get_many(1)
    await reader.driver.connection.execute(
        "UPDATE realm_clock SET position = 1000000 WHERE realm_id = %(realm_id)s",
        realm_id=reader.realm_id,
    )
    await reader.get_many(5, first=1_000_001)

    found = await reader.unread(limit=3)

    assert found.is_cut
    assert found.foldable == []


async def test_what_moved_away_is_not_read_with_its_old_topic(reader: Reader):
    sent = [await reader.send() for _ in range(6)]
    await reader.driver.move(
        sent[2:4], reader.here, await reader.driver.topic_for_move(reader.here, "b")
    )
    topic = await reader.driver.topic(reader.here, "a")
    assert topic is not None

    _, events = await reader.run(
        read_marks.mark_conversation_read(reader.realm_id, reader.user, topic.topic_id, **LOG)
    )

    assert told(events) == [*sent[:2], *sent[4:]]
    assert await reader.unread_ids() == sent[2:4]
    [kept] = await reader.sets()
    assert kept.count("[") == 2
