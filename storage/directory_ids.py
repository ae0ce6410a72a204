"""External ids of accounts in a directory (LDAP, SCIM)."""

from collections.abc import Sequence

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


async def all_of_realm(connection: Connection, realm_id: RealmId) -> dict[UserId, str]:
    """Return the directory ids of all accounts that have one."""
    rows = await connection.tuples(
        "SELECT user_id, directory_id FROM directory_ids WHERE realm_id = %(realm_id)s"
        " ORDER BY user_id",
        realm_id=realm_id,
    )
    return dict(rows)


async def closed_as_gone(
    connection: Connection, realm_id: RealmId, closer: str, user_ids: Sequence[UserId]
) -> list[UserId]:
    """Return those of these accounts that `closer` has deactivated, and that stayed so since."""
    return await connection.values(
        """
        SELECT s.user_id FROM scim_accounts s
         WHERE s.realm_id = %(realm_id)s AND s.user_id = ANY(%(user_ids)s)
           AND s.attributes ->> 'closed_by' = %(closer)s AND s.closed_at IS NOT NULL
           AND NOT EXISTS (SELECT FROM audit_log a
                            WHERE a.realm_id = s.realm_id AND a.subject_id = s.user_id
                              AND a.action = 'user_reactivated' AND a.happened_at > s.closed_at)
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        closer=closer,
    )
