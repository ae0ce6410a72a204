"""The queues of jobs and of dead letters on RabbitMQ, and what a job looks like in them.

A job becomes a dead letter when its processor gives up (`queue_processors/processor.py`); on
Postgres dead letters are rows (`storage/jobs.py`).
"""

import asyncio
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pika import BasicProperties

from server.messaging.amqp import AmqpChannel
from server.messaging.confirms import Message
from server.messaging.job_broker import OutgoingJob

PREFIX = "jobs."
BUSY_LANES = 4
DELIVERY_LIMIT = 30
"""Processors give up long before; this is for jobs that kill their processor."""

DELAYS_SECONDS = (
    *(0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, 900),
    *(1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400),
)
"""A delay is rounded up to one of these. Each has one queue, which all kinds of jobs share: in
it all wait equally long, so none waits behind another."""

MAX_REASON, MAX_TRACE = 2_000, 20_000
"""Headers have to fit into one frame of 128 KiB, whatever the characters."""

LARGEST = 1 << 47
"""Milliseconds up to there are a date."""

ALLOWANCE = 20
"""So many jobs of a realm at once wait in the lane that all realms share."""
ALLOWED_A_SECOND = 2.0
REMEMBERED = 10_000

_DURABLE: dict[str, Any] = {
    "x-queue-type": "quorum",
    "x-overflow": "reject-publish",  # what the next one needs
    "x-dead-letter-strategy": "at-least-once",
    "x-dead-letter-exchange": "",  # to the queue that is named by the routing key
}


def lanes_of(queue: str) -> tuple[str, ...]:
    """The quorum queues in which the queue's jobs wait; the first is the one for most."""
    return (PREFIX + queue, *(f"{PREFIX}{queue}.busy.{n}" for n in range(BUSY_LANES)))


def dead_letter_queue_of(queue: str) -> str:
    """The queue that keeps what has died in this one."""
    return f"{PREFIX}{queue}.dead"


def delay_queue(after_seconds: float) -> tuple[str, int]:
    """The queue, and exchange, in which a job waits at least so long, and its milliseconds."""
    seconds = next(delay for delay in DELAYS_SECONDS if delay >= after_seconds)
    milliseconds = int(seconds * 1000)
    return f"{PREFIX}delay.{milliseconds}", milliseconds


