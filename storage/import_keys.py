"""Keys of an import's records, by which later ones find them."""

from collections.abc import Mapping, Sequence
from typing import Literal

from storage.array_literals import int_array, text_array
from storage.database import Connection, Statement
from storage.ids import (
    RealmId,
)

Kind = Literal[
    "person", "account", "channel", "conversation", "thread", "message", "file", "link", "unnamed"
]
"""Kinds of keys. `person`: people who got an account, `account`: people who had one already.
`link`: messages that hold links to others, by their own ids. `unnamed`: topics of threads of which
the root, which names them, has not come."""


def keep(realm_id: RealmId, import_id: int, kind: Kind, ids: Mapping[str, int]) -> Statement:
    """Remember which rows records have become, by their keys in the file."""
    return Statement(
        """
        INSERT INTO import_keys (realm_id, import_id, kind, key, id)
        SELECT %(realm_id)s, %(import_id)s, %(kind)s, k.key, k.id
          FROM unnest(%(keys)s::text[], %(ids)s::bigint[]) AS k(key, id)
        """,
        {
            "realm_id": realm_id,
            "import_id": import_id,
            "kind": kind,
            "keys": text_array(ids),
            "ids": int_array(ids.values()),
        },
    )


async def keys_of(
    connection: Connection, realm_id: RealmId, import_id: int, kind: Kind
) -> dict[str, int]:
    """Return all ids of a kind by their keys."""
    rows = await connection.tuples(
        """
        SELECT key, id FROM import_keys
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s AND kind = %(kind)s
        """,
        realm_id=realm_id,
        import_id=import_id,
        kind=kind,
    )
    return dict(rows)


async def ids_of(
    connection: Connection,
    realm_id: RealmId,
    import_id: int,
    kind: Kind,
    keys: Sequence[str],
) -> dict[str, int]:
    """Return the ids of those of the keys that are known."""
    # One look-up for each: without statistics, of a table that has just been filled, `key = ANY`
    # becomes a filter over all keys of the kind.
    rows = await connection.tuples(
        """
        SELECT k.key, i.id
          FROM unnest(%(keys)s::text[]) AS k(key)
         CROSS JOIN LATERAL (
                SELECT id FROM import_keys
                 WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s
                   AND kind = %(kind)s AND key = k.key
                 LIMIT 1) i
        """,
        realm_id=realm_id,
        import_id=import_id,
        kind=kind,
        keys=list(keys),
    )
    return dict(rows)


async def some_ids(
    connection: Connection, realm_id: RealmId, import_id: int, kind: Kind, *, limit: int
) -> list[int]:
    """Return some ids of a kind, always the first ones that are left."""
    return await connection.values(
        """
        SELECT id FROM import_keys
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s AND kind = %(kind)s
         ORDER BY key LIMIT %(limit)s
        """,
        realm_id=realm_id,
        import_id=import_id,
        kind=kind,
        limit=limit,
    )


def forget(realm_id: RealmId, import_id: int, kind: Kind, keys: Sequence[str]) -> Statement:
    return Statement(
        """
        DELETE FROM import_keys
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s AND kind = %(kind)s
           AND ctid = ANY(ARRAY(
                SELECT i.ctid
                  FROM unnest(%(keys)s::text[]) AS k(key)
                 CROSS JOIN LATERAL (
                        SELECT ctid FROM import_keys
                         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s
                           AND kind = %(kind)s AND key = k.key
                         LIMIT 1) i))
        """,
        {"realm_id": realm_id, "import_id": import_id, "kind": kind, "keys": list(keys)},
    )


async def forget_some(
    connection: Connection, realm_id: RealmId, import_id: int, first: tuple[str, str], *, limit: int
) -> tuple[str, str] | None:
    """Delete `limit` keys from the kind and key `first` on; return the next one, if there are more.

    Those of people stay: they tell the accounts that have come with the import.
    """
    # Ranges of the primary key, each from where the last one ended: a join would get a bad plan for
    # want of statistics, and a search from the start would pass everything that was deleted.
    rows = await connection.tuples(
        """
        SELECT kind, key FROM import_keys
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s AND kind <> 'person'
           AND (kind, key) >= (%(first_kind)s, %(first_key)s)
         ORDER BY kind, key OFFSET %(limit)s LIMIT 1
        """,
        realm_id=realm_id,
        import_id=import_id,
        first_kind=first[0],
        first_key=first[1],
        limit=limit,
    )
    kind, key = rows[0] if rows else (None, None)
    await connection.execute(
        """
        DELETE FROM import_keys
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s AND kind <> 'person'
           AND (kind, key) >= (%(first_kind)s, %(first_key)s)
           AND (%(kind)s::text IS NULL OR (kind, key) < (%(kind)s, %(key)s))
        """,
        realm_id=realm_id,
        import_id=import_id,
        first_kind=first[0],
        first_key=first[1],
        kind=kind,
        key=key,
    )
    return rows[0] if rows else None


# -- a new realm
