"""Jobs of the clustered mode: quorum queues of RabbitMQ."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Self

import structlog
from msgspec.structs import replace
from pika import BasicProperties, spec
from pika.channel import Channel
from pika.exceptions import AMQPError

from server.messaging.amqp import AmqpChannel, LinkLostError, SharedConnection
from server.messaging.background import running, to_the_end
from server.messaging.backoff import Backoff
from server.messaging.confirms import Barrier, Confirms, Message
from server.messaging.job_broker import BrokerUnavailableError, OutgoingJob, check_delays
from server.messaging.job_topology import Carried, Lanes, Topology, carried, lanes_of, read

logger = structlog.get_logger(__name__)

BUSY_SHARE = 4  # of what a consumer may hold, a busy lane gets this part


class RabbitJobBroker:
    """A JobBroker on quorum queues, with a connection to publish and one for all consumers.

    What becomes of a job is published on the former, too: under an alarm of its memory or disk a
    broker reads nothing more from connections that publish, not even acknowledgements.

    A queue has several lanes (see Lanes), a delay is a stay in another queue, and an attempt is
    counted in the message. Use `open_rabbitmq_jobs`.
    """

    def __init__(self, url: str, now: Callable[[], float]) -> None:
        self._url = url
        self.now = now
        self._lanes = Lanes(asyncio.get_running_loop().time)
        self._publisher: Publisher | None = None
        self._opening = asyncio.Lock()
        self._consumers = SharedConnection(url, "consume jobs")

    async def publish(self, *outgoing: OutgoingJob) -> None:
        check_delays(outgoing)
        now = self.now()
        jobs = [carried(job, self._lanes.choose(job.queue, job.realm_id), now) for job in outgoing]
        delays = [job.after_seconds for job in outgoing]
        messages = [job.delayed(delay) for job, delay in zip(jobs, delays, strict=True)]
        await self.send(messages, queues=[job.queue for job in outgoing], delays=delays)

    async def send(
        self, messages: Sequence[Message], *, queues: Iterable[str], delays: Iterable[float] = ()
    ) -> None:
        """Publish messages to these queues, or to those for these delays.

        Raises BrokerUnavailableError: perhaps none, some or all are there.
        """
        try:
            publisher = await self._connected()
            await publisher.topology.ensure_queues(queues)
            await publisher.topology.ensure_delays(delays)
            await publisher.confirms.publish(messages)
        except LinkLostError as lost:
            raise BrokerUnavailableError(str(lost)) from lost
        except BrokerUnavailableError:
            await self._disconnect()  # whatever it was, a new connection finds out
            raise

    @asynccontextmanager
    async def consume(
        self, queue: str, *, prefetch: int
    ) -> AsyncIterator[AsyncIterator["RabbitDelivery"]]:
        consumer = _RabbitConsumer(self, queue, prefetch)
        async with running(consumer.run()), aclosing(consumer.deliveries()) as handed:
            try:
                yield handed
            finally:
                await to_the_end(consumer.give_back())

    async def close(self) -> None:
        """Take leave of the broker. Publishing and consuming again connects again."""
        await self._disconnect()
        await self._consumers.close()

    async def open_consumer_channel(self) -> AmqpChannel:
        """Open a channel on the connection of the consumers. Raises LinkLostError."""
        return await self._consumers.open_channel()

    async def _disconnect(self) -> None:
        """Close the connection to publish."""
        publisher, self._publisher = self._publisher, None
        if publisher is not None:
            await publisher.link.close()

    async def _connected(self) -> "Publisher":
        async with self._opening:
            if self._publisher is None or self._publisher.link.lost.done():
                self._publisher = await Publisher.open(self._url, "publish jobs")
            return self._publisher


class Publisher:
    """A link on which jobs are published, and what is known to be declared there."""

    def __init__(self, link: AmqpChannel, confirms: Confirms) -> None:
        self.link = link
        self.confirms = confirms
        self.topology = Topology(link)

    @classmethod
    async def open(cls, url: str, purpose: str) -> Self:
        """Raises LinkLostError."""
        link = await AmqpChannel.open(url, purpose)
        try:
            return cls(link, await Confirms.on(link))
        except BaseException:
            await link.close()
            raise


class _ConsumerSession:
    """One channel of a consumer: what was handed out on it, and the answers to that."""

    def __init__(self, broker: RabbitJobBroker, link: AmqpChannel, queue: str) -> None:
        self._broker = broker
        self.link = link
        self._barrier = Barrier(link)
        self.queue = queue
        self.now = broker.now
        self.unanswered: dict[int, RabbitDelivery] = {}
        """Deliveries that are not acknowledged or rejected yet, by tag, in order."""
        self._consumers: list[str] = []
        self._is_over = False

    async def start(self, prefetch: int, received: "Callable[[RabbitDelivery], None]") -> None:
        """Have jobs of all lanes sent. Raises LinkLostError."""

        def on_message(
            _channel: Channel, method: spec.Basic.Deliver, properties: BasicProperties, body: bytes
        ) -> None:
            job = read(properties, method.routing_key, body)
            delivery = RabbitDelivery(self, method.delivery_tag, job)
            self.unanswered[method.delivery_tag] = delivery
            received(delivery)

        await Topology(self.link).ensure_queues([self.queue])
        if self._is_over:
            return
        channel = self.link.channel
        asked = []
        for number, lane in enumerate(lanes_of(self.queue)):
            share = prefetch if number == 0 else max(1, prefetch // BUSY_SHARE)
            asked.append(self.link.request(channel.basic_qos, prefetch_count=share))
            asked.append(
                self.link.request(
                    channel.basic_consume,
                    queue=lane,
                    consumer_tag=lane,
                    on_message_callback=on_message,
                )
            )
            self._consumers.append(lane)
        for answer in asked:
            await self.link.answered(answer)

    async def stop(self) -> None:
        """Have no more jobs sent; what was on its way has come. Raises LinkLostError."""
        self._is_over = True
        for answer in [self.link.cancel(consumer) for consumer in self._consumers]:
            await self.link.answered(answer)

    async def publish(self, message: Message, *, after_seconds: float = 0.0) -> None:
        """Publish what becomes of a job. Raises BrokerUnavailableError.

        While the link holds it is tried for as long as it takes: a job that was refused instead
        would come back at once, over and over, and die of that.
        """
        backoff = Backoff()
        while True:
            try:
                await self._broker.send([message], queues=[self.queue], delays=[after_seconds])
            except BrokerUnavailableError as refused:
                if self.link.lost.done():
                    raise
                backoff.log_once(
                    logger, "job_broker.settle_failed", queue=self.queue, reason=str(refused)
                )
            else:
                return
            await backoff.pause()

    async def settle(self, tag: int) -> None:
        """It is answered, and the broker knows. Raises LinkLostError."""
        if tag not in self.unanswered:
            raise LinkLostError("the job was given back")
        self._acknowledge(tag)
        del self.unanswered[tag]
        await self._barrier.passed()

    async def give_back(self) -> None:
        """Let others have what is unanswered, as if it had never been handed out.

        A refused job would come back with one more attempt, so it is put in anew.
        """
        await self.stop()
        given, self.unanswered = self.unanswered, {}
        if not given:
            return
        again = [each.untouched.message() for each in given.values()]
        await self._broker.send(again, queues=[self.queue])
        # One by one, many answers at once get lost when the link closes: PIECE.
        self._acknowledge(max(given), and_all_before=True)
        await self._barrier.passed()

    def _acknowledge(self, tag: int, *, and_all_before: bool = False) -> None:
        if self.link.lost.done():
            raise LinkLostError("the link on which the job was handed out has ended")
        try:
            self.link.channel.basic_ack(tag, multiple=and_all_before)
        except AMQPError as error:
            raise LinkLostError(repr(error)) from error


class RabbitDelivery:
    """A Delivery of one message, to be answered on the connection that it came from."""

    def __init__(self, session: _ConsumerSession, tag: int, job: Carried) -> None:
        self._session = session
        self.tag = tag
        self.untouched = job
        """The job as it was before this hand-out."""
        self.body = job.body
        self.key = job.key
        self.realm_id = job.realm_id
        self.enqueued_at = job.enqueued_at
        self.traceparents = job.traceparents
        self.attempt = job.attempts + 1
        self.answered: Callable[[], None] = _nothing
        """Called when it is out of its consumer's hands, one way or another."""

    async def ack(self) -> None:
        async with self._answering():
            pass

    async def retry(self, *, after_seconds: float) -> None:
        async with self._answering():
            again = self._tried.delayed(after_seconds)
            await self._session.publish(again, after_seconds=after_seconds)

    async def dead_letter(self, reason: str, *, trace: str = "") -> None:
        session = self._session
        async with self._answering():
            dead = self._tried.dead(session.queue, reason=reason, trace=trace, at=session.now())
            await session.publish(dead)

    @property
    def _tried(self) -> Carried:
        return replace(self.untouched, attempts=self.attempt)

    @asynccontextmanager
    async def _answering(self) -> AsyncIterator[None]:
        try:
            yield
            await self._session.settle(self.tag)
        except LinkLostError as lost:
            raise BrokerUnavailableError(str(lost)) from lost
        finally:
            self.answered()


