"""Store pictures in the sizes that clients load."""

from collections.abc import AsyncIterator

from server.pictures.process import Pictures
from server.pictures.wire import Recipe
from storage.blobs import BlobStore, new_key
from storage.ids import RealmId


async def keep_made(
    pictures: Pictures,
    store: BlobStore,
    recipe: Recipe,
    realm_id: RealmId,
    content: AsyncIterator[bytes],
    *,
    base: str | None = None,
) -> dict[str, str]:
    """Store what the recipe makes of the content; return the keys. Raises BadImageError.

    They begin with `base`, or with a random key.

    The first picture has the bare name, and the others a suffix: clients derive the URL of a medium
    avatar from that of the small one.
    """
    made = await pictures.make(recipe, content)
    base = base or new_key(recipe, realm_id)
    keys: dict[str, str] = {}
    for name, picture in made.pictures.items():
        keys[name] = f"{base}-{name}.{picture.kind}" if keys else f"{base}.{picture.kind}"
        incoming = await store.receive()
        try:
            await incoming.write(picture.content)
            await incoming.keep(keys[name])
        finally:
            await incoming.discard()
    return keys
