"""Persistent storage of bots: strings by key."""

from collections.abc import Mapping, Sequence

from storage.database import Connection
from storage.ids import RealmId, UserId


async def of_user(
    connection: Connection, realm_id: RealmId, user_id: UserId, keys: Sequence[str] | None
) -> dict[str, str]:
    """Return the values of these keys; of all keys if None."""
    rows = await connection.tuples(
        """
        SELECT key, value FROM bot_storage
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND (%(keys)s::text[] IS NULL OR key = ANY(%(keys)s::text[]))
         ORDER BY key
        """,
        realm_id=realm_id,
        user_id=user_id,
        keys=None if keys is None else list(keys),
    )
    return dict(rows)


async def size(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, but: Sequence[str]
) -> int:
    """Return the characters stored, keys and values together, excluding the keys in `but`."""
    found: int = await connection.value(
        """
        SELECT coalesce(sum(length(key) + length(value)), 0)::bigint FROM bot_storage
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND key <> ALL(%(but)s::text[])
        """,
        realm_id=realm_id,
        user_id=user_id,
        but=list(but),
    )
    return found


async def put(
    connection: Connection, realm_id: RealmId, user_id: UserId, values: Mapping[str, str]
) -> None:
    """Insert or replace these values. The caller has locked the user's row."""
    await connection.execute(
        """
        INSERT INTO bot_storage (realm_id, user_id, key, value)
        SELECT %(realm_id)s, %(user_id)s, new.key, new.value
          FROM unnest(%(keys)s::text[], %(values)s::text[]) AS new(key, value)
            ON CONFLICT (realm_id, user_id, key) DO UPDATE SET value = excluded.value
        """,
        realm_id=realm_id,
        user_id=user_id,
        keys=list(values),
        values=list(values.values()),
    )


async def delete(
    connection: Connection, realm_id: RealmId, user_id: UserId, keys: Sequence[str] | None
) -> int:
    """Delete these keys, or all if None; return how many. The caller has locked the user's row."""
    return await connection.execute(
        """
        DELETE FROM bot_storage
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND (%(keys)s::text[] IS NULL OR key = ANY(%(keys)s::text[]))
        """,
        realm_id=realm_id,
        user_id=user_id,
        keys=None if keys is None else list(keys),
    )
