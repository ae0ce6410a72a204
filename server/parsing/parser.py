"""Keeps the parsing processes: starts one when it is needed, and ends it at a time limit."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, cast

import msgspec
import structlog
from typing_extensions import override

from server.confined import Worker, WorkerDiedError
from server.domain.webhook_payloads import Said
from server.fair_turns import FairTurns
from server.parsing import wire
from server.previews.page import Page, PageReader

logger = structlog.get_logger(__name__)

WORKER: Final = "server.parsing.worker"
WALL_SECONDS: Final = 60.0
"""For one order, with waiting for others."""


class TooCostlyError(Exception):
    """Parsing has taken all the processor time or memory that it may take."""


class ParserUnavailableError(Exception):
    """The parsing process could not start, or was ended from outside."""


_NOTHING_SAID: Final = (TooCostlyError, ParserUnavailableError, TimeoutError)


class Parser(PageReader):
    """One process for each kind of content, started at the first order of that kind.

    Callers name a share for which they ask; shares have turns, the lightest user first. Reading
    mail and webhooks raises TooCostlyError, ParserUnavailableError, and TimeoutError if the turn or
    the answer is late.
    """

    def __init__(self, *, wall_seconds: float = WALL_SECONDS) -> None:
        self._wall_seconds = wall_seconds
        self._lanes: dict[type[Any], tuple[Worker, FairTurns]] = {}

    async def mail(self, order: wire.MailOrder, *, share: Hashable) -> wire.MailAnswer:
        """Read an email."""
        return cast("wire.MailAnswer", await self._ask(order, share))

    @override
    async def page(self, body: bytes, *, url: str, content_type: str) -> Page:
        order = wire.PageOrder(body, url, content_type)
        with suppress(*_NOTHING_SAID):
            return cast("Page", await self._ask(order, url))
        return Page()

    @override
    async def oembed(self, page: Page, body: bytes, *, url: str) -> Page:
        with suppress(*_NOTHING_SAID):
            return cast("Page", await self._ask(wire.OembedOrder(page, body, url), url))
        return page

    async def webhook(self, order: wire.WebhookOrder, *, share: Hashable) -> Said:
        """Read the payload of a webhook."""
        return cast("Said", await self._ask(order, share))

    async def close(self) -> None:
        """End the processes."""
        for worker, turns in self._lanes.values():
            async with turns.turn(None):
                await worker.end()

    async def _ask(self, order: wire.Order, share: Hashable) -> object:
        kind = type(order)
        worker, turns = self._lanes.setdefault(kind, (Worker(WORKER), FairTurns()))
        try:
            async with asyncio.timeout(self._wall_seconds), turns.turn(share):
                answer = await worker.ask(msgspec.msgpack.encode(order))
        except WorkerDiedError as death:
            logger.warning("parsing ended", kind=kind.__name__, status=death.returncode)
            raise (TooCostlyError if death.is_of_the_request else ParserUnavailableError) from None
        return msgspec.msgpack.decode(answer, type=wire.ANSWERS[kind])


@asynccontextmanager
async def open_parser() -> AsyncIterator[Parser]:
    """A parser whose processes end with the block."""
    parser = Parser()
    try:
        yield parser
    finally:
        await parser.close()
