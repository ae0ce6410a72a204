"""Fetch metadata of linked pages, with a cache."""

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from server.domain.retrying import is_passing
from server.egress import Egress, EgressError, FetchedResponse, HostUnreachableError, Limits
from server.previews.memory import Memory
from server.previews.page import PageMetadata, PageReader
from server.runtime.version import VERSION

REMEMBERED: Final = 1_000
"""Size of the cache in pages, of about a kilobyte each."""
KEPT_SECONDS: Final = 3_600.0
FAILURES_KEPT_SECONDS: Final = 300.0
USER_AGENT: Final = f"Mozilla/5.0 (compatible; ParleyBot/{VERSION})"
LIMITS: Final = Limits(
    seconds=5.0, silence_seconds=3.0, max_bytes=1024 * 1024, may_cut=True, redirects=3
)
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_JSON: Final = frozenset({"application/json", "application/json+oembed", "text/json"})
_NOTHING: Final = PageMetadata()


class TemporaryStatusError(EgressError):
    """The response's status may be temporary."""


class Previews:
    """Fetches each page once in a while, however many messages link it."""

    def __init__(self, egress: Egress, reader: PageReader, monotonic: Callable[[], float]) -> None:
        self.egress = egress
        self._reader = reader
        self.pages: Memory[PageMetadata] = Memory(self._look, monotonic, REMEMBERED)

    async def page(self, url: str) -> PageMetadata:
        """Return the page's metadata; empty if it does not exist or may not be fetched."""
        return await self.pages.find(url)

    async def _look(self, url: str) -> tuple[PageMetadata, float]:
        try:
            return await self._fetched(url)
        except EgressError as error:
            return _NOTHING, kept_seconds(error)

    async def _fetched(self, url: str) -> tuple[PageMetadata, float]:
        """Return the page's metadata, and the seconds that it may be cached.

        Raises an EgressError.
        """
        answer = await self._get(url, "text/html")
        if _kind(answer) not in _HTML:
            return _NOTHING, KEPT_SECONDS
        content_type = answer.headers.get("content-type", "")
        page = await self._reader.page(answer.body, url=answer.url, content_type=content_type)
        seconds = KEPT_SECONDS
        if page.oembed_url and not (page.image and page.title):
            try:
                page = await self._with_more(page)
            except EgressError as error:
                seconds = kept_seconds(error)
        return self._with_harmless_picture(page), seconds

    async def _with_more(self, page: PageMetadata) -> PageMetadata:
        """Return the page with its oEmbed metadata."""
        answer = await self._get(page.oembed_url, "application/json")
        if _kind(answer) not in _JSON:
            return page
        return await self._reader.oembed(page, answer.body, url=answer.url)

    def _with_harmless_picture(self, page: PageMetadata) -> PageMetadata:
        """Return the page without a picture on a private network: clients would fetch it."""
        try:
            self.egress.check(page.image)
        except EgressError:
            return replace(page, image="")
        return page

    async def _get(self, url: str, accept: str) -> FetchedResponse:
        headers = {"Accept": accept, "User-Agent": USER_AGENT}
        answer = await self.egress.fetch("GET", url, headers=headers, limits=LIMITS)
        if is_passing(answer.status):
            raise TemporaryStatusError(str(answer.status))
        return answer


def kept_seconds(error: EgressError) -> float:
    """Return the seconds until a retry."""
    is_passing_trouble = isinstance(error, HostUnreachableError | TemporaryStatusError)
    return FAILURES_KEPT_SECONDS if is_passing_trouble else KEPT_SECONDS


def _kind(answer: FetchedResponse) -> str:
    """Return the content type of the response; empty if it was no success."""
    if answer.status != HTTPStatus.OK:
        return ""
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()
