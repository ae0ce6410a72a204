"""Rights that the operator grants to users."""

from storage.database import Connection
from storage.ids import RealmId, UserId


async def can_create_users(connection: Connection, realm_id: RealmId, user_id: UserId) -> bool:
    """Return whether the operator allows the user, if an administrator, to create accounts."""
    return bool(
        await connection.value(
            """
            SELECT can_create_users FROM users
             WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
            """,
            realm_id=realm_id,
            user_id=user_id,
        )
    )


async def grant(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, create_users: bool
) -> None:
    """Update the operator's grant to the user."""
    await connection.execute(
        """
        UPDATE users SET can_create_users = %(create_users)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        create_users=create_users,
    )
