"""User groups that a configuration names, and organizations lack."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from storage.migrate import Connection
from storage.name_folding import fold_name


@dataclass(frozen=True, slots=True)
class LackedGroups:
    """An organization, and those of the named groups that it does not have."""

    subdomain: str
    settings: dict[str, Any]
    names: list[str]


def lacked_groups(connection: Connection, names: Collection[str]) -> list[LackedGroups]:
    """Return all active organizations that lack any; deactivated and role groups do not count."""
    rows = connection.execute(
        """
        SELECT r.subdomain, r.settings, array_agg(w.name ORDER BY w.name)
          FROM realms r CROSS JOIN unnest(%s::text[], %s::text[]) AS w(name, folded)
         WHERE NOT r.deactivated
           AND NOT EXISTS (SELECT FROM user_groups g
                            WHERE g.realm_id = r.realm_id AND g.folded_name = w.folded
                              AND NOT g.deactivated AND NOT g.is_system_group)
         GROUP BY r.realm_id ORDER BY r.subdomain
        """,
        [list(names), [fold_name(name) for name in names]],
    ).fetchall()
    return [LackedGroups(*row) for row in rows]
