"""Realms (organizations)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from storage.database import Connection, Locking, Statement
from storage.ids import Position, RealmId


@dataclass(frozen=True, slots=True)
class RealmRow:
    realm_id: RealmId
    subdomain: str
    name: str
    description: str
    rendered_description: str
    created_at: datetime
    deactivated: bool
    uuid: str
    settings: dict[str, Any]
    changed_at: Position
    groups_changed_at: Position


_ALL: LiteralString = """
    SELECT realm_id, subdomain, name, description, rendered_description, created_at,
           deactivated, uuid::text, settings, changed_at, groups_changed_at
      FROM realms"""
_SELECT: LiteralString = _ALL + " WHERE realm_id = %(realm_id)s"


async def by_id(
    connection: Connection, realm_id: RealmId, *, share: bool = False
) -> RealmRow | None:
    """Return the realm; with `share` its row is locked against changes until commit."""
    if share:
        return await connection.one(RealmRow, _SELECT + " FOR SHARE", realm_id=realm_id)
    return await connection.one(RealmRow, _SELECT, realm_id=realm_id)


async def all_of_them(connection: Connection) -> list[RealmRow]:
    """Return all realms of the server, deactivated ones included."""
    return await connection.many(RealmRow, _ALL + " ORDER BY realm_id")


async def only_open(connection: Connection) -> RealmRow | None:
    """Return the only active realm of the server; None if there is not exactly one."""
    rows = await connection.many(
        RealmRow, _ALL + " WHERE NOT deactivated ORDER BY realm_id LIMIT 2"
    )
    return rows[0] if len(rows) == 1 else None


def locking(realm_id: RealmId) -> Locking[RealmRow]:
    """Return the query that locks the realm's row: only its holder adds users to the realm."""
    return Locking(RealmRow, _SELECT, {"realm_id": realm_id}, expected=1)


async def ids_of_subdomains(
    connection: Connection, subdomains: Sequence[str]
) -> dict[str, RealmId]:
    rows = await connection.tuples(
        "SELECT subdomain, realm_id FROM realms WHERE subdomain = ANY(%(subdomains)s)",
        subdomains=list(subdomains),
    )
    return dict(rows)


async def ids(connection: Connection) -> list[RealmId]:
    return await connection.values("SELECT realm_id FROM realms ORDER BY realm_id")


async def insert(
    connection: Connection, *, subdomain: str, name: str, settings: dict[str, Any]
) -> RealmId | None:
    """Insert a realm, without users, groups or clock; return None if the subdomain is taken."""
    realm_id: RealmId | None = await connection.value(
        """
        INSERT INTO realms (subdomain, name, settings, created_at)
        VALUES (%(subdomain)s, %(name)s, %(settings)s, now())
        ON CONFLICT (subdomain) DO NOTHING
        RETURNING realm_id
        """,
        subdomain=subdomain,
        name=name,
        settings=connection.json(settings),
    )
    return realm_id


async def known_blobs(connection: Connection, realm_id: RealmId, keys: Sequence[str]) -> list[str]:
    """Return those of the keys that belong to the realm's own pictures, in any size."""
    return await connection.values(
        """
        SELECT k FROM unnest(%(keys)s::text[]) AS k
         WHERE EXISTS (SELECT FROM realms r
                        WHERE r.realm_id = %(realm_id)s
                          AND (k IN (r.settings ->> 'icon_key', r.settings ->> 'logo_key',
                                     r.settings ->> 'night_logo_key')
                               OR regexp_replace(k, '-(medium|large)[.]png$', '.png')
                                  = r.settings ->> 'icon_key'))
        """,
        realm_id=realm_id,
        keys=list(keys),
    )


async def update_settings(
    connection: Connection, realm_id: RealmId, settings: dict[str, Any]
) -> None:
    """Update the settings. The caller has locked the realm's row exclusively."""
    await connection.execute(
        "UPDATE realms SET settings = %(settings)s WHERE realm_id = %(realm_id)s",
        realm_id=realm_id,
        settings=connection.json(settings),
    )


async def update(
    connection: Connection,
    realm_id: RealmId,
    *,
    name: str,
    description: str,
    rendered_description: str,
    settings: dict[str, Any],
) -> None:
    """Update what administrators set. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        UPDATE realms
           SET name = %(name)s, description = %(description)s,
               rendered_description = %(rendered_description)s, settings = %(settings)s
         WHERE realm_id = %(realm_id)s
        """,
        realm_id=realm_id,
        name=name,
        description=description,
        rendered_description=rendered_description,
        settings=connection.json(settings),
    )


async def update_deactivated(
    connection: Connection, realm_id: RealmId, *, deactivated: bool
) -> None:
    """Deactivate or reactivate the realm. The caller has locked the realm's row exclusively."""
    await connection.execute(
        "UPDATE realms SET deactivated = %(deactivated)s WHERE realm_id = %(realm_id)s",
        realm_id=realm_id,
        deactivated=deactivated,
    )


def changed(realm_id: RealmId) -> Statement:
    """Record that the realm has changed at the current position."""
    return Statement(
        "UPDATE realms SET changed_at = current_position() WHERE realm_id = %(realm_id)s",
        {"realm_id": realm_id},
    )


def groups_changed(realm_id: RealmId) -> Statement:
    """Record that a group of the realm has changed at the current position."""
    return Statement(
        "UPDATE realms SET groups_changed_at = current_position() WHERE realm_id = %(realm_id)s",
        {"realm_id": realm_id},
    )
