"""User groups: the system (role) groups of a realm, and custom ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, LiteralString

from storage.database import Connection
from storage.ids import GroupId, Position, RealmId, UserId
from storage.name_folding import fold_name


@dataclass(frozen=True, slots=True)
class GroupRow:
    group_id: GroupId
    name: str
    description: str
    is_system_group: bool
    deactivated: bool
    creator_id: UserId | None
    created_at: datetime | None
    permissions: dict[str, Any]
    member_ids: list[UserId]
    """Direct members; empty for role groups: their members follow from the roles."""
    subgroup_ids: list[GroupId]
    changed_at: Position


_SELECT: LiteralString = """
    SELECT g.group_id, g.name, g.description, g.is_system_group, g.deactivated, g.creator_id,
           g.created_at, g.permissions, g.changed_at,
           ARRAY(SELECT m.user_id FROM group_members m
                  WHERE m.realm_id = g.realm_id AND m.group_id = g.group_id
                  ORDER BY m.user_id) AS member_ids,
           ARRAY(SELECT s.subgroup_id FROM group_subgroups s
                  WHERE s.realm_id = g.realm_id AND s.group_id = g.group_id
                  ORDER BY s.subgroup_id) AS subgroup_ids
      FROM user_groups g WHERE g.realm_id = %(realm_id)s """


async def all_of_realm(connection: Connection, realm_id: RealmId) -> list[GroupRow]:
    return await connection.many(GroupRow, _SELECT + "ORDER BY g.group_id", realm_id=realm_id)


async def by_id(connection: Connection, realm_id: RealmId, group_id: GroupId) -> GroupRow | None:
    return await connection.one(
        GroupRow, _SELECT + "AND g.group_id = %(group_id)s", realm_id=realm_id, group_id=group_id
    )


async def memberships(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> dict[GroupId, tuple[UserId, ...]]:
    """Return the groups with any of these users as a direct member, and which; no role groups."""
    rows = await connection.tuples(
        """
        SELECT group_id, array_agg(user_id ORDER BY user_id) FROM group_members
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
         GROUP BY group_id ORDER BY group_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
    return {group_id: tuple(members) for group_id, members in rows}


async def system_ids(connection: Connection, realm_id: RealmId) -> dict[str, GroupId]:
    """Return the ids of the realm's role groups by name."""
    rows = await connection.tuples(
        "SELECT name, group_id FROM user_groups WHERE realm_id = %(realm_id)s AND is_system_group",
        realm_id=realm_id,
    )
    return dict(rows)


async def insert_system_groups(
    connection: Connection,
    realm_id: RealmId,
    descriptions: Mapping[str, str],
    nesting: Mapping[str, str],
) -> dict[str, GroupId]:
    """Insert the role groups of a new realm, in this order and nested so; return their ids."""
    rows = await connection.tuples(
        """
        WITH ids AS (
            SELECT g.name, g.folded_name, g.description, nextval('group_ids') AS group_id
              FROM unnest(%(names)s::text[], %(folded_names)s::text[], %(descriptions)s::text[])
                   WITH ORDINALITY AS g(name, folded_name, description, place)
             ORDER BY g.place
        ), made AS (
            INSERT INTO user_groups (realm_id, group_id, name, folded_name, description,
                                     is_system_group)
            SELECT %(realm_id)s, group_id, name, folded_name, description, true FROM ids
        ), nested AS (
            INSERT INTO group_subgroups (realm_id, group_id, subgroup_id)
            SELECT %(realm_id)s, o.group_id, i.group_id
              FROM unnest(%(outer)s::text[], %(inner)s::text[]) AS n(outer_name, inner_name)
              JOIN ids o ON o.name = n.outer_name JOIN ids i ON i.name = n.inner_name
        )
        SELECT name, group_id FROM ids
        """,
        realm_id=realm_id,
        names=list(descriptions),
        folded_names=[fold_name(name) for name in descriptions],
        descriptions=list(descriptions.values()),
        outer=list(nesting),
        inner=list(nesting.values()),
    )
    return dict(rows)


async def insert(connection: Connection, realm_id: RealmId, row: GroupRow) -> GroupRow:
    """Insert a custom group with its members and subgroups; return the row with its id.

    The caller has locked the realm's row, which guards names.
    """
    group_id: GroupId = await connection.value(
        """
        INSERT INTO user_groups (realm_id, name, folded_name, description, creator_id, created_at,
                                 permissions)
        VALUES (%(realm_id)s, %(name)s, %(folded_name)s, %(description)s, %(creator_id)s,
                %(created_at)s, %(permissions)s)
        RETURNING group_id
        """,
        realm_id=realm_id,
        creator_id=row.creator_id,
        created_at=row.created_at,
        **_settings(connection, row),
    )
    await add_members(connection, realm_id, group_id, row.member_ids)
    await add_subgroups(connection, realm_id, group_id, row.subgroup_ids)
    return replace(row, group_id=group_id)


async def update(connection: Connection, realm_id: RealmId, row: GroupRow) -> None:
    """Update the group's settings. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        UPDATE user_groups
           SET name = %(name)s, folded_name = %(folded_name)s, description = %(description)s,
               deactivated = %(deactivated)s, permissions = %(permissions)s
         WHERE realm_id = %(realm_id)s AND group_id = %(group_id)s
        """,
        realm_id=realm_id,
        group_id=row.group_id,
        deactivated=row.deactivated,
        **_settings(connection, row),
    )


def _settings(connection: Connection, row: GroupRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "folded_name": fold_name(row.name),
        "description": row.description,
        "permissions": connection.json(row.permissions),
    }


async def add_members(
    connection: Connection, realm_id: RealmId, group_id: GroupId, user_ids: Sequence[UserId]
) -> None:
    """Add direct members that the group does not have yet."""
    await connection.execute(
        """
        INSERT INTO group_members (realm_id, group_id, user_id)
        SELECT %(realm_id)s, %(group_id)s, unnest(%(user_ids)s::bigint[])
        """,
        realm_id=realm_id,
        group_id=group_id,
        user_ids=list(user_ids),
    )


async def remove_members(
    connection: Connection, realm_id: RealmId, group_id: GroupId, user_ids: Sequence[UserId]
) -> None:
    await connection.execute(
        """
        DELETE FROM group_members
         WHERE realm_id = %(realm_id)s AND group_id = %(group_id)s
           AND user_id = ANY(%(user_ids)s)
        """,
        realm_id=realm_id,
        group_id=group_id,
        user_ids=list(user_ids),
    )


async def add_subgroups(
    connection: Connection, realm_id: RealmId, group_id: GroupId, subgroup_ids: Sequence[GroupId]
) -> None:
    """Add direct subgroups that the group does not have yet."""
    await connection.execute(
        """
        INSERT INTO group_subgroups (realm_id, group_id, subgroup_id)
        SELECT %(realm_id)s, %(group_id)s, unnest(%(subgroup_ids)s::bigint[])
        """,
        realm_id=realm_id,
        group_id=group_id,
        subgroup_ids=list(subgroup_ids),
    )


async def remove_subgroups(
    connection: Connection, realm_id: RealmId, group_id: GroupId, subgroup_ids: Sequence[GroupId]
) -> None:
    await connection.execute(
        """
        DELETE FROM group_subgroups
         WHERE realm_id = %(realm_id)s AND group_id = %(group_id)s
           AND subgroup_id = ANY(%(subgroup_ids)s)
        """,
        realm_id=realm_id,
        group_id=group_id,
        subgroup_ids=list(subgroup_ids),
    )
