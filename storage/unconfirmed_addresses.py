"""Addresses of accounts that their owners have not confirmed."""

from storage.database import Connection
from storage.ids import RealmId, UserId


async def confirm(connection: Connection, realm_id: RealmId, user_id: UserId) -> None:
    """Record that the address is the owner's. The caller has locked the user's row."""
    await connection.execute(
        """
        UPDATE users SET email_confirmed = true
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


async def user_ids(connection: Connection, realm_id: RealmId) -> list[UserId]:
    """Return the active users with unconfirmed addresses."""
    return await connection.values(
        """
        SELECT user_id FROM users
         WHERE realm_id = %(realm_id)s AND is_active AND NOT email_confirmed ORDER BY user_id
        """,
        realm_id=realm_id,
    )
