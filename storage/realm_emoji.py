"""Custom emoji of realms."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.database import Connection
from storage.ids import EmojiId, RealmId, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class EmojiRow:
    emoji_id: EmojiId
    name: str
    author_id: UserId
    blob_key: str
    still_key: str | None
    """The still image of an animated emoji."""
    deactivated: bool


async def of_realm(connection: Connection, realm_id: RealmId) -> list[EmojiRow]:
    """Return all emoji, deactivated ones included."""
    return await connection.many(
        EmojiRow,
        """
        SELECT emoji_id, name, author_id, blob_key, still_key, deactivated FROM realm_emoji
         WHERE realm_id = %(realm_id)s ORDER BY emoji_id
        """,
        realm_id=realm_id,
    )


async def insert(
    connection: Connection,
    realm_id: RealmId,
    *,
    name: str,
    author_id: UserId,
    blob_key: str,
    still_key: str | None,
) -> EmojiId:
    """Insert an emoji; no active one has its name.

    The caller has locked the realm's row exclusively.
    """
    emoji_id: EmojiId = await connection.value(
        """
        INSERT INTO realm_emoji (realm_id, name, author_id, blob_key, still_key)
        VALUES (%(realm_id)s, %(name)s, %(author_id)s, %(blob_key)s, %(still_key)s)
        RETURNING emoji_id
        """,
        realm_id=realm_id,
        name=name,
        author_id=author_id,
        blob_key=blob_key,
        still_key=still_key,
    )
    return emoji_id


async def deactivate(connection: Connection, realm_id: RealmId, emoji_id: EmojiId) -> None:
    """Deactivate the emoji. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        UPDATE realm_emoji SET deactivated = true
         WHERE realm_id = %(realm_id)s AND emoji_id = %(emoji_id)s
        """,
        realm_id=realm_id,
        emoji_id=emoji_id,
    )


async def known_blobs(connection: Connection, realm_id: RealmId, keys: Sequence[str]) -> list[str]:
    """Return those of the keys that belong to an emoji."""
    return await connection.values(
        """
        SELECT k FROM unnest(%(keys)s::text[]) AS k
         WHERE EXISTS (SELECT FROM realm_emoji e
                        WHERE e.realm_id = %(realm_id)s AND k IN (e.blob_key, e.still_key))
        """,
        realm_id=realm_id,
        keys=list(keys),
    )
