"""Keeps the typesetting process: starts it when it is needed, and ends it at a deadline."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec
import structlog
from typing_extensions import override

from server import confined
from server.domain.markdown.nodes import Element
from server.domain.markdown.typesetting import Typeset, TypesetJob, Typesetter
from server.typesetting.wire import HEADER, Delivery, Order, frame

logger = structlog.get_logger(__name__)

CPU_SECONDS: Final = 0.5
"""Of one job. Ten thousand characters of ordinary code take 5 to 25 ms."""
REMEMBERED: Final = 2_000
"""Jobs whose outcome is kept, for the rendering that follows and for the same code quoted."""
WORKER: Final = "server.typesetting.worker"


class _GoneError(Exception):
    """The process has ended before its answer."""


class ProcessTypesetter(Typesetter):
    """One process, started at the first job; what ends it is shown plain from then on.

    `wall_seconds` is for all jobs of a message, with waiting for others: a send waits no longer.
    """

    def __init__(
        self,
        *,
        wall_seconds: float,
        cpu_seconds: float = CPU_SECONDS,
    ) -> None:
        self._cpu_seconds = cpu_seconds
        self._wall_seconds = wall_seconds
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._known: OrderedDict[TypesetJob, Typeset | None] = OrderedDict()
        self.starts = 0

    @override
    async def set(self, jobs: Sequence[TypesetJob]) -> None:
        for job in jobs:
            if job in self._known:
                self._known.move_to_end(job)
        if any(job not in self._known for job in jobs):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._wall_seconds), self._turn:
                    await self._set([job for job in jobs if job not in self._known])

    @override
    def known(self, job: TypesetJob) -> Typeset | None:
        return self._known.get(job)

    @override
    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        found: list[str | None] = [None] * len(pairs)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wall_seconds):
                for place, (older, newer) in enumerate(pairs):
                    order = Order("difference", older, "", self._cpu_seconds, newer)
                    # A turn for each: what a send waits for goes between two of them. What ends
                    # the process has no difference; it is started anew for the next.
                    with suppress(_GoneError):
                        async with self._turn:
                            found[place] = (await self._ask(order)).html
        return found

    async def close(self) -> None:
        """End the process."""
        async with self._turn:
            await self._end()

    async def _set(self, jobs: Sequence[TypesetJob]) -> None:
        for job in jobs:
            try:
                order = Order(job.kind, job.text, job.language, self._cpu_seconds)
                self._remember(job, delivered(await self._ask(order)))
            except _GoneError:
                logger.warning("typesetting ended", kind=job.kind, language=job.language)
                self._remember(job, None)
                return
            except TimeoutError:
                self._remember(job, None)
                raise

    async def _ask(self, order: Order) -> Delivery:
        """One answer. Whatever interrupts it ends the process, which may still be at it."""
        is_done = False
        try:
            with suppress(_GoneError):
                answer = await self._exchange(order)
                is_done = True
                return answer
            # Nobody had needed it for a while, so it went: not because of this order.
            if self._process is not None and await self._process.wait() == 0:
                answer = await self._exchange(order)
                is_done = True
                return answer
            raise _GoneError
        finally:
            if not is_done:
                await self._end()

    async def _exchange(self, order: Order) -> Delivery:
        process = await self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(frame(order))
            await process.stdin.drain()
            [length] = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
            body = await process.stdout.readexactly(length)
        except (OSError, asyncio.IncompleteReadError) as error:
            raise _GoneError from error
        return msgspec.msgpack.decode(body, type=Delivery)

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self.starts += 1
            starting = asyncio.ensure_future(confined.start(WORKER))
            try:
                self._process = await asyncio.shield(starting)
            except asyncio.CancelledError:
                # It is about to be there all the same, and has to be ended.
                self._process = await starting
                raise
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        # What waits here is the end of a killed process: nobody can put it off.
        await asyncio.shield(process.wait())

    def _remember(self, job: TypesetJob, typeset: Typeset | None) -> None:
        self._known[job] = typeset
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def delivered(delivery: Delivery) -> Typeset | None:
    """What a node can take."""
    if delivery.spans is not None:
        return tuple(delivery.spans)
    return None if delivery.element is None else _element(delivery.element)


def _element(element: list[Any]) -> Element:
    tag, attributes, kids = element
    return Element(
        tag, attributes, [kid if isinstance(kid, str) else _element(kid) for kid in kids]
    )


@asynccontextmanager
async def open_typesetter(*, wall_seconds: float) -> AsyncIterator[ProcessTypesetter]:
    """A typesetter whose process ends with the block."""
    typesetter = ProcessTypesetter(wall_seconds=wall_seconds)
    try:
        yield typesetter
    finally:
        await typesetter.close()
