"""Endpoint of thumbnails, for readers of the original."""

from hashlib import sha256
from typing import Final

from server.actions import attachments as actions
from server.api.endpoint import Access, Endpoint, NoParams, RawResult, Request, Result
from server.api.files import SAFE_HEADERS, File, send_file
from server.api.params import Params
from server.domain.attachments import PATH
from server.domain.errors import NotFoundError
from server.domain.thumbnails import FORMATS, PENDING_PATH, STILL, Format, key_of

_CACHE_CONTROL: Final = "private, no-cache"
_SPINNER: Final = b"""<svg xmlns="http://www.w3.org/2000/svg" width="60" height="60" \
viewBox="0 0 60 60"><circle cx="30" cy="30" r="20" fill="none" stroke="#888" stroke-width="4" \
stroke-dasharray="90 36"><animateTransform attributeName="transform" type="rotate" \
from="0 30 30" to="360 30 30" dur="1s" repeatCount="indefinite"/></circle></svg>"""


class ThumbnailParams(Params):
    realm_id: int
    """Id of the organization, the first part of the file's path."""
    filename: str
    """Rest of the file's path."""
    format: str
    """Format, one of `server_thumbnail_formats` of `POST /register`."""


async def read(request: Request, params: ThumbnailParams) -> None:
    """Return the thumbnail; the small still one if there is none in that format."""
    wanted = next((each for each in FORMATS if each.name == params.format), None)
    if wanted is None:
        raise NotFoundError("There are no thumbnails in this format.")
    path_id = f"{params.realm_id}/{params.filename}"
    async with request.read() as connection:
        row = await actions.readable(connection, request.actor, path_id)
    if not row.width:
        raise NotFoundError("There is no thumbnail of this file.")
    await _send(request, row.blob_key, wanted)


class StatusParams(Params):
    realm_id_str: str
    """Id of the organization, the first part of the file's path."""
    filename: str
    """Rest of the file's path."""


class ThumbnailStatus(Result):
    has_thumbnail: bool
    """Whether there is a thumbnail; false as well if none can be made."""


async def status(request: Request, params: StatusParams) -> ThumbnailStatus:
    """Return whether a picture has a thumbnail yet."""
    path_id = f"{params.realm_id_str}/{params.filename}"
    async with request.read() as connection:
        row = await actions.readable(connection, request.actor, path_id)
    return ThumbnailStatus(has_thumbnail=bool(row.width))


async def _send(request: Request, blob_key: str, wanted: Format) -> None:
    for each in dict.fromkeys((wanted, STILL)):
        key = key_of(blob_key, each)
        try:
            size = await request.app.blobs.size(key)
            break
        except FileNotFoundError:
            continue
    else:
        raise NotFoundError("There is no thumbnail of this file.")
    file = File(
        blob_key=key,
        size=size,
        digest=sha256(key.encode()).digest(),
        content_type=f"image/{wanted.format}",
        disposition="inline",
        cache_control=_CACHE_CONTROL,
    )
    await send_file(request, file)


async def spin(request: Request, params: NoParams) -> RawResult:
    """Return the placeholder of a missing thumbnail."""
    del params
    headers = {"Content-Type": "image/svg+xml", "Cache-Control": "public, max-age=86400"}
    request.response_headers.update({**SAFE_HEADERS, **headers})
    return RawResult(_SPINNER, is_enveloped=False)


ENDPOINTS = (
    Endpoint(
        "GET",
        PATH + "/thumbnail/{realm_id}/{filename}/{format}",
        Access.SPECTATOR,
        ThumbnailParams,
        read,
        at_root=True,
        is_rate_limited=False,
        summary="Get a preview of an uploaded picture",
        description="Allowed to all readers of the file.",
    ),
    Endpoint(
        "GET",
        "/thumbnail/status/{realm_id_str}/{filename}",
        Access.SPECTATOR,
        StatusParams,
        status,
        ThumbnailStatus,
        summary="Get whether a picture has a thumbnail",
        description="Allowed to all readers of the file.",
    ),
    Endpoint(
        "GET",
        PENDING_PATH,
        Access.ANONYMOUS,
        NoParams,
        spin,
        at_root=True,
        is_rate_limited=False,
        summary="Get the placeholder of a preview that is not ready",
    ),
)
