"""Pending confirmations by email, until they are confirmed or expire."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.address_folding import fold_address
from storage.database import Connection
from storage.ids import RealmId, UserId

THE_SERVER = RealmId(0)
"""Stands for realms that are yet to be created."""


@dataclass(frozen=True, slots=True)
class ConfirmationRow:
    confirmation_id: int
    purpose: str
    email: str
    user_id: UserId | None


async def insert(
    connection: Connection,
    realm_id: RealmId,
    *,
    purpose: str,
    email: str,
    user_id: UserId | None = None,
    seconds: int,
) -> int:
    """Insert a confirmation that expires after `seconds`; return its id. Deletes expired ones."""
    await connection.execute(
        "DELETE FROM confirmations WHERE realm_id = %(realm_id)s AND ends_at <= now()",
        realm_id=realm_id,
    )
    confirmation_id: int = await connection.value(
        """
        INSERT INTO confirmations (realm_id, purpose, email, folded_email, user_id, ends_at)
        VALUES (%(realm_id)s, %(purpose)s, %(email)s, %(folding)s, %(user_id)s,
                now() + make_interval(secs => %(seconds)s))
        RETURNING confirmation_id
        """,
        realm_id=realm_id,
        purpose=purpose,
        email=email,
        folding=fold_address(email),
        user_id=user_id,
        seconds=seconds,
    )
    return confirmation_id


async def by_id(
    connection: Connection, realm_id: RealmId, confirmation_id: int
) -> ConfirmationRow | None:
    """Return the pending confirmation; None if it was confirmed or has expired."""
    return await connection.one(
        ConfirmationRow,
        """
        SELECT confirmation_id, purpose, email, user_id FROM confirmations
         WHERE realm_id = %(realm_id)s AND confirmation_id = %(confirmation_id)s
           AND ends_at > now()
        """,
        realm_id=realm_id,
        confirmation_id=confirmation_id,
    )


async def add_token(
    connection: Connection,
    realm_id: RealmId,
    confirmation_id: int,
    digest: bytes,
    *,
    user_id: UserId | None = None,
) -> bool:
    """Store the digest of the confirmation's token; return False if it is confirmed or expired.

    `user_id`: the account, if the row does not name one yet.
    """
    added = await connection.execute(
        """
        UPDATE confirmations
           SET token_digests = token_digests || %(digest)s, user_id = coalesce(user_id, %(user_id)s)
         WHERE realm_id = %(realm_id)s AND confirmation_id = %(confirmation_id)s
        """,
        realm_id=realm_id,
        confirmation_id=confirmation_id,
        digest=digest,
        user_id=user_id,
    )
    return added == 1


async def by_token(
    connection: Connection, realm_id: RealmId, digest: bytes, purposes: Sequence[str]
) -> ConfirmationRow | None:
    """Return the pending confirmation with this token, if it has one of these purposes."""
    return await connection.one(
        ConfirmationRow,
        """
        SELECT confirmation_id, purpose, email, user_id FROM confirmations
         WHERE realm_id = %(realm_id)s AND token_digests @> ARRAY[%(digest)s]::bytea[]
           AND purpose = ANY(%(purposes)s) AND ends_at > now()
        """,
        realm_id=realm_id,
        digest=digest,
        purposes=list(purposes),
    )


async def take(connection: Connection, realm_id: RealmId, confirmation_id: int) -> bool:
    """Mark it as confirmed. Return False if it was already."""
    taken = await connection.execute(
        """
        DELETE FROM confirmations
         WHERE realm_id = %(realm_id)s AND confirmation_id = %(confirmation_id)s
        """,
        realm_id=realm_id,
        confirmation_id=confirmation_id,
    )
    return taken == 1


async def drop_of_user(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, purpose: str
) -> None:
    """Delete the user's other pending confirmations of this purpose."""
    await connection.execute(
        """
        DELETE FROM confirmations
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND purpose = %(purpose)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        purpose=purpose,
    )


async def end_of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> list[str]:
    """Delete all pending confirmations of these accounts; return their purposes."""
    return await connection.values(
        """
        DELETE FROM confirmations
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        RETURNING CASE WHEN ends_at > now() THEN purpose ELSE '' END
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
