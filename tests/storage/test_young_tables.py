"""The cost of each send does not grow with what there is, also on tables not yet analyzed.

Plans are made while tables are empty, and kept until they are analyzed for the first time.
"""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import msgspec
import pytest
import pytest_asyncio

from storage import notification_candidates, sends
from storage.conversations import TopicRow
from storage.database import Connection
from storage.driver import PgConnection
from storage.ids import ChannelId, MessageId, Position, UserId
from storage.sends import Send
from testkit.factories import JOINED, Make, new_realm

pytestmark = pytest.mark.asyncio

MANY = 5_000
FEW = 50


@dataclass(frozen=True, slots=True)
class Young:
    """A realm in which two people have written a few messages in the first of two topics."""

    make: Make
    starter: UserId
    other: UserId
    reader: UserId
    channel_id: ChannelId
    topics: list[TopicRow]

    async def send(self, sender: UserId, topic: TopicRow) -> MessageId:
        """Send as those do who write at once."""
        statement = sends.in_turn(self.make.realm_id, [await self._send(sender, topic)])
        [(_, outcome, message_id, *_), *_] = await self.make.connection.run(statement)
        assert outcome == "sent"
        return MessageId(message_id)

    async def let_many_be_said(self) -> None:
        """In the first topic, above all that is there."""
        for statement in (
            """
            INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
                                  origin_channel_id, origin_conversation_id, sent_at, client,
                                  content, rendered_content)
            SELECT %(realm_id)s, c.position + g, %(sender)s, %(channel_id)s, %(topic_id)s,
                   %(channel_id)s, %(topic_id)s, now(), 'test', 'said', '<p>said</p>'
              FROM realm_clock c, generate_series(1, %(many)s) AS g
             WHERE c.realm_id = %(realm_id)s
            """,
            """
            UPDATE realm_clock SET position = position + %(many)s
             WHERE realm_id = %(realm_id)s
            """,
        ):
            await self.make.connection.execute(
                statement,
                realm_id=self.make.realm_id,
                sender=self.starter,
                channel_id=self.channel_id,
                topic_id=self.topics[0].topic_id,
                many=MANY,
            )

    async def messages_read(self) -> int:
        read: int = await self.make.connection.value(
            """
            SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
             WHERE relname = 'messages'
            """
        )
        return read

    async def _send(self, sender: UserId, topic: TopicRow) -> Send:
        [versions] = await self.make.connection.tuples(
            """
            SELECT u.changed_at, r.changed_at, r.groups_changed_at, c.changed_at, s.changed_at
              FROM realms r
              JOIN users u ON u.realm_id = r.realm_id AND u.user_id = %(sender)s
              JOIN channels c ON c.realm_id = r.realm_id AND c.channel_id = %(channel_id)s
              JOIN subscriptions s ON s.realm_id = r.realm_id AND s.user_id = u.user_id
                   AND s.channel_id = c.channel_id
             WHERE r.realm_id = %(realm_id)s
            """,
            realm_id=self.make.realm_id,
            sender=sender,
            channel_id=self.channel_id,
        )
        sender_version, realm_version, groups_version, channel_version, own = versions
        return Send(
            realm_id=self.make.realm_id,
            sender_id=sender,
            sender_version=Position(sender_version),
            realm_version=Position(realm_version),
            groups_version=Position(groups_version),
            channel_id=self.channel_id,
            channel_version=Position(channel_version),
            subscription_version=Position(own),
            topic_id=topic.topic_id,
            topic_name=topic.name,
            dm_group_id=None,
            dm_user_ids=[],
            dm_versions=[],
            sent_at=JOINED,
            traits=0,
            client="test",
            content="said",
            rendered="<p>said</p>",
            flagged_user_ids=[],
            flags=[],
            audience=msgspec.Raw(b"{}"),
            body=msgspec.Raw(b"{}"),
            write_id=str(uuid4()),
            idempotency_key=None,
            idempotency_digest=None,
            policy_started=3,
            policy_sent=None,
            policy_mentioned=[],
            follows_by_default=True,
            empty_topic_name="general chat",
        )


@pytest_asyncio.fixture
async def young(database_url: str) -> Any:
    async with (
        await PgConnection.connect(database_url, autocommit=True) as raw,
        raw.transaction(force_rollback=True),
    ):
        make = await new_realm(Connection(raw))
        people = await make.users(3)
        channel = await make.channel(subscribers=people)
        topics = [await make.topic(channel, name) for name in ("first", "second")]
        starter, other, reader = [row.user_id for row in people]
        found = Young(make, starter, other, reader, channel.channel_id, topics)
        for sender in (starter, *[other] * 8):  # then each statement has one plan for all
            sent = await found.send(sender, topics[0])
            await notification_candidates.facts_of(make.connection, make.realm_id, [(reader, sent)])
        yield found


async def test_a_send_into_another_topic_reads_nothing_of_the_first(young: Young) -> None:
    await young.let_many_be_said()
    await young.send(young.starter, young.topics[1])
    before = await young.messages_read()
    await young.send(young.other, young.topics[1])
    assert await young.messages_read() - before < FEW


async def test_who_is_notified_is_known_without_reading_other_messages(young: Young) -> None:
    await young.let_many_be_said()
    sent = await young.send(young.starter, young.topics[1])
    before = await young.messages_read()
    [row] = await notification_candidates.facts_of(
        young.make.connection, young.make.realm_id, [(young.reader, sent)]
    )
    assert row.is_unread
    assert await young.messages_read() - before < FEW


async def test_notices_of_resolving_are_looked_for_among_their_kind(young: Young) -> None:
    async def look() -> list[MessageId]:
        found: list[MessageId] = await young.make.connection.value(
            """
            SELECT notices_read(%(realm_id)s, %(reader)s, ARRAY[%(channel_id)s]::bigint[], 0,
                                %(end)s)
            """,
            realm_id=young.make.realm_id,
            reader=young.reader,
            channel_id=young.channel_id,
            end=2**62,
        )
        return found

    assert await look() == []
    await young.let_many_be_said()
    before = await young.messages_read()
    assert await look() == []
    assert await young.messages_read() - before < FEW
