"""Space that the uploaded files of a realm use."""

from dataclasses import dataclass

from storage.database import Connection, Locking
from storage.ids import RealmId


@dataclass(frozen=True, slots=True)
class SpaceRow:
    bytes: int


def locking(realm_id: RealmId) -> Locking[SpaceRow]:
    """Return the query that locks the realm's used upload space."""
    return Locking(
        SpaceRow,
        "SELECT bytes FROM upload_space WHERE realm_id = %(realm_id)s",
        {"realm_id": realm_id},
        expected=1,
    )


async def used(connection: Connection, realm_id: RealmId) -> int:
    found: int | None = await connection.value(
        "SELECT bytes FROM upload_space WHERE realm_id = %(realm_id)s", realm_id=realm_id
    )
    return found or 0


async def begin(connection: Connection, realm_id: RealmId) -> None:
    """Insert the row that `locking` locks."""
    await connection.execute(
        "INSERT INTO upload_space (realm_id) VALUES (%(realm_id)s) ON CONFLICT DO NOTHING",
        realm_id=realm_id,
    )


async def add(connection: Connection, realm_id: RealmId, size: int) -> int:
    """Add `size` bytes (may be negative) to the used space; return the total.

    The caller has locked it.
    """
    total: int = await connection.value(
        """
        UPDATE upload_space SET bytes = bytes + %(size)s WHERE realm_id = %(realm_id)s
        RETURNING bytes
        """,
        realm_id=realm_id,
        size=size,
    )
    return total
