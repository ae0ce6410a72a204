"""Manage the typesetting process: start it on demand, and kill it after a timeout."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec
import structlog
from typing_extensions import override

from server.domain.markdown.nodes import Element
from server.domain.markdown.typesetting import Typeset, TypesetJob, Typesetter
from server.runtime.fair_queue import FairQueue, QueueTurn
from server.runtime.sandbox import Process, Worker, WorkerDiedError
from server.typesetting.wire import TypesetOutput, TypesetRequest

logger = structlog.get_logger(__name__)

CPU_SECONDS: Final = 0.5
"""Limit of one job. Ten thousand characters of ordinary code take 5 to 25 ms."""
REMEMBERED: Final = 2_000
"""Size of the cache of results, for the rendering that follows and for the same code quoted."""
WORKER: Final = "server.typesetting.worker"


class ProcessTypesetter(Typesetter):
    """One process, started at the first job; a job that kills it stays plain from then on.

    `wall_seconds` is the timeout for all jobs of a message, with waiting for others: a send waits
    no longer. Users are queued fairly, the lightest first.
    """

    def __init__(
        self,
        *,
        wall_seconds: float,
        cpu_seconds: float = CPU_SECONDS,
    ) -> None:
        self._cpu_seconds = cpu_seconds
        self._wall_seconds = wall_seconds
        self._turns = FairQueue()
        self._worker = Worker(WORKER)
        self._known: OrderedDict[TypesetJob, Typeset | None] = OrderedDict()

    @property
    def process(self) -> Process | None:
        """Return the process, if there is one now."""
        return self._worker.process

    @property
    def starts(self) -> int:
        """Return how many processes were started so far."""
        return self._worker.starts

    @override
    async def set(self, jobs: Sequence[TypesetJob], *, share: Hashable) -> None:
        for job in jobs:
            if job in self._known:
                self._known.move_to_end(job)
        if any(job not in self._known for job in jobs):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._wall_seconds), self._turns.turn(share) as turn:
                    await self._set(jobs, turn)

    @override
    def known(self, job: TypesetJob) -> Typeset | None:
        return self._known.get(job)

    @override
    async def compare(
        self, pairs: Sequence[tuple[str, str]], *, share: Hashable
    ) -> list[str | None]:
        found: list[str | None] = [None] * len(pairs)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wall_seconds):
                for place, (older, newer) in enumerate(pairs):
                    order = TypesetRequest("difference", older, "", self._cpu_seconds, newer)
                    # A turn for each, so that a send does not wait for all of them. A pair that
                    # kills the process has no difference; the process is restarted for the next.
                    with suppress(WorkerDiedError):
                        async with self._turns.turn(share):
                            found[place] = (await self._ask(order)).html
        return found

    async def close(self) -> None:
        """Terminate the process."""
        async with self._turns.turn(None):
            await self._worker.end()

    async def _set(self, jobs: Sequence[TypesetJob], turn: QueueTurn) -> None:
        for job in jobs:
            if job in self._known:
                continue
            try:
                order = TypesetRequest(job.kind, job.text, job.language, self._cpu_seconds)
                self._remember(job, delivered(await self._ask(order)))
            except WorkerDiedError:
                logger.warning("typesetting.process_died", kind=job.kind, language=job.language)
                self._remember(job, None)
                # The rest of such a message stays plain: each job may kill a process.
                return
            except TimeoutError:
                self._remember(job, None)
                raise
            await turn.give_way()

    async def _ask(self, order: TypesetRequest) -> TypesetOutput:
        answer = await self._worker.ask(msgspec.msgpack.encode(order))
        return msgspec.msgpack.decode(answer, type=TypesetOutput)

    def _remember(self, job: TypesetJob, typeset: Typeset | None) -> None:
        self._known[job] = typeset
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def delivered(delivery: TypesetOutput) -> Typeset | None:
    """Return the result in the form of a node."""
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
    """Yield a typesetter; its process ends with the block."""
    typesetter = ProcessTypesetter(wall_seconds=wall_seconds)
    try:
        yield typesetter
    finally:
        await typesetter.close()
