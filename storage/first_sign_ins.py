"""First sign-ins to accounts that an import or the API has made."""

from datetime import datetime

from storage.database import Connection
from storage.ids import RealmId, UserId


async def record(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, at: datetime
) -> None:
    """Let the account begin now. The caller has locked the user's row."""
    await connection.execute(
        """
        UPDATE users SET stub = NULL, date_joined = %(at)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        at=at,
    )