class Lanes:
    """Chooses a job's lane, so that a burst of one realm does not delay the jobs of others.

    Each realm has an allowance in the shared lane, which refills with time. Jobs beyond it go to a
    lane of their own kind, and consumers take from all lanes in turn.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._allowances: dict[tuple[str, int], tuple[float, float]] = {}

    def choose(self, queue: str, realm_id: int) -> str:
        """The lane for one more job of this realm."""
        now = self._monotonic()
        left, at = self._allowances.get((queue, realm_id), (ALLOWANCE, now))
        left = min(ALLOWANCE, left + (now - at) * ALLOWED_A_SECOND)
        lanes = lanes_of(queue)
        lane = lanes[0] if left >= 1 else lanes[1 + realm_id % BUSY_LANES]
        self._allowances[(queue, realm_id)] = (max(0.0, left - 1), now)
        if len(self._allowances) > REMEMBERED:
            self._forget(now)
        return lane

    def _forget(self, now: float) -> None:
        """Keep only those that have used up something lately."""
        long_ago = now - ALLOWANCE / ALLOWED_A_SECOND
        self._allowances = {k: v for k, v in self._allowances.items() if v[1] > long_ago}


class Carried(Struct, frozen=True, kw_only=True):
    """A job as a message carries it."""

    id: str
    lane: str
    key: str
    realm_id: int
    body: bytes
    enqueued_at: float
    """Seconds since 1970."""
    traceparents: str = ""
    attempts: int = 0
    """How often it has been handed out and answered with "again"."""
    reason: str = ""
    trace: str = ""
    died_at: float = 0.0

    def message(self, *, exchange: str = "", routing_key: str | None = None) -> Message:
        headers = {
            "key": self.key,
            "lane": self.lane,
            "realm_id": self.realm_id,
            "attempts": self.attempts,
            "enqueued_ms": round(self.enqueued_at * 1000),
        }
        if self.traceparents:
            headers["traceparents"] = self.traceparents
        if self.died_at:
            headers |= {"reason": self.reason[:MAX_REASON], "trace": self.trace[-MAX_TRACE:]}
            headers["died_ms"] = round(self.died_at * 1000)
        properties = BasicProperties(message_id=self.id, delivery_mode=2, headers=headers)
        return Message(exchange, routing_key or self.lane, self.body, properties)

    def delayed(self, after_seconds: float) -> Message:
        """The message that waits first."""
        if after_seconds <= 0:
            return self.message()
        return self.message(exchange=delay_queue(after_seconds)[0])

    def dead(self, queue: str, *, reason: str, trace: str, at: float) -> Message:
        """The message to the graveyard."""
        gone = replace(self, reason=reason, trace=trace, died_at=at)
        return gone.message(routing_key=dead_letter_queue_of(queue))


def carried(job: OutgoingJob, lane: str, now: float) -> Carried:
    """A new message for the job."""
    return Carried(
        id=uuid.uuid4().hex,
        lane=lane,
        key=job.key,
        realm_id=job.realm_id,
        body=job.body,
        enqueued_at=job.asked_at or now,
        traceparents=job.traceparents,
    )


def read(properties: BasicProperties, routing_key: str, body: bytes) -> Carried:
    """The job in a message; `attempts` counts what the broker has handed out in vain, too.

    Others may have published it: it gets an id where it has none, and what its headers should not
    hold is left out.
    """
    headers: dict[str, Any] = properties.headers or {}
    deaths = headers.get("x-death") or [{}]
    is_killer = deaths[0].get("reason") == "delivery_limit"
    reason = "handed out too often without an answer" if is_killer else ""
    died_at = deaths[0].get("time")
    died_ms = _number(headers, "died_ms")
    in_vain = DELIVERY_LIMIT + 1 if is_killer else _number(headers, "x-delivery-count")
    if died_ms:
        in_vain = 0  # looked at by an operator, and not handed out
    lane = str(headers.get("lane", ""))
    return Carried(
        id=properties.message_id or uuid.uuid4().hex,
        lane=lane if lane.startswith(PREFIX) else routing_key,
        key=str(headers.get("key", "")),
        realm_id=_number(headers, "realm_id"),
        body=body,
        enqueued_at=_number(headers, "enqueued_ms") / 1000,
        traceparents=str(headers.get("traceparents", "")),
        attempts=_number(headers, "attempts") + in_vain,
        reason=str(headers.get("reason", reason)),
        trace=str(headers.get("trace", "")),
        died_at=died_ms / 1000 or (died_at.timestamp() if is_killer and died_at else 0.0),
    )


def _number(headers: dict[str, Any], name: str) -> int:
    value = headers.get(name)
    return value if isinstance(value, int) and 0 <= value < LARGEST else 0


class Topology:
    """Declares on one link what is needed there, once."""

    def __init__(self, link: AmqpChannel) -> None:
        self._link = link
        self._declared: set[str] = set()

    async def ensure_queues(self, queues: Iterable[str]) -> None:
        """The lanes and the graveyards of these queues are there. Raises LinkLostError."""
        new = set(queues) - self._declared
        wanted = [each for queue in new for each in (*_lanes(queue), _dead_letter_queue(queue))]
        for answer in [self._ask(name, arguments) for name, arguments in wanted]:
            await self._link.answered(answer)
        self._declared |= new

    async def ensure_delays(self, delays: Iterable[float]) -> None:
        """The queues for these delays are there. Raises LinkLostError."""
        channel = self._link.channel
        for name, milliseconds in {delay_queue(delay) for delay in delays if delay > 0}:
            if name in self._declared:
                continue
            # Where a job goes when its time is over is its routing key still: its lane.
            waiting = self._ask(name, _delay(milliseconds))
            entry = self._link.request(
                channel.exchange_declare, exchange=name, exchange_type="fanout", durable=True
            )
            bound = self._link.request(channel.queue_bind, queue=name, exchange=name)
            for answer in (waiting, entry, bound):
                await self._link.answered(answer)
            self._declared.add(name)

    def forget(self) -> None:
        """Declare everything again."""
        self._declared.clear()

    async def counts(self, queue: str) -> tuple[int, int]:
        """How many jobs are ready in the queue's lanes, and how many lie in its graveyard."""
        lanes = [await self._count(name, arguments) for name, arguments in _lanes(queue)]
        return sum(lanes), await self._count(*_dead_letter_queue(queue))

    async def delayed(self) -> dict[str, int]:
        """How many jobs of all queues wait for their time, by the queue they wait in."""
        return {
            name: await self._count(name, _delay(milliseconds))
            for name, milliseconds in map(delay_queue, DELAYS_SECONDS)
        }

    async def ready(self, name: str) -> int:
        """How many messages are ready in a queue of the broker that is there."""
        asked = self._link.request(self._link.channel.queue_declare, queue=name, passive=True)
        return int((await self._link.answered(asked)).method.message_count)

    async def _count(self, name: str, arguments: dict[str, Any]) -> int:
        frame = await self._link.answered(self._ask(name, arguments))
        return int(frame.method.message_count)

    def _ask(self, name: str, arguments: dict[str, Any]) -> asyncio.Future[Any]:
        channel = self._link.channel
        return self._link.request(
            channel.queue_declare, queue=name, durable=True, arguments=arguments
        )


def _lanes(queue: str) -> Iterator[tuple[str, dict[str, Any]]]:
    dead_lettering = {"x-dead-letter-routing-key": dead_letter_queue_of(queue)}
    for lane in lanes_of(queue):
        yield lane, {**_DURABLE, **dead_lettering, "x-delivery-limit": DELIVERY_LIMIT}


def _dead_letter_queue(queue: str) -> tuple[str, dict[str, Any]]:
    return dead_letter_queue_of(queue), {"x-queue-type": "quorum"}


def _delay(milliseconds: int) -> dict[str, Any]:
    return {**_DURABLE, "x-message-ttl": milliseconds}
