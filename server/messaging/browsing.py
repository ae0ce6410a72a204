"""Looking at what lies in a queue of RabbitMQ, and moving some of it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from pika import spec

from server.messaging.confirms import Message
from server.messaging.job_topology import Carried, read
from server.messaging.rabbitmq_jobs import Publisher

MOST = 10_000
"""More than this of one queue is not looked at: it is all held in memory."""


class Found(Struct, frozen=True):
    """A message that was taken, and is kept from others until the link closes."""

    tag: int
    job: Carried


class Browser:
    """Takes messages out one by one. What is not moved goes back when the link closes."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._answer: asyncio.Future[Found | None] | None = None
        publisher.link.channel.add_callback(self._empty, [spec.Basic.GetEmpty], one_shot=False)

    async def take(self, queue: str, *, limit: int = MOST) -> list[Found]:
        """What is ready in the queue, the first of it first. Raises LinkLostError."""
        found: list[Found] = []
        while len(found) < limit:
            one = await self._get(queue)
            if one is None:
                break
            found.append(one)
        return found

    async def move(
        self, found: Sequence[Found], message: Callable[[Found], Message] | None
    ) -> None:
        """Publish these as what they are to become (None: as nothing), and take them out."""
        publisher = self._publisher
        if message is not None:
            await publisher.confirms.publish([message(each) for each in found])
        for each in found:
            publisher.link.channel.basic_ack(each.tag)
        await publisher.barrier.passed()

    async def _get(self, queue: str) -> Found | None:
        answer: asyncio.Future[Found | None] = asyncio.get_running_loop().create_future()
        self._answer = answer

        def got(_channel: Any, method: Any, properties: Any, body: bytes) -> None:
            answer.set_result(Found(method.delivery_tag, read(properties, queue, body)))

        self._publisher.link.channel.basic_get(queue, got)
        found: Found | None = await self._publisher.link.answered(answer)
        return found

    def _empty(self, _frame: object) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)
