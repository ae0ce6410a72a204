"""Client of the parsing processes, one for each kind of content."""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, cast

import msgspec
from typing_extensions import override

from server.domain.webhook_payloads import Said
from server.integrations.base import Outcome
from server.parsing import wire
from server.parsing.lane import Lane, ParserUnavailableError, TooCostlyError
from server.previews.page import PageMetadata, PageReader

WORKER: Final = "server.parsing.worker"


class Parser(PageReader):
    """One process for each kind of content, started at its first request.

    Callers name a share; shares are queued fairly, the lightest user first. Parsing mail and
    webhooks raises TooCostlyError and ParserUnavailableError.
    """

    def __init__(self) -> None:
        self._lanes: dict[type[Any], Lane] = {}

    async def mail(self, order: wire.MailOrder, *, share: Hashable) -> wire.MailAnswer:
        """Parse an email."""
        return cast("wire.MailAnswer", await self._ask(order, share))

    @override
    async def page(self, body: bytes, *, url: str, content_type: str) -> PageMetadata:
        order = wire.PageOrder(body, url, content_type)
        with suppress(TooCostlyError, ParserUnavailableError):
            return cast("PageMetadata", await self._ask(order, url))
        return PageMetadata()

    @override
    async def oembed(self, page: PageMetadata, body: bytes, *, url: str) -> PageMetadata:
        with suppress(TooCostlyError, ParserUnavailableError):
            return cast("PageMetadata", await self._ask(wire.OembedOrder(page, body, url), url))
        return page

    async def webhook(self, order: wire.WebhookOrder, *, share: Hashable) -> Said:
        """Parse the payload of a webhook."""
        return cast("Said", await self._ask(order, share))

    async def delivery(self, order: wire.IntegrationOrder, *, share: Hashable) -> Outcome:
        """Read the delivery of a service."""
        return cast("Outcome", await self._ask(order, share))

    async def close(self) -> None:
        """Terminate the processes."""
        for lane in self._lanes.values():
            await lane.close()

    async def _ask(self, order: wire.Order, share: Hashable) -> object:
        kind = type(order)
        lane = self._lanes.setdefault(kind, Lane(WORKER))
        answer = await lane.ask(msgspec.msgpack.encode(order), share=share)
        return msgspec.msgpack.decode(answer, type=wire.ANSWERS[kind])


@asynccontextmanager
async def open_parser() -> AsyncIterator[Parser]:
    """Yield a parser; its processes end with the block."""
    parser = Parser()
    try:
        yield parser
    finally:
        await parser.close()
