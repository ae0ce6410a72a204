"""Endpoints of processed pictures, which are public by their URLs."""

import hashlib
import re
from typing import Final

from server.api.endpoint import Access, Endpoint, RawResult, Request
from server.api.files import SAFE_HEADERS, File, send_file
from server.api.params import Params
from server.domain.attachments import SHOWN_TYPES
from server.domain.avatars import IDENTICONS
from server.domain.avatars import MEDIUM as MEDIUM_END
from server.domain.emoji import PICTURES_PATH
from server.domain.errors import NotFoundError
from server.domain.identicons import MEDIUM, SMALL, identicon
from storage.blobs import check_key

KINDS: Final = frozenset({"avatar", "emoji", "icon", "logo"})
_IDENTICON: Final = re.compile(rf"((?:realm-)?[0-9]{{1,20}})({MEDIUM_END})?\.png")
_CACHE_CONTROL: Final = "public, max-age=31536000, immutable"
"""A new picture gets a new URL."""


class PictureParams(Params):
    realm_id: int
    """Id of the organization."""
    filename: str
    """Kind of the picture, and its name in the store."""


async def read(request: Request, params: PictureParams) -> None:
    kind, _, rest = params.filename.partition("/")
    key = f"{kind}/{params.realm_id}/{rest}"
    if kind not in KINDS or params.realm_id != request.realm_id:
        raise NotFoundError("This file does not exist.")
    try:
        check_key(key)
        size = await request.app.blobs.size(key)
    except (ValueError, FileNotFoundError):
        raise NotFoundError("This file does not exist.") from None
    file = File(
        blob_key=key,
        size=size,
        digest=hashlib.sha256(key.encode()).digest(),
        content_type=SHOWN_TYPES[key.rpartition(".")[2]],
        disposition="inline",
        cache_control=_CACHE_CONTROL,
    )
    await send_file(request, file)


class IdenticonParams(Params):
    filename: str
    """Id of the user, or `realm-` and the id of the organization; with `-medium` for the larger
    size; then `.png`."""


async def make(request: Request, params: IdenticonParams) -> RawResult:
    """Return the generated picture for a user, or a realm, without one."""
    wanted = _IDENTICON.fullmatch(params.filename)
    if wanted is None:
        raise NotFoundError("This file does not exist.")
    headers = {"Content-Type": "image/png", "Cache-Control": _CACHE_CONTROL}
    request.response_headers.update({**SAFE_HEADERS, **headers})
    return RawResult(identicon(wanted[1], MEDIUM if wanted[2] else SMALL), is_enveloped=False)


ENDPOINTS = (
    Endpoint(
        "GET",
        f"{PICTURES_PATH}/{IDENTICONS}/{{filename}}",
        Access.ANONYMOUS,
        IdenticonParams,
        make,
        at_root=True,
        is_rate_limited=False,
        summary="Get a generated picture",
        description="A pattern for a user or an organization without a picture of its own.",
    ),
    Endpoint(
        "GET",
        PICTURES_PATH + "/{realm_id}/{filename}",
        Access.ANONYMOUS,
        PictureParams,
        read,
        at_root=True,
        is_rate_limited=False,
        summary="Get an avatar, emoji, icon or logo",
        description="Another picture has another address: the answer may be cached for ever.",
    ),
)
