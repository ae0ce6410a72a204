"""Fetches what pages say of themselves, and remembers it for a while."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final

from server.egress import Answer, Egress, EgressError, Limits, TooSlowError, UnreachableError
from server.previews.page import Page, read_page, with_oembed
from server.version import VERSION

REMEMBERED: Final = 1_000
"""Pages, of about a kilobyte each."""
KEPT_SECONDS: Final = 3_600.0
FAILURES_KEPT_SECONDS: Final = 300.0
LIMITS: Final = Limits(
    seconds=5.0, silence_seconds=3.0, max_bytes=1024 * 1024, may_cut=True, redirects=3
)
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_JSON: Final = frozenset({"application/json", "application/json+oembed", "text/json"})
_NOTHING: Final = Page()


@dataclass(slots=True)
class Previews:
    """Looks at each page once in a while, however many messages link it."""

    egress: Egress
    monotonic: Callable[[], float]
    _known: OrderedDict[str, tuple[float, Page]] = field(default_factory=OrderedDict, init=False)
    _coming: dict[str, asyncio.Future[Page]] = field(default_factory=dict, init=False)

    async def page(self, url: str) -> Page:
        """What the page says; nothing where there is no page, or none that may be fetched."""
        known = self._known.get(url)
        if known is not None and self.monotonic() < known[0]:
            self._known.move_to_end(url)
            return known[1]
        if url not in self._coming:
            coming = asyncio.ensure_future(self._look(url))
            self._coming[url] = coming
            coming.add_done_callback(lambda done: self._arrived(url, done))
        return await asyncio.shield(self._coming[url])

    def _arrived(self, url: str, done: asyncio.Future[Page]) -> None:
        del self._coming[url]
        if not done.cancelled():
            done.exception()  # is for those who wait, if there is still anybody

    async def _look(self, url: str) -> Page:
        page, seconds = _NOTHING, FAILURES_KEPT_SECONDS
        try:
            page, seconds = await self._fetched(url), KEPT_SECONDS
        except (TooSlowError, UnreachableError):
            pass
        except EgressError:
            seconds = KEPT_SECONDS
        self._known[url] = (self.monotonic() + seconds, page)
        self._known.move_to_end(url)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return page

    async def _fetched(self, url: str) -> Page:
        answer = await self._get(url, "text/html")
        if _kind(answer) not in _HTML:
            return _NOTHING
        content_type = answer.headers.get("content-type", "")
        page = await asyncio.to_thread(
            read_page, answer.body, url=answer.url, content_type=content_type
        )
        if page.oembed_url and not (page.image and page.title):
            try:
                more = await self._get(page.oembed_url, "application/json")
            except EgressError:
                return self._with_harmless_picture(page)
            if _kind(more) in _JSON:
                page = with_oembed(page, more.body, url=more.url)
        return self._with_harmless_picture(page)

    def _with_harmless_picture(self, page: Page) -> Page:
        """Readers' clients fetch the picture themselves: not from networks they stand in."""
        try:
            self.egress.check(page.image)
        except EgressError:
            return replace(page, image="")
        return page

    async def _get(self, url: str, accept: str) -> Answer:
        headers = {"Accept": accept, "User-Agent": f"Mozilla/5.0 (compatible; ParleyBot/{VERSION})"}
        return await self.egress.fetch("GET", url, headers=headers, limits=LIMITS)


def _kind(answer: Answer) -> str:
    """The type of what came; empty if it was no success."""
    if answer.status != HTTPStatus.OK:
        return ""
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()
