"""Drives the real storage as the actions do: locked rows first, then what waits for the clock."""

import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Self

import msgspec

from server.domain.access import MEMBER
from storage import (
    clock,
    conversations,
    message_flags,
    message_moves,
    read_marks,
    sends,
    unread_notices,
)
from storage.channels import ChannelRow
from storage.conversations import TopicRow
from storage.database import Connection, Statement
from storage.ids import ChannelId, MessageId, TopicId, UserId
from storage.message_bits import CHANNEL_WILDCARD, READ_BY_SENDER, TELLS_OF_RESOLVING
from storage.message_moves import TopicMove
from storage.users import UserRow
from testkit.factories import Make, new_realm
from tests.storage.read_state_model import GUEST, Channel

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WRITE_ID = str(uuid.UUID(int=0))


class Driver:
    """One realm on one connection, in a transaction that is never committed."""

    def __init__(self, connection: Connection, make: Make) -> None:
        self.connection = connection
        self.make = make
        self.realm_id = make.realm_id
        self.people: dict[int, UserRow] = {}
        self.channels: dict[int, ChannelRow] = {}

    @classmethod
    async def in_new_realm(
        cls, connection: Connection, people: int, kinds: Iterable[Channel]
    ) -> Self:
        driver = cls(connection, await new_realm(connection))
        for person in await driver.make.users(people):
            driver.people[person.user_id] = person
        for kind in kinds:
            row = await driver.make.channel(
                invite_only=kind.invite_only,
                is_web_public=kind.is_web_public,
                shares_history=kind.shares_history,
            )
            driver.channels[row.channel_id] = row
        return driver

    async def clocked(self, *statements: Statement) -> tuple[list[Any], list[Any]]:
        """The rows that the last statement gave, and the events in the log since the clock."""
        rows, told = await self.told(*statements)
        return rows, [event for _, event in told]

    async def told(self, *statements: Statement) -> tuple[list[Any], list[tuple[bytes, Any]]]:
        """The same, each event with its audience."""
        await self.connection.run(clock.lock(self.realm_id))
        rows = [await self.connection.run(statement) for statement in statements]
        entries = await self.connection.run(clock.advance(self.realm_id))
        return rows[-1], [(who, msgspec.json.decode(body)) for _, _, who, body, _ in entries]

    async def subscribe(self, user: int, channel: int) -> None:
        await self.make.subscribe(self.channels[channel], [self.people[user]])

    async def unsubscribe(self, user: int, channel: int) -> None:
        await self.make.unsubscribe(self.channels[channel], [self.people[user]])

    async def change_channel(self, channel: int, kind: Channel) -> None:
        await self.connection.execute(
            """
            UPDATE channels SET invite_only = %(invite_only)s, is_web_public = %(is_web_public)s,
                   history_public_to_subscribers = %(shares_history)s
             WHERE realm_id = %(realm_id)s AND channel_id = %(channel)s
            """,
            realm_id=self.realm_id,
            channel=channel,
            invite_only=kind.invite_only,
            is_web_public=kind.is_web_public,
            shares_history=kind.shares_history,
        )

    async def mute_channel(self, user: int, channel: int, *, is_muted: bool) -> None:
        await self.connection.execute(
            """
            UPDATE subscriptions SET is_muted = %(is_muted)s
             WHERE realm_id = %(realm_id)s AND user_id = %(user)s AND channel_id = %(channel)s
            """,
            realm_id=self.realm_id,
            user=user,
            channel=channel,
            is_muted=is_muted,
        )

    async def change_role(self, user: int, *, is_guest: bool) -> None:
        await self.connection.execute(
            "UPDATE users SET role = %(role)s WHERE realm_id = %(realm_id)s AND user_id = %(user)s",
            realm_id=self.realm_id,
            user=user,
            role=GUEST if is_guest else MEMBER,
        )

    async def choose_notices(self, user: int, policy: str) -> None:
        person = UserId(user)
        await unread_notices.keep_past(self.connection, self.realm_id, [person])
        await self.connection.execute(
            """
            UPDATE users
               SET settings = settings || jsonb_build_object(
                       'resolved_topic_notice_auto_read_policy', %(policy)s::text)
             WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
            """,
            realm_id=self.realm_id,
            user_id=person,
            policy=policy,
        )
        change = unread_notices.begin if policy == "never" else unread_notices.end
        await self.clocked(change(self.realm_id, [person]))

    async def topic(self, channel: int, name: str) -> TopicRow | None:
        return await conversations.topic_named(
            self.connection, self.realm_id, ChannelId(channel), name
        )

    async def send_to_channel(
        self, sender: int, channel: int, topic: str, *, traits: int, mentioned: Sequence[int]
    ) -> tuple[int, int]:
        """The ids of the message and of its topic, which is made if it is new."""
        known = await self.topic(channel, topic)
        return await self._send(
            sender,
            traits=traits,
            mentioned=mentioned,
            channel_id=ChannelId(channel),
            topic_id=None if known is None else known.topic_id,
            topic_name=topic if known is None else known.name,
        )

    async def send_direct(
        self, sender: int, people: Iterable[int], *, traits: int, mentioned: Sequence[int]
    ) -> tuple[int, int]:
        members = [UserId(u) for u in sorted(people)]
        known = await conversations.dm_group_of(self.connection, self.realm_id, members)
        return await self._send(
            sender,
            traits=traits,
            mentioned=mentioned,
            dm_group_id=known or await conversations.new_dm_group_id(self.connection),
            dm_user_ids=members,
            dm_versions=[self.people[u].changed_at for u in members],
        )

    async def _send(
        self, sender: int, *, traits: int, mentioned: Sequence[int], **place: Any
    ) -> tuple[int, int]:
        versions = await self.connection.dicts(
            """
            SELECT r.changed_at AS realm_version, r.groups_changed_at AS groups_version,
                   (SELECT c.changed_at FROM channels c WHERE c.realm_id = r.realm_id
                       AND c.channel_id = %(channel)s) AS channel_version,
                   (SELECT s.changed_at FROM subscriptions s WHERE s.realm_id = r.realm_id
                       AND s.user_id = %(sender)s AND s.channel_id = %(channel)s)
                   AS subscription_version
              FROM realms r WHERE r.realm_id = %(realm_id)s
            """,
            realm_id=self.realm_id,
            sender=sender,
            channel=place.get("channel_id"),
        )
        nothing: dict[str, Any] = {
            "channel_id": None,
            "topic_id": None,
            "topic_name": None,
            "dm_group_id": None,
            "dm_user_ids": [],
            "dm_versions": [],
        }
        send = sends.Send(
            realm_id=self.realm_id,
            sender_id=UserId(sender),
            sender_version=self.people[sender].changed_at,
            sent_at=NOW,
            traits=traits,
            client="test",
            content="text",
            rendered="<p>text</p>",
            flagged_user_ids=[UserId(u) for u in mentioned],
            flags=[8] * len(mentioned),
            audience=msgspec.Raw(b""),
            body=msgspec.Raw(b"{}"),
            write_id=WRITE_ID,
            idempotency_key=None,
            idempotency_digest=None,
            policy_started=None,
            policy_sent=None,
            policy_mentioned=[],
            follows_by_default=True,
            empty_topic_name="general chat",
            **versions[0],
            **(nothing | place),
        )
        [(outcome, message_id, conversation_id, *_)], _ = await self.clocked(send.statement())
        assert outcome == "sent"
        return message_id, conversation_id

    async def mark_reads(self, reads: dict[int, list[int]]) -> dict[int, list[int]]:
        """Mark for each user; the ids that changed, which is what each is told."""
        readers = [
            read_marks.ReadMarker(UserId(user), [MessageId(i) for i in ids], b"%d" % user)
            for user, ids in reads.items()
        ]
        rows, told = await self.told(
            read_marks.mark_reads(self.realm_id, readers, write_id=WRITE_ID)
        )
        changed: dict[int, list[int]] = {user: [] for user in reads}
        for user, message_id in rows:
            changed[user].append(message_id)
        assert [(int(who), e["flag"], e["op"], e["messages"]) for who, e in told] == [
            (user, "read", "add", ids) for user, ids in sorted(changed.items()) if ids
        ]
        return changed

    async def star(self, user: int, ids: Iterable[int]) -> list[int]:
        """The ids that changed."""
        statement = message_flags.change(
            self.realm_id,
            UserId(user),
            [MessageId(i) for i in ids],
            flag="starred",
            operation="add",
            audience=b"",
            write_id=WRITE_ID,
        )
        [(changed,)], _ = await self.clocked(statement)
        return list(changed)

    async def topic_for_move(self, channel: int, name: str) -> int:
        await self.clocked(message_moves.ensure_topics(self.realm_id, ChannelId(channel), [name]))
        known = await self.topic(channel, name)
        assert known is not None
        return known.topic_id

    async def move(self, ids: Iterable[int], channel: int, topic: int) -> None:
        wanted = await self.connection.tuples(
            """
            SELECT conversation_id, array_agg(id ORDER BY id) FROM messages
             WHERE realm_id = %(realm_id)s AND id = ANY(%(ids)s::bigint[])
             GROUP BY conversation_id ORDER BY conversation_id
            """,
            realm_id=self.realm_id,
            ids=list(ids),
        )
        moved = await message_moves.move(
            self.connection,
            self.realm_id,
            [MessageId(i) for _, some in wanted for i in some],
            [TopicMove(TopicId(old), TopicId(topic), {"timestamp": 0}) for old, _ in wanted],
            channel_id=ChannelId(channel),
            moved_at=NOW,
        )
        assert moved == sum(len(some) for _, some in wanted)

    async def rename(self, topic: int, name: str) -> str:
        [row] = await message_moves.topics(self.realm_id, [TopicId(topic)]).waiting(self.connection)
        rename = message_moves.Rename(
            realm_id=self.realm_id,
            topic_id=row.topic_id,
            name=name,
            history_entry={"timestamp": 0, "user_id": 1, "prev_topic": row.name, "topic": name},
            last_id=MessageId(2**62),
            audiences=[b"{}"],
            message_ids=[[]],
            body={},
            message_id=MessageId(0),
            old_policy_body={"last_updated": 0},
            new_policy_body={"last_updated": 0},
            work_id=None,
            work=None,
            job=None,
            write_id=WRITE_ID,
        )
        [(outcome, *_)], _ = await self.clocked(rename.statement())
        return str(outcome)

    async def delete(self, ids: Iterable[int]) -> None:
        wanted = [MessageId(i) for i in sorted(ids)]
        rows, _ = await self.clocked(message_moves.delete(self.realm_id, wanted))
        assert sorted(i for (i,) in rows) == wanted


def traits(*, read_by_sender: bool, has_wildcard: bool, tells_of_resolving: bool = False) -> int:
    """What holds for every reader of a message."""
    return (
        READ_BY_SENDER * read_by_sender
        | CHANNEL_WILDCARD * has_wildcard
        | TELLS_OF_RESOLVING * tells_of_resolving
    )
