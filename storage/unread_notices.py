"""Users that keep all notices of resolved topics unread, and since when.

Without a row the user's settings decide, for all times. docs/adr/0003-no-row-per-recipient.md.
"""

from collections.abc import Sequence

from storage.database import Connection, Statement
from storage.ids import RealmId, UserId


async def keep_past(connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]) -> None:
    """Before a change of these users' settings: keep the state of notices so far.

    The caller has locked the users' rows.
    """
    await connection.execute(
        """
        INSERT INTO unread_notices (realm_id, user_id, spans)
        SELECT %(realm_id)s, u.user_id, notices_unread(%(realm_id)s, u.user_id)
          FROM unnest(%(user_ids)s::bigint[]) AS u(user_id)
        ON CONFLICT DO NOTHING
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )


def begin(realm_id: RealmId, user_ids: Sequence[UserId]) -> Statement:
    """After `keep_past`, at the position of the change: notices above it are unread."""
    return Statement(
        """
        UPDATE unread_notices
           SET spans = spans + int8multirange(int8range(current_position(), NULL, '()'))
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        """,
        {"realm_id": realm_id, "user_ids": list(user_ids)},
    )


def end(realm_id: RealmId, user_ids: Sequence[UserId]) -> Statement:
    """Likewise: notices above it are read at once."""
    return Statement(
        """
        UPDATE unread_notices
           SET spans = spans - int8multirange(int8range(current_position(), NULL, '()'))
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        """,
        {"realm_id": realm_id, "user_ids": list(user_ids)},
    )