class _RabbitConsumer:
    """One `consume`: over as many channels as it takes."""

    def __init__(self, broker: RabbitJobBroker, queue: str, prefetch: int) -> None:
        self._broker = broker
        self._queue = queue
        self._prefetch = prefetch
        self._session: _ConsumerSession | None = None
        self._in_hand = 0
        self._ready: dict[str, deque[RabbitDelivery]] = {}
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Stay connected until cancelled."""
        backoff = Backoff()
        while True:
            try:
                async with self._connected() as link:
                    backoff.succeeded()
                    await link.until_lost()
            except LinkLostError as lost:
                backoff.log_once(
                    logger, "job_broker.fetch_failed", queue=self._queue, reason=str(lost)
                )
            await backoff.pause()

    async def deliveries(self) -> AsyncGenerator[RabbitDelivery, None]:
        while True:
            self._changed.clear()
            delivery = self._next()
            if delivery is None:
                await self._changed.wait()
                continue
            self._in_hand += 1
            delivery.answered = self._answered
            yield delivery

    async def give_back(self) -> None:
        """Release unfinished jobs, so that other consumers get them at once."""
        if self._session is not None:
            with suppress(LinkLostError, BrokerUnavailableError):  # the broker does it by itself
                await self._session.give_back()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[AmqpChannel]:
        link = await self._broker.open_consumer_channel()
        try:
            self._ready = {lane: deque() for lane in lanes_of(self._queue)}
            self._session = _ConsumerSession(self._broker, link, self._queue)
            await self._session.start(self._prefetch, self._received)
            yield link
        finally:
            self._session = None
            self._ready = {}  # the broker delivers them again
            await link.close()

    def _received(self, delivery: RabbitDelivery) -> None:
        if self._session is not None:  # else the broker delivers it again
            self._ready.setdefault(delivery.untouched.lane, deque()).append(delivery)
            self._changed.set()

    def _next(self) -> RabbitDelivery | None:
        """One more to work on, if there may be one. Lanes take turns."""
        if self._in_hand >= self._prefetch:
            return None
        for lane, waiting in self._ready.items():
            if waiting:
                self._ready[lane] = self._ready.pop(lane)  # the last one now
                return waiting.popleft()
        return None

    def _answered(self) -> None:
        self._in_hand -= 1
        self._changed.set()


def _nothing() -> None:
    """Ignore the answer."""


@asynccontextmanager
async def open_rabbitmq_jobs(
    url: str, *, now: Callable[[], float]
) -> AsyncIterator[RabbitJobBroker]:
    """A broker of jobs at this address (amqp://...), there or not; see JobBroker."""
    broker = RabbitJobBroker(url, now)
    try:
        yield broker
    finally:
        await broker.close()
