"""What bots keep from one run to the next: texts by name."""

from collections.abc import Mapping, Sequence

from storage.database import Connection
from storage.ids import RealmId, UserId


async def of_user(
    connection: Connection, realm_id: RealmId, user_id: UserId, keys: Sequence[str] | None
) -> dict[str, str]:
    """Return what is kept under these keys; under all with None."""
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
    """How many characters are kept, in keys and in what is under them, but for these keys."""
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
    """Keep these, in place of what was there. The caller has locked the user's row."""
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
    """Forget what is under these keys; everything with None.

    The caller has locked the user's row.
    """
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
