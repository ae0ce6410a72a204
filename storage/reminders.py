"""Of what people have asked to be reminded."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from storage import timers
from storage.database import Connection, Locking, Statement
from storage.ids import MessageId, RealmId, ReminderId, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """Of what somebody is to be reminded, and when."""

    realm_id: RealmId
    user_id: UserId
    message_id: MessageId | None
    note: str
    content: str
    """What the reminder says, but for the message itself: that is read when it is due."""
    rendered_content: str
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderRow(Reminder):
    reminder_id: ReminderId
    failure: str | None = None
    """Why it could not be sent. None: it waits."""


_SELECT: Final[LiteralString] = """
    SELECT r.realm_id, r.reminder_id, r.user_id, r.message_id, r.note, r.content,
           r.rendered_content, r.due_at, r.failure
      FROM reminders r"""

_LATE: Final[LiteralString] = """
    WITH late AS (
        SELECT DISTINCT realm_id FROM reminders WHERE failure IS NULL AND due_at <= %(now)s)
    SELECT each.* FROM late CROSS JOIN LATERAL ("""


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[ReminderRow]:
    """The user's reminders, the next one first."""
    return await connection.many(
        ReminderRow,
        _SELECT
        + """
         WHERE r.realm_id = %(realm_id)s AND r.user_id = %(user_id)s
         ORDER BY r.due_at, r.reminder_id
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


def locking(realm_id: RealmId, user_id: UserId, reminder_id: ReminderId) -> Locking[ReminderRow]:
    """The user's reminder, which is about to be sent or to go."""
    return Locking(
        ReminderRow,
        _SELECT
        + """
         WHERE r.realm_id = %(realm_id)s AND r.user_id = %(user_id)s AND r.reminder_id = %(id)s
        """,
        {"realm_id": realm_id, "user_id": user_id, "id": reminder_id},
        expected=1,
    )


def insert(realm_id: RealmId, reminder: Reminder) -> Statement:
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
            "user_id": reminder.user_id,
            "message_id": reminder.message_id,
            "note": reminder.note,
            "content": reminder.content,
            "rendered_content": reminder.rendered_content,
            "due_at": reminder.due_at,
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


async def due(
    connection: Connection,
    *,
    now: datetime,
    without: Sequence[tuple[RealmId, int]],
    limit: int,
) -> list[ReminderRow]:
    """What is to be sent by now: of each realm so many at most, the longest due first."""
    return await connection.many(
        ReminderRow,
        _LATE
        + _SELECT
        + """
         WHERE r.realm_id = late.realm_id AND r.failure IS NULL AND r.due_at <= %(now)s
           AND NOT EXISTS (
               SELECT FROM unnest(%(realms)s::bigint[], %(ids)s::bigint[]) AS o (realm_id, id)
                WHERE o.realm_id = r.realm_id AND o.id = r.reminder_id)
         ORDER BY r.due_at, r.reminder_id LIMIT %(limit)s) AS each
        """,
        **timers.window(now, without, limit),
    )
