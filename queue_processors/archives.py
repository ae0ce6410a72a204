"""Store the archives that jobs have written."""

from pathlib import Path
from typing import Final

from server.app import App
from storage.blobs import new_key
from storage.ids import RealmId

CHUNK_BYTES: Final = 1024 * 1024


async def store_archive(
    app: App, kind: str, realm_id: RealmId, path: Path
) -> tuple[str, int, bytes]:
    """Store the archive; return its key, length and digest."""
    incoming, key = await app.blobs.receive(), new_key(kind, realm_id)
    try:
        with path.open("rb") as file:
            while piece := file.read(CHUNK_BYTES):
                await incoming.write(piece)
        await incoming.keep(key)
    finally:
        await incoming.discard()
    return key, incoming.size, incoming.digest
