"""Image proxy: fetch external pictures, with a cache."""

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from server.domain.retrying import is_passing
from server.egress import Egress, EgressError, FetchedResponse, Limits
from server.previews.fetching import KEPT_SECONDS, USER_AGENT, TemporaryStatusError, kept_seconds
from server.previews.memory import Memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MAX_BYTES: Final = 8 * 1024 * 1024
"""Limit per picture."""
KEPT_BYTES: Final = 32 * 1024 * 1024
"""Limit of the cache of one process."""
LEAST_WEIGHT: Final = 1024
"""Minimum size of a cache entry, also of a failure."""
AT_ONCE: Final = 8
AT_ONCE_OF_HOST: Final = 4
"""Concurrency per host: a slow site leaves room for others."""
MAX_COMING: Final = 200
"""Maximum number of pending fetches; further requests are refused."""
LIMITS: Final = Limits(seconds=10.0, silence_seconds=5.0, max_bytes=MAX_BYTES, redirects=3)
ACCEPT: Final = "image/avif, image/webp, image/png, image/jpeg, image/gif, image/bmp"
_SIGNS: Final[tuple[tuple[str, *tuple[tuple[int, bytes], ...]], ...]] = (
    ("image/png", (0, b"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", (0, b"\xff\xd8\xff")),
    ("image/gif", (0, b"GIF87a")),
    ("image/gif", (0, b"GIF89a")),
    ("image/webp", (0, b"RIFF"), (8, b"WEBP")),
    ("image/avif", (4, b"ftypavif")),
    ("image/avif", (4, b"ftypavis")),
    ("image/bmp", (0, b"BM"), (6, bytes(4))),
)
"""Magic numbers of picture formats: bytes at offsets."""
_UNTYPED: Final = frozenset({"", "application/octet-stream", "binary/octet-stream"})


@dataclass(frozen=True, slots=True)
class LinkedPicture:
    content: bytes
    content_type: str
    """By its magic number, not by the site's header."""


class Busy(Exception):  # noqa: N818 - nothing is wrong
    """Too many pictures are being fetched: a retry may succeed later."""


class LinkedPictures:
    """Fetches each picture once in a while, however many readers request it."""

    def __init__(self, egress: Egress, monotonic: Callable[[], float]) -> None:
        self._egress = egress
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._turns_of_host: dict[str, tuple[asyncio.Semaphore, int]] = {}
        self.memory: Memory[LinkedPicture | None] = Memory(
            self._look, monotonic, KEPT_BYTES, _weight
        )

    async def picture(self, url: str) -> LinkedPicture | None:
        """Return the picture; None if browsers would not display it. Raises Busy."""
        if self.memory.coming >= MAX_COMING and not self.memory.knows(url):
            raise Busy
        return await self.memory.find(url)

    async def _look(self, url: str) -> tuple[LinkedPicture | None, float]:
        try:
            async with self._turn_for(url):
                answer = await self._get(url)
        except EgressError as error:
            return None, kept_seconds(error)
        return _picture_in(answer), KEPT_SECONDS

    async def _get(self, url: str) -> FetchedResponse:
        headers = {"Accept": ACCEPT, "User-Agent": USER_AGENT}
        answer = await self._egress.fetch("GET", url, headers=headers, limits=LIMITS)
        if is_passing(answer.status):
            raise TemporaryStatusError(str(answer.status))
        return answer

    @asynccontextmanager
    async def _turn_for(self, url: str) -> "AsyncIterator[None]":
        """Wait for a slot, behind others of the same host first."""
        host = urlsplit(url).netloc
        turn, waiting = self._turns_of_host.get(host, (asyncio.Semaphore(AT_ONCE_OF_HOST), 0))
        self._turns_of_host[host] = (turn, waiting + 1)
        try:
            async with turn, self._turn:
                yield
        finally:
            turn, waiting = self._turns_of_host.pop(host)
            if waiting > 1:
                self._turns_of_host[host] = (turn, waiting - 1)


def _weight(found: LinkedPicture | None) -> int:
    return LEAST_WEIGHT + (0 if found is None else len(found.content))


def _picture_in(answer: FetchedResponse) -> LinkedPicture | None:
    """Return the picture, if both header and content say so."""
    if answer.status != HTTPStatus.OK:
        return None
    said = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_said = said in _UNTYPED or (said.startswith("image/") and "svg" not in said)
    content_type = picture_type(answer.body)
    if content_type is None or not is_said:
        return None
    return LinkedPicture(answer.body, content_type)


def picture_type(content: bytes) -> str | None:
    """Return the type of a harmless picture; None for all else, SVG too."""
    for content_type, *signs in _SIGNS:
        if all(content.startswith(sign, start) for start, sign in signs):
            return content_type
    return None
