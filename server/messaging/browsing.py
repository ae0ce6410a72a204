"""Looking at what lies in a queue of RabbitMQ, and moving some of it."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, Self

from msgspec import Struct
from pika import spec

from server.messaging.confirms import Barrier, Message
from server.messaging.job_topology import Carried, Topology, read
from server.messaging.rabbitmq_jobs import Publisher

MAX_MESSAGES = 10_000
"""More than this of one queue is not looked at: it is all held in memory."""
MAX_BATCH = 30
"""Of each link. A broker that gets acknowledgements of more than 32 messages on one
may keep the others to itself, and forget them when the link closes: they would be there twice."""
MAX_OPEN_CONNECTIONS = 100
"""Links that are kept open for what stays; a broker has room for so many. The rest is not met."""


class BrowsedMessage(Struct, frozen=True):
    """A message that was taken, and is kept from others until the link closes."""

    tag: int
    job: Carried


class Stays(Struct, frozen=True):
    """It is left as it is: it goes back to its place when the link closes."""


class Goes(Struct, frozen=True):
    """Nothing becomes of it."""


STAYS, GOES = Stays(), Goes()
Fate = Message | Stays | Goes


class Browser:
    """Goes through queues message by message, over as many links as it takes."""

    def __init__(self, url: str, topology: Topology) -> None:
        self._url = url
        self._topology = topology

    async def go_through(
        self, queue: str, becomes: Callable[[BrowsedMessage], Fate], *, limit: int = MAX_MESSAGES
    ) -> list[BrowsedMessage]:
        """Let each message that is ready now become what that says; all of them, in order.

        What is published into the same queue again is not met a second time. Raises
        LinkLostError, BrokerUnavailableError.
        """
        limit = min(limit, await self._topology.ready(queue))
        found: list[BrowsedMessage] = []
        held = 0
        async with AsyncExitStack() as holding:
            while len(found) < limit and held < MAX_OPEN_CONNECTIONS:
                page = await _Page.open(self._url, queue)
                piece = await page.turn(becomes, min(MAX_BATCH, limit - len(found)))
                if page.holds_any:
                    # It goes back to its place when its link closes: not before the end.
                    holding.push_async_callback(page.close)
                    held += 1
                else:
                    await page.close()
                if not piece:
                    break
                found += piece
        return found


class _Page:
    """A few messages, on a link of their own."""

    def __init__(self, publisher: Publisher, queue: str) -> None:
        self._publisher = publisher
        self._barrier = Barrier(publisher.link)
        self._queue = queue
        self._answer: asyncio.Future[BrowsedMessage | None] | None = None
        self.holds_any = False
        publisher.link.channel.add_callback(self._empty, [spec.Basic.GetEmpty], one_shot=False)

    @classmethod
    async def open(cls, url: str, queue: str) -> Self:
        return cls(await Publisher.open(url, "look at jobs"), queue)

    async def close(self) -> None:
        await self._publisher.link.close()

    async def turn(
        self, becomes: Callable[[BrowsedMessage], Fate], count: int
    ) -> list[BrowsedMessage]:
        """Take so many, publish what they become, and be done with them."""
        publisher = self._publisher
        try:
            taken = await self._take(count)
            fates = [becomes(each) for each in taken]
            await publisher.confirms.publish([each for each in fates if isinstance(each, Message)])
            for found, fate in zip(taken, fates, strict=True):
                if isinstance(fate, Stays):
                    self.holds_any = True
                else:
                    publisher.link.channel.basic_ack(found.tag)
            await self._barrier.passed()
        except BaseException:
            await self.close()
            raise
        return taken

    async def _take(self, count: int) -> list[BrowsedMessage]:
        taken: list[BrowsedMessage] = []
        while len(taken) < count and (one := await self._get()) is not None:
            taken.append(one)
        return taken

    async def _get(self) -> BrowsedMessage | None:
        answer: asyncio.Future[BrowsedMessage | None] = asyncio.get_running_loop().create_future()
        self._answer = answer

        def got(_channel: Any, method: Any, properties: Any, body: bytes) -> None:
            answer.set_result(
                BrowsedMessage(method.delivery_tag, read(properties, self._queue, body))
            )

        self._publisher.link.channel.basic_get(self._queue, got)
        found: BrowsedMessage | None = await self._publisher.link.answered(answer)
        return found

    def _empty(self, _frame: object) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)
