"""Message counts of channels, computed once a day, because that reads every message."""

from datetime import date, datetime

from storage.database import Connection
from storage.ids import RealmId


async def realms_to_count(connection: Connection, day: date) -> list[RealmId]:
    """Return active realms without channel counts of this day."""
    return await connection.values(
        """
        SELECT r.realm_id FROM realms r
         WHERE NOT r.deactivated
           AND NOT EXISTS (SELECT FROM channel_traffic t
                            WHERE t.realm_id = r.realm_id AND t.day = %(day)s)
         ORDER BY r.realm_id
        """,
        day=day,
    )


async def count(connection: Connection, realm_id: RealmId, *, since: datetime, day: date) -> None:
    """Count the messages since then, and store the counts of this day.

    Empty channels are omitted.
    """
    # A concurrent count waits here for the lock, and then counts the same.
    await connection.execute(
        "DELETE FROM channel_traffic WHERE realm_id = %(realm_id)s", realm_id=realm_id
    )
    await connection.execute(
        """
        INSERT INTO channel_traffic (realm_id, channel_id, messages, day)
        SELECT m.realm_id, m.channel_id, count(*), %(day)s
          FROM first_messages_since(%(realm_id)s, %(since)s) s
          JOIN messages m ON m.realm_id = %(realm_id)s AND m.channel_id IS NOT NULL
               AND m.id BETWEEN s.first_id AND s.last_id
         GROUP BY m.realm_id, m.channel_id
            ON CONFLICT (realm_id, channel_id) DO UPDATE
           SET messages = excluded.messages, day = excluded.day
        """,
        realm_id=realm_id,
        since=since,
        day=day,
    )
