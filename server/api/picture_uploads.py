"""Store uploaded pictures in the sizes that clients load."""

from server.api.endpoint import Request
from server.domain.attachments import MAX_PICTURE_MIB, MIB
from server.domain.errors import BadRequestError
from server.i18n import _
from server.pictures import Recipe
from server.settings import Settings
from storage.blobs import new_key


def max_picture_bytes(settings: Settings) -> int:
    del settings
    return MAX_PICTURE_MIB * MIB


async def keep_pictures(request: Request, recipe: Recipe) -> dict[str, str]:
    """Store the recipe's pictures of the uploaded file; return their keys. Raises BadRequestError.

    The first picture has the bare name, and the others a suffix: clients derive the URL of a medium
    avatar from that of the small one.
    """
    (file,) = request.files
    if file.content.size == 0:
        raise BadRequestError(_("You must specify a file to upload"))
    store = request.app.blobs
    made = await request.app.pictures.make(recipe, file.content.read())
    base = new_key(recipe, request.actor.realm_id)
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
