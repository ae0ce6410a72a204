"""Browser sessions of users."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection
from storage.ids import RealmId, UserId

MAX_SESSIONS = 50
"""Maximum number of sessions per user; the oldest are ended."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    user_id: UserId
    token_digest: bytes
    user_agent: str
    began_at: datetime
    ends_at: datetime


async def insert(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    token_digest: bytes,
    *,
    user_agent: str,
    seconds: int,
) -> None:
    """Insert a session that expires after `seconds`; delete the user's expired ones."""
    await connection.execute(
        """
        INSERT INTO sessions (realm_id, token_digest, user_id, user_agent, ends_at)
        VALUES (%(realm_id)s, %(token_digest)s, %(user_id)s, %(user_agent)s,
                now() + make_interval(secs => %(seconds)s))
        """,
        realm_id=realm_id,
        token_digest=token_digest,
        user_id=user_id,
        user_agent=user_agent,
        seconds=seconds,
    )
    await connection.execute(
        """
        DELETE FROM sessions
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND (ends_at <= now() OR token_digest NOT IN
                (SELECT token_digest FROM sessions
                  WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
                  ORDER BY began_at DESC, token_digest = %(token_digest)s DESC LIMIT %(most)s))
        """,
        realm_id=realm_id,
        user_id=user_id,
        token_digest=token_digest,
        most=MAX_SESSIONS,
    )


async def user_of(connection: Connection, realm_id: RealmId, token_digest: bytes) -> UserId | None:
    """Return the session's user; None if it has expired, or never existed."""
    user_id: UserId | None = await connection.value(
        """
        SELECT user_id FROM sessions
         WHERE realm_id = %(realm_id)s AND token_digest = %(token_digest)s AND ends_at > now()
        """,
        realm_id=realm_id,
        token_digest=token_digest,
    )
    return user_id


async def hold(
    connection: Connection, realm_id: RealmId, user_id: UserId, token_digest: bytes
) -> bool:
    """Return whether the user's session is live; then it lasts until the transaction ends."""
    found: bool | None = await connection.value(
        """
        SELECT ends_at > now() FROM sessions
         WHERE realm_id = %(realm_id)s AND token_digest = %(token_digest)s
           AND user_id = %(user_id)s
           FOR KEY SHARE
        """,
        realm_id=realm_id,
        user_id=user_id,
        token_digest=token_digest,
    )
    return bool(found)


async def is_fresh(
    connection: Connection, realm_id: RealmId, token_digest: bytes, *, seconds: int
) -> bool:
    """Return whether the session is live and began within so many seconds."""
    return bool(
        await connection.value(
            """
            SELECT began_at > now() - make_interval(secs => %(seconds)s) FROM sessions
             WHERE realm_id = %(realm_id)s AND token_digest = %(token_digest)s AND ends_at > now()
            """,
            realm_id=realm_id,
            token_digest=token_digest,
            seconds=seconds,
        )
    )


async def live(
    connection: Connection, realm_id: RealmId, token_digests: Sequence[bytes]
) -> list[bytes]:
    """Return those of the digests that belong to live sessions."""
    return await connection.values(
        """
        SELECT token_digest FROM sessions
         WHERE realm_id = %(realm_id)s AND token_digest = ANY(%(token_digests)s)
           AND ends_at > now()
        """,
        realm_id=realm_id,
        token_digests=list(token_digests),
    )


async def ever_came(connection: Connection, realm_id: RealmId, user_id: UserId) -> bool:
    """Return whether the user has a session, or has ever made a request."""
    return bool(
        await connection.value(
            """
            SELECT EXISTS (SELECT FROM sessions
                            WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s)
                OR EXISTS (SELECT FROM user_activity
                            WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s)
            """,
            realm_id=realm_id,
            user_id=user_id,
        )
    )


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[SessionRow]:
    """Return the user's live sessions, newest first."""
    return await connection.many(
        SessionRow,
        """
        SELECT user_id, token_digest, user_agent, began_at, ends_at FROM sessions
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND ends_at > now()
         ORDER BY began_at DESC
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


async def end(connection: Connection, realm_id: RealmId, token_digest: bytes) -> None:
    """Delete this session, if it exists."""
    await connection.execute(
        """
        DELETE FROM sessions
         WHERE realm_id = %(realm_id)s AND token_digest = %(token_digest)s
        """,
        realm_id=realm_id,
        token_digest=token_digest,
    )


async def end_of_users(
    connection: Connection,
    realm_id: RealmId,
    user_ids: Sequence[UserId],
    *,
    but: bytes | None = None,
) -> int:
    """Delete all sessions of these users except the one of `but`; return how many were live."""
    ended = await connection.values(
        """
        DELETE FROM sessions
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
           AND token_digest IS DISTINCT FROM %(but)s
        RETURNING ends_at > now()
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        but=but,
    )
    return sum(ended)


async def end_all(connection: Connection, realm_id: RealmId) -> None:
    """Delete all sessions of the realm."""
    await connection.execute(
        "DELETE FROM sessions WHERE realm_id = %(realm_id)s", realm_id=realm_id
    )
