"""Of what people have asked to be reminded."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from storage import timers
from storage.database import Connection, Locking, Statement
from storage.ids import MessageId, RealmId, ReminderId, UserId

NEW: Final = ReminderId(0)
"""Instead of the id of one that is not kept yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderRow:
    """Of what somebody is to be reminded, and when."""

    realm_id: RealmId
    user_id: UserId
    message_id: MessageId | None
    note: str
    content: str
    """What the reminder says, but for the message itself: that is read when it is due."""
    rendered_content: str
    due_at: datetime
    reminder_id: ReminderId = NEW
    """The position at which it is kept."""
    failure: str | None = None
    """Why it could not be sent. None: it waits."""


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
    """Return the user's reminders, the next one first."""
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
    """Return how many reminders the user has, those that have failed among them."""
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
    """Return the user's reminder, which is about to be sent or to go."""
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
    """Keep it; the current position is its id."""
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
    """A locked one could not be sent."""
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
    """Let a locked one go."""
    await connection.execute(
        "DELETE FROM reminders WHERE realm_id = %(realm_id)s AND reminder_id = %(id)s",
        realm_id=realm_id,
        id=reminder_id,
    )


def sent(
    realm_id: RealmId, reminder_id: ReminderId, *, audience: bytes, body: bytes, write_id: str
) -> Statement:
    """With the send of a locked one: let it go, and tell of it. For Send.statement."""
    return Statement(
        "SELECT reminder_sent(%(realm_id)s, %(timer_id)s, %(timer_audience)b, %(timer_body)b,"
        " %(write_id)s::uuid)",
        timers.telling(realm_id, reminder_id, audience, body, write_id),
    )


async def due(connection: Connection, window: timers.Window) -> list[ReminderRow]:
    """Return what is to be sent, of each realm the longest due first."""
    return await connection.many(ReminderRow, timers.due(_COLUMNS, _WAITING), **window.params())


async def among(connection: Connection, timer_keys: Sequence[timers.TimerKey]) -> list[ReminderRow]:
    """Return those of these that are still to be sent, as they are by now."""
    query = timers.among(_COLUMNS, _WAITING)
    return await connection.many(ReminderRow, query, **timers.keys(timer_keys))
