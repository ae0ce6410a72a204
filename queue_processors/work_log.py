"""Statistics of the deliveries of this process, by queue, for operators."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from server.messaging.job_broker import Delivery, JobBroker, OutgoingJob
from server.telemetry.metrics import Metrics

OUTCOMES: Final = ("done", "retried", "dead", "lost")
"""Outcomes of deliveries. lost: the broker missed the response, and delivers the job again."""


@dataclass(slots=True)
class _Queue:
    in_hand: dict[int, float] = field(default_factory=dict)
    newest_at: float = 0.0
    answers: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))


class WorkLog:
    """A JobBroker that counts deliveries and passes all calls on to another broker."""

    def __init__(self, broker: JobBroker, metrics: Metrics, now: Callable[[], float]) -> None:
        self._broker = broker
        self._metrics = metrics
        self._now = now
        self._queues: dict[str, _Queue] = {}
        self._number = 0

    async def publish(self, *jobs: OutgoingJob) -> None:
        await self._broker.publish(*jobs)

    @asynccontextmanager
    async def consume(
        self, queue: str, *, prefetch: int
    ) -> AsyncIterator[AsyncIterator["LoggedDelivery"]]:
        own = self._queues[queue] = _Queue()
        try:
            async with (
                self._broker.consume(queue, prefetch=prefetch) as deliveries,
                aclosing(self._logged(queue, deliveries)) as logged,
            ):
                yield logged
        finally:
            own.in_hand.clear()

    def report(self) -> dict[str, dict[str, Any]]:
        """Return the statistics by queue for the heartbeat; see storage/workers.py."""
        return {
            name: {
                "in_hand": len(queue.in_hand),
                "oldest_at": min(queue.in_hand.values(), default=None),
                "newest_at": queue.newest_at or None,
                **queue.answers,
            }
            for name, queue in self._queues.items()
        }

    def answered(self, delivery: "LoggedDelivery", answer: str) -> None:
        """Record the outcome of a delivery."""
        queue = self._queues[delivery.queue]
        queue.in_hand.pop(delivery.number, None)
        queue.answers[answer] += 1
        self._metrics.answered(delivery.queue, answer)
        if answer == "done":
            self._metrics.done(delivery.queue, max(0.0, self._now() - delivery.enqueued_at))

    async def _logged(
        self, name: str, deliveries: AsyncIterator[Delivery]
    ) -> AsyncGenerator["LoggedDelivery", None]:
        queue = self._queues[name]
        async for delivery in deliveries:
            self._number += 1
            queue.in_hand[self._number] = delivery.enqueued_at
            queue.newest_at = max(queue.newest_at, delivery.enqueued_at)
            self._metrics.handed_out(name)
            yield LoggedDelivery(self, delivery, name, self._number)


class LoggedDelivery:
    """A Delivery that records its outcome in the log."""

    def __init__(self, log: WorkLog, delivery: Delivery, queue: str, number: int) -> None:
        self._log = log
        self._delivery = delivery
        self.queue = queue
        self.number = number
        self.body = delivery.body
        self.key = delivery.key
        self.realm_id = delivery.realm_id
        self.enqueued_at = delivery.enqueued_at
        self.traceparents = delivery.traceparents
        self.attempt = delivery.attempt

    async def ack(self) -> None:
        async with self._answering("done"):
            await self._delivery.ack()

    async def retry(self, *, after_seconds: float) -> None:
        async with self._answering("retried"):
            await self._delivery.retry(after_seconds=after_seconds)

    async def dead_letter(self, reason: str, *, trace: str = "") -> None:
        async with self._answering("dead"):
            await self._delivery.dead_letter(reason, trace=trace)

    @asynccontextmanager
    async def _answering(self, answer: str) -> AsyncIterator[None]:
        try:
            yield
        except BaseException:
            self._log.answered(self, "lost")
            raise
        self._log.answered(self, answer)
