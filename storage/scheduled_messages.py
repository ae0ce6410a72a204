"""Scheduled messages: messages to be sent later."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from storage import timers
from storage.database import Connection, Locking, Statement
from storage.ids import ChannelId, RealmId, ScheduledMessageId, UserId

NEW: Final = ScheduledMessageId(0)
"""In place of the id of a message that is not inserted yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledMessageRow:
    """A message to be sent, with its sender, recipient and time."""

    realm_id: RealmId
    sender_id: UserId
    channel_id: ChannelId | None
    topic: str
    user_ids: list[UserId]
    """Recipients of a direct message, without the sender unless alone."""
    content: str
    rendered_content: str
    due_at: datetime
    read_by_sender: bool
    client: str
    scheduled_message_id: ScheduledMessageId = NEW
    """The position at which it was created."""
    failure: str | None = None
    """Why it could not be sent; None while it is pending."""


_WAITING: Final[LiteralString] = """
      FROM scheduled_messages t
     CROSS JOIN LATERAL (SELECT t.scheduled_message_id) AS i (timer_id)"""
_COLUMNS: Final[LiteralString] = """
    SELECT t.realm_id, t.scheduled_message_id, t.sender_id, t.channel_id, t.topic, t.user_ids,
           t.content, t.rendered_content, t.due_at, t.read_by_sender, t.client, t.failure"""
_SELECT: Final[LiteralString] = (
    _COLUMNS
    + """
      FROM scheduled_messages t"""
)


async def of_user(
    connection: Connection, realm_id: RealmId, user_id: UserId
) -> list[ScheduledMessageRow]:
    """Return the user's scheduled messages, next one first; failed ones too."""
    return await connection.many(
        ScheduledMessageRow,
        _SELECT
        + """
         WHERE t.realm_id = %(realm_id)s AND t.sender_id = %(user_id)s
         ORDER BY t.due_at, t.scheduled_message_id
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


async def count_of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> int:
    """Return how many scheduled messages the user has, failed ones included."""
    count: int = await connection.value(
        """
        SELECT count(*) FROM scheduled_messages
         WHERE realm_id = %(realm_id)s AND sender_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
    return count


def locking(
    realm_id: RealmId, user_id: UserId, scheduled_message_id: ScheduledMessageId
) -> Locking[ScheduledMessageRow]:
    """Return the query that locks the user's scheduled message."""
    return Locking(
        ScheduledMessageRow,
        _SELECT
        + """
         WHERE t.realm_id = %(realm_id)s AND t.sender_id = %(user_id)s
           AND t.scheduled_message_id = %(id)s
        """,
        {"realm_id": realm_id, "user_id": user_id, "id": scheduled_message_id},
        expected=1,
    )


def insert(realm_id: RealmId, row: ScheduledMessageRow) -> Statement:
    """Insert the message; the current position is its id."""
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
            "sender_id": row.sender_id,
            "channel_id": row.channel_id,
            "topic": row.topic,
            "user_ids": row.user_ids,
            "content": row.content,
            "rendered_content": row.rendered_content,
            "due_at": row.due_at,
            "read_by_sender": row.read_by_sender,
            "client": row.client,
        },
    )


async def update(connection: Connection, realm_id: RealmId, row: ScheduledMessageRow) -> None:
    """Update a locked message."""
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
    """Delete a locked message."""
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
    """With the send of a locked message: delete it and append its event. For Send.statement."""
    return Statement(
        "SELECT scheduled_message_sent(%(realm_id)s, %(timer_id)s, %(timer_audience)b,"
        " %(timer_body)b, %(write_id)s::uuid)",
        timers.follow_up_params(realm_id, scheduled_message_id, audience, body, write_id),
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
    """With the send of a notice: mark a locked one as failed; append its event.

    For Send.statement.
    """
    return Statement(
        "SELECT scheduled_message_failed(%(realm_id)s, %(timer_id)s, %(failure)s,"
        " %(timer_audience)b, %(timer_body)b, %(write_id)s::uuid)",
        {
            "failure": failure,
            **timers.follow_up_params(realm_id, scheduled_message_id, audience, body, write_id),
        },
    )


async def due(connection: Connection, window: timers.DueWindow) -> list[ScheduledMessageRow]:
    """Return due messages, of each realm the longest due first."""
    return await connection.many(
        ScheduledMessageRow, timers.due(_COLUMNS, _WAITING), **window.params()
    )


async def among(
    connection: Connection, timer_keys: Sequence[timers.TimerKey]
) -> list[ScheduledMessageRow]:
    """Return those of these that are still pending, as they are by now."""
    query = timers.among(_COLUMNS, _WAITING)
    return await connection.many(ScheduledMessageRow, query, **timers.keys(timer_keys))
