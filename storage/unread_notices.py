"""Users that keep all notices of resolved topics unread, and since when.

Without a row the user's settings decide, for all times. docs/adr/0003-no-row-per-recipient.md.
"""

from storage.database import Connection, Statement
from storage.ids import RealmId, UserId


async def keep_past(connection: Connection, realm_id: RealmId, user_id: UserId) -> None:
    """Before a change of the settings: keep the state of notices so far.

    The caller has locked the user's row.
    """
    await connection.execute(
        """
        INSERT INTO unread_notices (realm_id, user_id, spans)
        VALUES (%(realm_id)s, %(user_id)s, notices_unread(%(realm_id)s, %(user_id)s))
        ON CONFLICT DO NOTHING
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


def begin(realm_id: RealmId, user_id: UserId) -> Statement:
    """After `keep_past`, at the position of the change: notices above it are unread."""
    return Statement(
        """
        UPDATE unread_notices
           SET spans = spans + int8multirange(int8range(current_position(), NULL, '()'))
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        {"realm_id": realm_id, "user_id": user_id},
    )


def end(realm_id: RealmId, user_id: UserId) -> Statement:
    """Likewise: notices above it are read at once."""
    return Statement(
        """
        UPDATE unread_notices
           SET spans = spans - int8multirange(int8range(current_position(), NULL, '()'))
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        {"realm_id": realm_id, "user_id": user_id},
    )
