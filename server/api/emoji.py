"""All emoji by their code points, for pickers: where register's `server_emoji_data_url` leads."""

from collections import defaultdict
from functools import lru_cache

import msgspec

from server.api.endpoint import Access, Endpoint, NoParams, RawResult, Request, Result
from server.domain.emoji import codes_by_name


class EmojiData(Result):
    code_to_names: dict[str, list[str]]
    """Names, the usual one first, by code points in hexadecimal."""


async def get(request: Request, params: NoParams) -> RawResult:
    del params
    request.respond_with["Cache-Control"] = "public, max-age=86400"
    return RawResult(_body())


@lru_cache(maxsize=1)
def _body() -> bytes:
    names: dict[str, list[str]] = defaultdict(list)
    for name, code in codes_by_name().items():
        names[code].append(name)
    return msgspec.json.encode({"result": "success", "msg": "", "code_to_names": names})


ENDPOINTS = (Endpoint("GET", "/emoji_data", Access.ANONYMOUS, NoParams, get, EmojiData),)
"""Where register says that it is; clients find it by no other way."""
