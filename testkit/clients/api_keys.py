"""Named API keys of people, who prove by their password that it is they who make them."""

from functools import lru_cache
from typing import Any

from testkit.clients.api import Client
from testkit.clients.page_client import PASSWORD
from testkit.passwords import CHEAP


async def new_key(client: Client, *scopes: str, name: str = "A program", **more: Any) -> Any:
    """The answer to a key of these scopes for the client's user, who gets a password for it."""
    assert client.user is not None
    async with client.server.app.database.connection() as connection:
        await connection.execute(
            """
            UPDATE users SET password_hash = %(hash)s
             WHERE user_id = %(user_id)s AND bot_type IS NULL AND password_hash IS NULL
            """,
            hash=_hash(),
            user_id=client.user.user_id,
        )
    proof = {} if client.user.bot_type is not None else {"old_password": PASSWORD}
    return await client.post("/users/me/api_keys", name=name, scopes=list(scopes), **proof, **more)


@lru_cache(maxsize=1)
def _hash() -> str:
    return CHEAP.hash(PASSWORD)
