"""Image proxy: serves external pictures in messages."""

from typing import Final

from server.api.endpoint import Access, Endpoint, Request
from server.api.files import send_picture
from server.api.params import Params
from server.domain.errors import NotFoundError, PicturesNotReadyError
from server.domain.external_content import PATH
from server.previews.pictures import Busy

CACHE_CONTROL: Final = "private, max-age=86400"
CACHE_CONTROL_OF_NOTHING: Final = "private, max-age=300"
NOTHING_THERE: Final = "There is no picture at this address."


class PictureParams(Params):
    digest: str
    """Signature of the address."""
    url: str
    """Address of the picture, in hexadecimal."""


async def read(request: Request, params: PictureParams) -> None:
    """Return the picture of a link signed by the server."""
    links = request.app.realm_caches.rendering.proxy
    address = None if links is None else links.address_in(params.digest, params.url)
    if address is None:
        raise NotFoundError(NOTHING_THERE)
    try:
        picture = await request.app.linked_pictures.picture(address)
    except Busy:
        raise PicturesNotReadyError("Too many pictures are on their way.") from None
    if picture is None:
        request.response_headers["Cache-Control"] = CACHE_CONTROL_OF_NOTHING
        raise NotFoundError(NOTHING_THERE)
    await send_picture(
        request,
        picture.content,
        content_type=picture.content_type,
        cache_control=CACHE_CONTROL,
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        PATH,
        Access.ANONYMOUS,
        PictureParams,
        read,
        at_root=True,
        is_rate_limited=False,
        summary="Get a picture from elsewhere through the server",
        description=(
            "Messages show pictures of other sites by such addresses, so that readers stay"
            " unknown to those sites. Only addresses that the server has signed are answered."
        ),
    ),
)
