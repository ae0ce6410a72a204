"""Activity of users' clients: number of requests, and the last one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from storage.database import Connection
from storage.ids import RealmId, UserId

MAX_CLIENTS: Final = 30
"""Maximum per user: clients choose their own names."""
OTHERS: Final = "others"
"""Name for further clients of a user who has too many."""


@dataclass(frozen=True, slots=True)
class Visits:
    """Requests of a user's client: number, and time of the last."""

    realm_id: RealmId
    user_id: UserId
    client: str
    what: str
    count: int
    last_at: datetime


async def add(connection: Connection, visits: Sequence[Visits]) -> None:
    """Add these counts, each with its realm."""
    await connection.execute(
        """
        WITH given AS (
            SELECT * FROM unnest(
                %(realm_ids)s::bigint[], %(user_ids)s::bigint[], %(clients)s::text[],
                %(what)s::text[], %(counts)s::bigint[], %(last_at)s::timestamptz[])
                AS g (realm_id, user_id, client, what, count, last_at)),
        known AS (
            SELECT a.realm_id, a.user_id, array_agg(DISTINCT a.client) AS clients
              FROM user_activity a
             WHERE (a.realm_id, a.user_id) IN (SELECT g.realm_id, g.user_id FROM given g)
             GROUP BY a.realm_id, a.user_id)
        INSERT INTO user_activity AS a (realm_id, user_id, client, what, count, last_at)
        SELECT g.realm_id, g.user_id,
               CASE WHEN g.client = ANY(k.clients)
                         OR coalesce(cardinality(k.clients), 0) < %(most)s
                    THEN g.client ELSE %(others)s END AS client,
               g.what, sum(g.count), max(g.last_at)
          FROM given g
          LEFT JOIN known k ON k.realm_id = g.realm_id AND k.user_id = g.user_id
         GROUP BY 1, 2, 3, 4
         ORDER BY 1, 2, 3, 4
            ON CONFLICT (realm_id, user_id, client, what) DO UPDATE
           SET count = a.count + excluded.count, last_at = greatest(a.last_at, excluded.last_at)
        """,
        realm_ids=[each.realm_id for each in visits],
        user_ids=[each.user_id for each in visits],
        clients=[each.client for each in visits],
        what=[each.what for each in visits],
        counts=[each.count for each in visits],
        last_at=[each.last_at for each in visits],
        most=MAX_CLIENTS,
        others=OTHERS,
    )


async def newest(
    connection: Connection, realm_id: RealmId, *, limit: int, user_id: UserId | None = None
) -> list[Visits]:
    """Return the latest activity, newest first; of one user if given."""
    return await connection.many(
        Visits,
        """
        SELECT realm_id, user_id, client, what, count, last_at FROM user_activity
         WHERE realm_id = %(realm_id)s
           AND (%(user_id)s::bigint IS NULL OR user_id = %(user_id)s)
         ORDER BY last_at DESC, user_id, client, what LIMIT %(limit)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        limit=limit,
    )


async def forget(connection: Connection, *, older_than: timedelta) -> int:
    """Delete activity older than that; return how many."""
    return await connection.execute(
        "DELETE FROM user_activity WHERE last_at < now() - %(age)s", age=older_than
    )
