"""What people have to confirm by mail, until they do or it is too late."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.address_folding import fold_address
from storage.database import Connection
from storage.ids import RealmId, UserId

THE_SERVER = RealmId(0)
"""Stands for the organizations that are yet to be founded."""


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
    """Something to be confirmed within so long; return its id. What is too late goes."""
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
    """Return what is to be confirmed; None if it has been, or if it is too late."""
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
    """Let the token of this digest confirm it; False if it has been confirmed or ended meanwhile.

    `user_id`: the account that it is about, where the row does not name one yet.
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
    """Return what the token confirms, if it is one of these and has not been done."""
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
    """It is confirmed, once. Return False if that has been done before."""
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
    """What else the user has to confirm of the kind is void."""
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
    """End everything that is pending for these accounts; the purposes of what was."""
    return await connection.values(
        """
        DELETE FROM confirmations
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        RETURNING CASE WHEN ends_at > now() THEN purpose ELSE '' END
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
