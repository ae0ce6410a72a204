"""External ids of accounts in a directory (LDAP, SCIM)."""

from storage.database import Connection
from storage.ids import RealmId, UserId


async def user_of(connection: Connection, realm_id: RealmId, directory_id: str) -> UserId | None:
    """Return the user with this directory id."""
    found: UserId | None = await connection.value(
        """
        SELECT user_id FROM directory_ids
         WHERE realm_id = %(realm_id)s AND directory_id = %(directory_id)s
        """,
        realm_id=realm_id,
        directory_id=directory_id,
    )
    return found


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> str | None:
    """Return the user's directory id, if it is known."""
    found: str | None = await connection.value(
        """
        SELECT directory_id FROM directory_ids
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
    return found


async def insert(
    connection: Connection, realm_id: RealmId, user_id: UserId, directory_id: str
) -> None:
    """Insert the mapping, unless either side has another.

    The caller has locked the realm's row exclusively.
    """
    await connection.execute(
        """
        INSERT INTO directory_ids (realm_id, user_id, directory_id)
        VALUES (%(realm_id)s, %(user_id)s, %(directory_id)s)
        ON CONFLICT DO NOTHING
        """,
        realm_id=realm_id,
        user_id=user_id,
        directory_id=directory_id,
    )
