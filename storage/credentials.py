"""Credentials for sign-in: password hashes and API keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.address_folding import fold_address
from storage.database import Connection
from storage.ids import RealmId, UserId


@dataclass(frozen=True, slots=True)
class CredentialsRow:
    """What sign-in needs to know of an account."""

    user_id: UserId
    email: str
    is_active: bool
    api_key: str
    password_hash: str | None
    changed_at: datetime | None
    """When the account's credentials changed last; None if never."""
    email_confirmed: bool


@dataclass(frozen=True, slots=True)
class SecretsRow:
    """The user's password hash, and when the credentials changed last."""

    api_key: str
    password_hash: str | None
    changed_at: datetime | None


async def by_email(connection: Connection, realm_id: RealmId, email: str) -> CredentialsRow | None:
    """Return the credentials of the user with this address; system bots are excluded.

    If several older accounts have the same address, the one that is spelled exactly so.
    """
    return await connection.one(
        CredentialsRow,
        """
        SELECT user_id, email, is_active, api_key, password_hash,
               credentials_changed_at AS changed_at, email_confirmed
          FROM users
         WHERE realm_id = %(realm_id)s AND NOT is_system_bot
           AND (folded_email = %(folding)s OR (folded_email IS NULL AND email = %(email)s))
         ORDER BY email = %(email)s DESC, user_id
        """,
        realm_id=realm_id,
        email=email,
        folding=fold_address(email),
    )


async def by_id(connection: Connection, realm_id: RealmId, user_id: UserId) -> CredentialsRow:
    """Return the credentials of the user, who must exist."""
    found = await connection.one(
        CredentialsRow,
        """
        SELECT user_id, email, is_active, api_key, password_hash,
               credentials_changed_at AS changed_at, email_confirmed
          FROM users
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
    assert found is not None, "users are never removed"
    return found


async def user_of_key(connection: Connection, realm_id: RealmId, digest: bytes) -> UserId | None:
    """Return the user of the API key with this SHA-256. Other columns are not compared."""
    found: UserId | None = await connection.value(
        """
        SELECT user_id FROM users
         WHERE realm_id = %(realm_id)s AND sha256(api_key::bytea) = %(digest)s
           AND NOT is_system_bot
        """,
        realm_id=realm_id,
        digest=digest,
    )
    return found


async def password_hash(connection: Connection, realm_id: RealmId, user_id: UserId) -> str | None:
    """Return the hash of the user's password; None without one."""
    found: str | None = await connection.value(
        """
        SELECT password_hash FROM users
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
    return found


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> SecretsRow:
    """Return the user's password hash, and when the credentials changed last.

    The user must exist.
    """
    found = await connection.one(
        SecretsRow,
        """
        SELECT api_key, password_hash, credentials_changed_at AS changed_at FROM users
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
    assert found is not None, "users are never removed"
    return found


async def hold_unchanged(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, changed_at: datetime | None
) -> bool:
    """Lock the credentials against changes until the commit.

    Return False if the account is deactivated, or if they have changed since `changed_at`.
    """
    held = await connection.values(
        """
        SELECT user_id FROM users
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND is_active
           AND credentials_changed_at IS NOT DISTINCT FROM %(changed_at)s
           FOR SHARE
        """,
        realm_id=realm_id,
        user_id=user_id,
        changed_at=changed_at,
    )
    return bool(held)


async def note_change(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> None:
    """Set the time of these accounts' last credential change to now.

    The caller has locked their rows.
    """
    await connection.execute(
        """
        UPDATE users SET credentials_changed_at = clock_timestamp()
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )


async def update_password(
    connection: Connection, realm_id: RealmId, user_id: UserId, password_hash: str
) -> None:
    """Update the hash after a change of the password. The caller has locked the user's row."""
    await connection.execute(
        """
        UPDATE users SET password_hash = %(new)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        new=password_hash,
    )


async def update_password_hash(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, old: str, new: str
) -> bool:
    """Update the hash of the same password. Return False if the password has changed meanwhile."""
    updated = await connection.execute(
        """
        UPDATE users SET password_hash = %(new)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND password_hash = %(old)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        old=old,
        new=new,
    )
    return updated == 1


async def update_api_keys(
    connection: Connection, realm_id: RealmId, keys: Mapping[UserId, str]
) -> None:
    """Update the API keys of these accounts. The caller has locked their rows."""
    await connection.execute(
        """
        UPDATE users u SET api_key = k.api_key
          FROM unnest(%(user_ids)s::bigint[], %(keys)s::text[]) AS k(user_id, api_key)
         WHERE u.realm_id = %(realm_id)s AND u.user_id = k.user_id
        """,
        realm_id=realm_id,
        user_ids=list(keys),
        keys=list(keys.values()),
    )
