"""Jobs that are done and must not run again, if the work itself leaves no row."""

from datetime import timedelta

from storage.database import Connection
from storage.ids import RealmId


async def is_done(connection: Connection, realm_id: RealmId, queue: str, key: str) -> bool:
    """Return whether the queue's job with this key has been done."""
    found: bool = await connection.value(
        """
        SELECT EXISTS (SELECT FROM done_jobs
                        WHERE realm_id = %(realm_id)s AND queue = %(queue)s AND key = %(key)s)
        """,
        realm_id=realm_id,
        queue=queue,
        key=key,
    )
    return found


async def insert(connection: Connection, realm_id: RealmId, queue: str, key: str) -> None:
    """Record that the job is done; a second time changes nothing."""
    await connection.execute(
        """
        INSERT INTO done_jobs (realm_id, queue, key)
        VALUES (%(realm_id)s, %(queue)s, %(key)s) ON CONFLICT DO NOTHING
        """,
        realm_id=realm_id,
        queue=queue,
        key=key,
    )


async def forget(connection: Connection, *, older_than: timedelta) -> int:
    """Delete old records; return how many."""
    return await connection.execute(
        "DELETE FROM done_jobs WHERE done_at < now() - %(age)s", age=older_than
    )
