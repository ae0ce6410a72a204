"""Uploaded avatars of users."""

from collections.abc import Sequence

from storage.database import Connection
from storage.ids import RealmId, UserId


async def update(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    avatar_key: str | None,
    avatar_version: int,
) -> None:
    """Update or remove the avatar. The caller has locked the user's row."""
    await connection.execute(
        """
        UPDATE users SET avatar_key = %(avatar_key)s, avatar_version = %(avatar_version)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        avatar_key=avatar_key,
        avatar_version=avatar_version,
    )


async def known_blobs(connection: Connection, realm_id: RealmId, keys: Sequence[str]) -> list[str]:
    """Return those of the keys that belong to an avatar, small or medium."""
    return await connection.values(
        """
        SELECT k FROM unnest(%(keys)s::text[]) AS k
         WHERE replace(k, '-medium.', '.') IN (
               SELECT u.avatar_key FROM users u
                WHERE u.realm_id = %(realm_id)s AND u.avatar_key IS NOT NULL)
        """,
        realm_id=realm_id,
        keys=list(keys),
    )
