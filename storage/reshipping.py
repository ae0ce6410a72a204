"""Ranges of the event log to be shipped again as jobs."""

from datetime import date, datetime

from storage.database import Connection
from storage.ids import Position, RealmId
from storage.shipping import CursorRow


async def first_day(connection: Connection) -> date | None:
    """Return the first day in the log; None without any partition."""
    day: date | None = await connection.value(
        """
        SELECT min(to_date(right(c.relname, 8), 'YYYYMMDD'))
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'event_log'::regclass AND NOT i.inhdetachpending
        """
    )
    return day


async def shipped_until(connection: Connection, realm_id: RealmId) -> CursorRow | None:
    """Return the realm's cursor; entries past it have not been shipped at all."""
    return await connection.one(
        CursorRow,
        "SELECT realm_id, position, epoch FROM shipper_cursors WHERE realm_id = %(realm_id)s",
        realm_id=realm_id,
    )


async def last_before(
    connection: Connection, realm_id: RealmId, moment: datetime
) -> Position | None:
    """Return a position before all entries since the moment; None if there are none.

    Entries know only their day. Within the first day, the messages sent before the moment give
    more: positions become visible in order.
    """
    position: Position | None = await connection.value(
        """
        SELECT greatest(
               (SELECT min(l.position) - 1 FROM event_log l
                 WHERE l.realm_id = %(realm_id)s
                   AND l.day >= (%(moment)s::timestamptz AT TIME ZONE 'utc')::date),
               (SELECT max(m.id) FROM event_log l
                  JOIN messages m ON m.realm_id = l.realm_id AND m.id = l.position
                 WHERE l.realm_id = %(realm_id)s AND l.kind = 'message'
                   AND l.day = (%(moment)s::timestamptz AT TIME ZONE 'utc')::date
                   AND m.sent_at < %(moment)s))
         WHERE EXISTS (SELECT FROM event_log l
                        WHERE l.realm_id = %(realm_id)s
                          AND l.day >= (%(moment)s::timestamptz AT TIME ZONE 'utc')::date)
        """,
        realm_id=realm_id,
        moment=moment,
    )
    return position


async def hand_over_again(
    connection: Connection, realm_id: RealmId, *, after: Position, until: Position
) -> None:
    """Let the fan-out enqueue again the pushes and calls of these messages that are not done."""
    await connection.execute(
        """
        WITH pushes AS (
            UPDATE notifications SET push_handed = false
             WHERE realm_id = %(realm_id)s AND message_id > %(after)s AND message_id <= %(until)s
               AND push_handed AND NOT pushed)
        UPDATE webhook_calls SET is_handed = false
         WHERE realm_id = %(realm_id)s AND message_id > %(after)s AND message_id <= %(until)s
           AND is_handed AND outcome IS NULL
        """,
        realm_id=realm_id,
        after=after,
        until=until,
    )
