"""Encrypted OAuth tokens of users for the services that create calls for them."""

from collections.abc import Sequence

from storage.database import Connection
from storage.ids import RealmId, UserId


async def services_of(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[str]:
    """Return the names of the services for which the user has tokens."""
    return await connection.values(
        """
        SELECT service FROM call_tokens
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


async def find(
    connection: Connection, realm_id: RealmId, user_id: UserId, service: str
) -> bytes | None:
    """Return the encrypted tokens; None if the user has none."""
    found = await connection.value(
        """
        SELECT tokens FROM call_tokens
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND service = %(service)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        service=service,
    )
    return None if found is None else bytes(found)


async def put(
    connection: Connection, realm_id: RealmId, user_id: UserId, service: str, tokens: bytes
) -> None:
    """Insert the encrypted tokens, or replace those that the user has."""
    await connection.execute(
        """
        INSERT INTO call_tokens (realm_id, user_id, service, tokens)
        VALUES (%(realm_id)s, %(user_id)s, %(service)s, %(tokens)s)
        ON CONFLICT (realm_id, user_id, service) DO UPDATE SET tokens = excluded.tokens
        """,
        realm_id=realm_id,
        user_id=user_id,
        service=service,
        tokens=tokens,
    )


async def delete(connection: Connection, realm_id: RealmId, user_id: UserId, service: str) -> None:
    """Delete the user's tokens for the service."""
    await connection.execute(
        """
        DELETE FROM call_tokens
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND service = %(service)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        service=service,
    )


async def delete_of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> None:
    """Delete all tokens of the users."""
    await connection.execute(
        """
        DELETE FROM call_tokens
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s::bigint[])
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
