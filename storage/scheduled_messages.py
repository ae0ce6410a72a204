"""Messages that people have asked to be sent later."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from storage import timers
from storage.database import Connection, Locking, Statement
from storage.ids import ChannelId, RealmId, ScheduledMessageId, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledMessage:
    """What is to be sent, by whom, where and when."""

    realm_id: RealmId
    sender_id: UserId
    channel_id: ChannelId | None
    topic: str
    user_ids: list[UserId]
    """Of a direct message: everybody but the sender, who stands there only if alone."""
    content: str
    rendered_content: str
    due_at: datetime
    read_by_sender: bool
    client: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledMessageRow(ScheduledMessage):
    scheduled_message_id: ScheduledMessageId
    failure: str | None = None
    """Why it could not be sent. None: it waits."""


_SELECT: Final[LiteralString] = """
    SELECT s.realm_id, s.scheduled_message_id, s.sender_id, s.channel_id, s.topic, s.user_ids,
           s.content, s.rendered_content, s.due_at, s.read_by_sender, s.client, s.failure
      FROM scheduled_messages s"""

_LATE: Final[LiteralString] = """
    WITH late AS (
        SELECT DISTINCT realm_id FROM scheduled_messages
         WHERE failure IS NULL AND due_at <= %(now)s)
    SELECT each.* FROM late CROSS JOIN LATERAL ("""


async def of_user(
    connection: Connection, realm_id: RealmId, user_id: UserId
) -> list[ScheduledMessageRow]:
    """What the user has scheduled, the next one first; what has failed too."""
    return await connection.many(
        ScheduledMessageRow,
        _SELECT
        + """
         WHERE s.realm_id = %(realm_id)s AND s.sender_id = %(user_id)s
         ORDER BY s.due_at, s.scheduled_message_id
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


def locking(
    realm_id: RealmId, user_id: UserId, scheduled_message_id: ScheduledMessageId
) -> Locking[ScheduledMessageRow]:
    """The user's scheduled message, which is about to be sent, to change or to go."""
    return Locking(
        ScheduledMessageRow,
        _SELECT
        + """
         WHERE s.realm_id = %(realm_id)s AND s.sender_id = %(user_id)s
           AND s.scheduled_message_id = %(id)s
        """,
        {"realm_id": realm_id, "user_id": user_id, "id": scheduled_message_id},
        expected=1,
    )


def insert(realm_id: RealmId, message: ScheduledMessage) -> Statement:
    """Keep it; the current position is its id."""
    return Statement(
        """
        INSERT INTO scheduled_messages (
            realm_id, scheduled_message_id, sender_id, channel_id, topic, user_ids, content,
            rendered_content, due_at, read_by_sender, client)
        VALUES (%(realm_id)s, current_position(), %(sender_id)s, %(channel_id)s, %(topic)s,
                %(user_ids)s::bigint[], %(content)s, %(rendered_content)s, %(due_at)s,
                %(read_by_sender)s, %(client)s)
        """,
        {
            "realm_id": realm_id,
            "sender_id": message.sender_id,
            "channel_id": message.channel_id,
            "topic": message.topic,
            "user_ids": message.user_ids,
            "content": message.content,
            "rendered_content": message.rendered_content,
            "due_at": message.due_at,
            "read_by_sender": message.read_by_sender,
            "client": message.client,
        },
    )


async def update(connection: Connection, realm_id: RealmId, row: ScheduledMessageRow) -> None:
    """Let a locked one be like this."""
    await connection.execute(
        """
        UPDATE scheduled_messages
           SET channel_id = %(channel_id)s, topic = %(topic)s, user_ids = %(user_ids)s::bigint[],
               content = %(content)s, rendered_content = %(rendered_content)s,
               due_at = %(due_at)s, failure = %(failure)s
         WHERE realm_id = %(realm_id)s AND scheduled_message_id = %(id)s
        """,
        realm_id=realm_id,
        id=row.scheduled_message_id,
        channel_id=row.channel_id,
        topic=row.topic,
        user_ids=row.user_ids,
        content=row.content,
        rendered_content=row.rendered_content,
        due_at=row.due_at,
        failure=row.failure,
    )


async def delete(
    connection: Connection, realm_id: RealmId, scheduled_message_id: ScheduledMessageId
) -> None:
    """Let a locked one go."""
    await connection.execute(
        """
        DELETE FROM scheduled_messages
         WHERE realm_id = %(realm_id)s AND scheduled_message_id = %(id)s
        """,
        realm_id=realm_id,
        id=scheduled_message_id,
    )


def sent(
    realm_id: RealmId,
    scheduled_message_id: ScheduledMessageId,
    *,
    audience: bytes,
    body: bytes,
    write_id: str,
) -> Statement:
    """With the send of a locked one: let it go, and tell of it. For Send.statement."""
    return Statement(
        "SELECT scheduled_message_sent(%(realm_id)s, %(timer_id)s, %(timer_audience)b,"
        " %(timer_body)b, %(write_id)s::uuid)",
        timers.telling(realm_id, scheduled_message_id, audience, body, write_id),
    )


def failed(
    realm_id: RealmId,
    scheduled_message_id: ScheduledMessageId,
    failure: str,
    *,
    audience: bytes,
    body: bytes,
    write_id: str,
) -> Statement:
    """With the send of a notice: a locked one has failed, which is told. For Send.statement."""
    return Statement(
        "SELECT scheduled_message_failed(%(realm_id)s, %(timer_id)s, %(failure)s,"
        " %(timer_audience)b, %(timer_body)b, %(write_id)s::uuid)",
        {
            "failure": failure,
            **timers.telling(realm_id, scheduled_message_id, audience, body, write_id),
        },
    )


async def due(
    connection: Connection,
    *,
    now: datetime,
    without: Sequence[tuple[RealmId, int]],
    limit: int,
) -> list[ScheduledMessageRow]:
    """What is to be sent by now: of each realm so many at most, the longest due first."""
    return await connection.many(
        ScheduledMessageRow,
        _LATE
        + _SELECT
        + """
         WHERE s.realm_id = late.realm_id AND s.failure IS NULL AND s.due_at <= %(now)s
           AND NOT EXISTS (
               SELECT FROM unnest(%(realms)s::bigint[], %(ids)s::bigint[]) AS o (realm_id, id)
                WHERE o.realm_id = s.realm_id AND o.id = s.scheduled_message_id)
         ORDER BY s.due_at, s.scheduled_message_id LIMIT %(limit)s) AS each
        """,
        **timers.window(now, without, limit),
    )
