"""Publishing on a link so that nothing counts as published before the broker has it."""

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from msgspec import Struct
from pika import BasicProperties, spec
from pika.exceptions import AMQPError

from server.messaging.amqp import AmqpChannel
from server.messaging.job_broker import BrokerUnavailableError

CONFIRM_TIMEOUT_SECONDS = 30.0
"""A broker that takes longer is as good as away: it is out of disk, or of its majority."""

TAKEN = ""


class Message(Struct, frozen=True):
    """What is published, and to where."""

    exchange: str
    routing_key: str
    body: bytes
    properties: BasicProperties


class Confirms:
    """The confirmations of one link. Use `Confirms.on`."""

    def __init__(self, link: AmqpChannel) -> None:
        self._link = link
        self._sent = 0
        self._waiting: dict[int, asyncio.Future[str]] = {}
        self._homeless: set[str] = set()

    @classmethod
    async def on(cls, link: AmqpChannel) -> Self:
        """Ask the broker to confirm what is published on this link. Raises LinkLostError."""
        confirms = cls(link)
        link.channel.add_on_return_callback(confirms._returned)
        link.lost.add_done_callback(confirms._lost)
        asked = link.request(
            link.channel.confirm_delivery, ack_nack_callback=confirms._answered_by_broker
        )
        await link.answered(asked)
        return confirms

    async def publish(self, messages: Sequence[Message]) -> None:
        """Publish; all are durable in their queues when it returns.

        BrokerUnavailableError: perhaps none, some or all are there.
        """
        if self._link.blocked:
            raise BrokerUnavailableError("the broker holds its publishers back")
        futures = [self._send(message) for message in messages]
        if not futures:
            return
        _, unanswered = await asyncio.wait(futures, timeout=CONFIRM_TIMEOUT_SECONDS)
        if unanswered:
            raise BrokerUnavailableError("the broker has not confirmed in time")
        for reason in {future.result() for future in futures} - {TAKEN}:
            raise BrokerUnavailableError(reason)
        returned = {str(m.properties.message_id) for m in messages} & self._homeless
        self._homeless -= returned
        if returned:
            raise BrokerUnavailableError("a queue has gone away")

    def _send(self, message: Message) -> asyncio.Future[str]:
        try:
            self._link.channel.basic_publish(
                message.exchange,
                message.routing_key,
                message.body,
                message.properties,
                mandatory=True,
            )
        except AMQPError as error:
            raise BrokerUnavailableError(repr(error)) from error
        self._sent += 1
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[self._sent] = future
        return future

    def _answered_by_broker(self, frame: Any) -> None:
        method = frame.method
        outcome = TAKEN if isinstance(method, spec.Basic.Ack) else "the broker refused a job"
        last = method.delivery_tag
        tags = [tag for tag in self._waiting if tag <= last] if method.multiple else [last]
        for tag in tags:
            _resolve(self._waiting.pop(tag, None), outcome)

    def _returned(
        self, _channel: Any, _method: Any, properties: BasicProperties, _body: bytes
    ) -> None:
        """The broker found no queue for it; its confirmation follows."""
        self._homeless.add(str(properties.message_id))

    def _lost(self, lost: asyncio.Future[None]) -> None:
        reason = "the link is closed" if lost.cancelled() else str(lost.exception())
        for future in self._waiting.values():
            _resolve(future, reason)
        self._waiting.clear()


class Barrier:
    """Waits until the broker has seen all that was said on a link; many waits share one."""

    def __init__(self, link: AmqpChannel) -> None:
        self._link = link
        self._publish_lock = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None

    async def passed(self) -> None:
        """Raises LinkLostError if it is not known to have arrived."""
        if self._next is None:
            self._next = asyncio.create_task(self._ask())
        await asyncio.shield(self._next)

    async def _ask(self) -> None:
        async with self._publish_lock:
            self._next = None  # later callers need the next response
            # Any question that changes nothing will do, for the broker works in order.
            answer = self._link.request(self._link.channel.flow, active=True)
            await self._link.answered(answer)


def _resolve(future: asyncio.Future[str] | None, outcome: str) -> None:
    if future is not None and not future.done():
        future.set_result(outcome)
