"""Reminders of messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from storage import timers
from storage.database import Connection, Locking, Statement
from storage.ids import MessageId, RealmId, ReminderId, UserId

NEW: Final = ReminderId(0)
"""In place of the id of a reminder that is not inserted yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderRow:
    """A reminder of a message for a user, with its time."""

    realm_id: RealmId
    user_id: UserId
    message_id: MessageId | None
    note: str
    content: str
    """The reminder's text without the message itself, which is read when it is due."""
    rendered_content: str
    due_at: datetime
    reminder_id: ReminderId = NEW
    """The position at which it was created."""
    failure: str | None = None
    """Why it could not be sent; None while it is pending."""


_WAITING: Final[LiteralString] = """
      FROM reminders t CROSS JOIN LATERAL (SELECT t.reminder_id) AS i (timer_id)"""
_COLUMNS: Final[LiteralString] = """
    SELECT t.realm_id, t.reminder_id, t.user_id, t.message_id, t.note, t.content,
           t.rendered_content, t.due_at, t.failure"""
_SELECT: Final[LiteralString] = (
    _COLUMNS
    + """
      FROM reminders t"""
)


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[ReminderRow]:
    """Return the user's reminders, next one first."""
    return await connection.many(
        ReminderRow,
        _SELECT
        + """
         WHERE t.realm_id = %(realm_id)s AND t.user_id = %(user_id)s
         ORDER BY t.due_at, t.reminder_id
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


async def count_of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> int:
    """Return how many reminders the user has, failed ones included."""
    count: int = await connection.value(
        """
        SELECT count(*) FROM reminders
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
    return count


def locking(realm_id: RealmId, user_id: UserId, reminder_id: ReminderId) -> Locking[ReminderRow]:
    """Return the query that locks the user's reminder."""
    return Locking(
        ReminderRow,
        _SELECT
        + """
         WHERE t.realm_id = %(realm_id)s AND t.user_id = %(user_id)s AND t.reminder_id = %(id)s
        """,
        {"realm_id": realm_id, "user_id": user_id, "id": reminder_id},
        expected=1,
    )


def insert(realm_id: RealmId, row: ReminderRow) -> Statement:
    """Insert the reminder; the current position is its id."""
    return Statement(
        """
        INSERT INTO reminders (
            realm_id, reminder_id, user_id, message_id, note, content, rendered_content, due_at)
        VALUES (%(realm_id)s, current_position(), %(user_id)s, %(message_id)s, %(note)s,
                %(content)s, %(rendered_content)s, %(due_at)s)
        """,
        {
            "realm_id": realm_id,
            "user_id": row.user_id,
            "message_id": row.message_id,
            "note": row.note,
            "content": row.content,
            "rendered_content": row.rendered_content,
            "due_at": row.due_at,
        },
    )


async def fail(
    connection: Connection, realm_id: RealmId, reminder_id: ReminderId, failure: str
) -> None:
    """Record that a locked reminder could not be sent."""
    await connection.execute(
        """
        UPDATE reminders SET failure = %(failure)s
         WHERE realm_id = %(realm_id)s AND reminder_id = %(id)s
        """,
        realm_id=realm_id,
        id=reminder_id,
        failure=failure,
    )


async def delete(connection: Connection, realm_id: RealmId, reminder_id: ReminderId) -> None:
    """Delete a locked reminder."""
    await connection.execute(
        "DELETE FROM reminders WHERE realm_id = %(realm_id)s AND reminder_id = %(id)s",
        realm_id=realm_id,
        id=reminder_id,
    )


def sent(
    realm_id: RealmId, reminder_id: ReminderId, *, audience: bytes, body: bytes, write_id: str
) -> Statement:
    """With the send of a locked reminder: delete it and append its event. For Send.statement."""
    return Statement(
        "SELECT reminder_sent(%(realm_id)s, %(timer_id)s, %(timer_audience)b, %(timer_body)b,"
        " %(write_id)s::uuid)",
        timers.follow_up_params(realm_id, reminder_id, audience, body, write_id),
    )


async def due(connection: Connection, window: timers.DueWindow) -> list[ReminderRow]:
    """Return due reminders, of each realm the longest due first."""
    return await connection.many(ReminderRow, timers.due(_COLUMNS, _WAITING), **window.params())


async def among(connection: Connection, timer_keys: Sequence[timers.TimerKey]) -> list[ReminderRow]:
    """Return those of these that are still pending, as they are by now."""
    query = timers.among(_COLUMNS, _WAITING)
    return await connection.many(ReminderRow, query, **timers.keys(timer_keys))
