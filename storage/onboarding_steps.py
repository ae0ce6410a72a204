"""Onboarding steps that users have seen."""

from storage.database import Connection
from storage.ids import RealmId, UserId


async def seen_by(connection: Connection, realm_id: RealmId, user_id: UserId) -> frozenset[str]:
    rows = await connection.tuples(
        "SELECT step FROM onboarding_steps WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s",
        realm_id=realm_id,
        user_id=user_id,
    )
    return frozenset(step for (step,) in rows)


async def insert(connection: Connection, realm_id: RealmId, user_id: UserId, step: str) -> None:
    """Insert a step that is missing. The caller has locked the user's row."""
    await connection.execute(
        """
        INSERT INTO onboarding_steps (realm_id, user_id, step)
        VALUES (%(realm_id)s, %(user_id)s, %(step)s)
        """,
        realm_id=realm_id,
        user_id=user_id,
        step=step,
    )
