"""Endpoints of emoji data for pickers, and of the server's own emoji.

Register's `server_emoji_data_url` points to the former; messages contain the path of the latter.
"""

from collections import defaultdict
from functools import lru_cache
from importlib.resources import files
from typing import Final

import msgspec

from server.api.endpoint import Access, Endpoint, NoParams, RawResult, Request, Result
from server.api.files import SAFE_HEADERS
from server.domain.emoji import codes_by_name
from server.domain.markdown.emoji import SERVICE_IMAGE

_CACHE_CONTROL: Final = "public, max-age=86400"


class EmojiData(Result):
    code_to_names: dict[str, list[str]]
    """Names, the usual one first, by code points in hexadecimal."""


async def get(request: Request, params: NoParams) -> RawResult:
    del params
    request.response_headers["Cache-Control"] = _CACHE_CONTROL
    return RawResult(_body())


@lru_cache(maxsize=1)
def _body() -> bytes:
    names: dict[str, list[str]] = defaultdict(list)
    for name, code in codes_by_name().items():
        names[code].append(name)
    return msgspec.json.encode({"result": "success", "msg": "", "code_to_names": names})


async def picture(request: Request, params: NoParams) -> RawResult:
    """Return the image of the server's own emoji. Clients know its path, for reactions too."""
    del params
    headers = {"Content-Type": "image/png", "Cache-Control": _CACHE_CONTROL}
    request.response_headers.update({**SAFE_HEADERS, **headers})
    return RawResult(_picture(), is_enveloped=False)


@lru_cache(maxsize=1)
def _picture() -> bytes:
    return files("server").joinpath("static", "speech_bubble.png").read_bytes()


ENDPOINTS = (
    Endpoint(
        "GET",
        "/emoji_data",
        Access.ANONYMOUS,
        NoParams,
        get,
        EmojiData,
        summary="List the Unicode emoji and their names",
        description=(
            "By code points in hexadecimal, joined by hyphens; the usual name comes first. The"
            " answer may be cached for a day."
        ),
    ),
    Endpoint(
        "GET",
        SERVICE_IMAGE,
        Access.ANONYMOUS,
        NoParams,
        picture,
        at_root=True,
        is_rate_limited=False,
        summary="Get the picture of the server's own emoji",
        description="A PNG file, at the address that `POST /register` names.",
    ),
)
"""The first one at the URL in register: clients find it by no other way."""
