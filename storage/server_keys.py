"""Signing keys of the server."""

import secrets

from storage.database import Connection

KEY_BYTES = 32


async def key_for(connection: Connection, purpose: str) -> bytes:
    """Return the key for this purpose, always the same; created at the first request."""
    find = "SELECT key FROM server_keys WHERE purpose = %(purpose)s"
    found = await connection.value(find, purpose=purpose)
    if found is None:
        await connection.execute(
            """
            INSERT INTO server_keys (purpose, key) VALUES (%(purpose)s, %(key)s)
            ON CONFLICT DO NOTHING
            """,
            purpose=purpose,
            key=secrets.token_bytes(KEY_BYTES),
        )
        found = await connection.value(find, purpose=purpose)
    return bytes(found)
