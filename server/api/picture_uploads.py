"""Store uploaded pictures in the sizes that clients load."""

from server.api.endpoint import Request
from server.domain.attachments import MAX_PICTURE_MIB, MIB
from server.domain.errors import BadRequestError
from server.i18n import _
from server.pictures.keeping import keep_made
from server.pictures.wire import Recipe
from server.settings import Settings


def max_picture_bytes(settings: Settings) -> int:
    del settings
    return MAX_PICTURE_MIB * MIB


async def keep_pictures(request: Request, recipe: Recipe) -> dict[str, str]:
    """Store the recipe's pictures of the uploaded file; return the keys. Raises BadRequestError."""
    (file,) = request.files
    if file.content.size == 0:
        raise BadRequestError(_("You must specify a file to upload"))
    app = request.app
    return await keep_made(
        app.pictures, app.blobs, recipe, request.actor.realm_id, file.content.read()
    )
