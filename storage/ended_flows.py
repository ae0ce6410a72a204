"""Sign-in flows through other sites, each of which ends once."""

from storage.database import Connection
from storage.ids import RealmId


async def end(
    connection: Connection, realm_id: RealmId, flow_digest: bytes, *, seconds: int
) -> bool:
    """Mark the flow as ended, for `seconds`. Return False if it was already."""
    await connection.execute(
        "DELETE FROM ended_flows WHERE realm_id = %(realm_id)s AND ends_at <= now()",
        realm_id=realm_id,
    )
    ended = await connection.execute(
        """
        INSERT INTO ended_flows (realm_id, flow_digest, ends_at)
        VALUES (%(realm_id)s, %(flow_digest)s, now() + make_interval(secs => %(seconds)s))
        ON CONFLICT DO NOTHING
        """,
        realm_id=realm_id,
        flow_digest=flow_digest,
        seconds=seconds,
    )
    return ended == 1
