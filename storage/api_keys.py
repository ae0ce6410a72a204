"""Named API keys that users create for programs, besides the one that each account has."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection
from storage.ids import ApiKeyId, RealmId, UserId


@dataclass(frozen=True, slots=True)
class KeyRow:
    key_id: ApiKeyId
    user_id: UserId
    name: str
    hint: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """To within five minutes."""


@dataclass(frozen=True, slots=True)
class UsedKeyRow:
    """The fields of a key that authentication needs."""

    key_id: ApiKeyId
    user_id: UserId
    scopes: list[str]
    is_noted: bool
    """Whether its use has been recorded within the last five minutes."""


async def insert(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    name: str,
    digest: bytes,
    hint: str,
    scopes: Sequence[str],
    expires_at: datetime | None,
) -> ApiKeyId:
    """Insert a key; return its id. The caller has locked the user's row."""
    key_id: ApiKeyId = await connection.value(
        """
        INSERT INTO api_keys (realm_id, user_id, name, digest, hint, scopes, expires_at)
        VALUES (%(realm_id)s, %(user_id)s, %(name)s, %(digest)s, %(hint)s, %(scopes)s,
                %(expires_at)s)
        RETURNING key_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        name=name,
        digest=digest,
        hint=hint,
        scopes=list(scopes),
        expires_at=expires_at,
    )
    return key_id


async def used(connection: Connection, realm_id: RealmId, digest: bytes) -> UsedKeyRow | None:
    """Return the key with this digest, unless it has expired or been revoked."""
    return await connection.one(
        UsedKeyRow,
        """
        SELECT key_id, user_id, scopes,
               coalesce(last_used_at > now() - interval '5 minutes', false) AS is_noted
          FROM api_keys
         WHERE realm_id = %(realm_id)s AND digest = %(digest)s
           AND (expires_at IS NULL OR expires_at > now())
        """,
        realm_id=realm_id,
        digest=digest,
    )


async def live(connection: Connection, realm_id: RealmId, digests: Sequence[bytes]) -> list[bytes]:
    """Return those of the digests with keys that have neither expired nor been revoked."""
    return await connection.values(
        """
        SELECT digest FROM api_keys
         WHERE realm_id = %(realm_id)s AND digest = ANY(%(digests)s)
           AND (expires_at IS NULL OR expires_at > now())
        """,
        realm_id=realm_id,
        digests=list(digests),
    )


async def note_use(connection: Connection, realm_id: RealmId, key_id: ApiKeyId) -> None:
    """Record that the key is used now. Takes no lock that others wait for."""
    await connection.execute(
        """
        UPDATE api_keys SET last_used_at = now()
         WHERE realm_id = %(realm_id)s AND key_id = (
               SELECT key_id FROM api_keys
                WHERE realm_id = %(realm_id)s AND key_id = %(key_id)s
                  AND (last_used_at IS NULL OR last_used_at < now() - interval '5 minutes')
                  FOR UPDATE SKIP LOCKED)
        """,
        realm_id=realm_id,
        key_id=key_id,
    )


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[KeyRow]:
    """Return all keys of the user, expired ones included, newest first."""
    return await connection.many(
        KeyRow,
        """
        SELECT key_id, user_id, name, hint, scopes, created_at, expires_at, last_used_at
          FROM api_keys
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
         ORDER BY key_id DESC
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


async def count_live(connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]) -> int:
    """Return how many unexpired keys these users have."""
    count: int = await connection.value(
        """
        SELECT count(*) FROM api_keys
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
           AND (expires_at IS NULL OR expires_at > now())
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
    return count


async def delete(
    connection: Connection, realm_id: RealmId, user_id: UserId, key_id: ApiKeyId
) -> str | None:
    """Delete the user's key; return its name, or None if the user has no key of this id."""
    name: str | None = await connection.value(
        """
        DELETE FROM api_keys
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND key_id = %(key_id)s
        RETURNING name
        """,
        realm_id=realm_id,
        user_id=user_id,
        key_id=key_id,
    )
    return name


async def delete_of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> int:
    """Delete all keys of these users; return how many were deleted."""
    return await connection.execute(
        "DELETE FROM api_keys WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)",
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
