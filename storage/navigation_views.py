"""Navigation views: places in a client that users pin."""

from dataclasses import dataclass

from storage.database import Connection
from storage.ids import RealmId, UserId


@dataclass(frozen=True, slots=True)
class NavigationViewRow:
    fragment: str
    is_pinned: bool
    name: str | None


async def of_user(
    connection: Connection, realm_id: RealmId, user_id: UserId
) -> list[NavigationViewRow]:
    """Return the user's views, in the order of creation."""
    return await connection.many(
        NavigationViewRow,
        """
        SELECT fragment, is_pinned, name FROM navigation_views
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s ORDER BY view_id
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


async def put(
    connection: Connection, realm_id: RealmId, user_id: UserId, row: NavigationViewRow
) -> None:
    """Insert or replace the view with this fragment. The caller has locked the user's row."""
    await connection.execute(
        """
        INSERT INTO navigation_views (realm_id, user_id, fragment, is_pinned, name)
        VALUES (%(realm_id)s, %(user_id)s, %(fragment)s, %(is_pinned)s, %(name)s)
        ON CONFLICT (realm_id, user_id, fragment)
        DO UPDATE SET is_pinned = excluded.is_pinned, name = excluded.name
        """,
        realm_id=realm_id,
        user_id=user_id,
        fragment=row.fragment,
        is_pinned=row.is_pinned,
        name=row.name,
    )


async def delete(connection: Connection, realm_id: RealmId, user_id: UserId, fragment: str) -> None:
    await connection.execute(
        """
        DELETE FROM navigation_views
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND fragment = %(fragment)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        fragment=fragment,
    )
