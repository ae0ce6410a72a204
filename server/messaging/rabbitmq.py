"""The event bus of the clustered mode: a topic exchange of RabbitMQ carries the entries."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec
import structlog
from pika import BasicProperties, spec
from pika.channel import Channel
from pika.exceptions import AMQPError

from server.messaging.amqp import AmqpChannel, LinkLostError
from server.messaging.background import running
from server.messaging.backoff import Backoff
from server.messaging.event_bus import BusListener, Hint, check_ephemeral
from server.messaging.inbox import Inbox
from storage.ids import RealmId

logger = structlog.get_logger(__name__)

EXCHANGE = "events"
ROUTING_PREFIX = "realm."
HINT = "hint"
EPHEMERAL = "ephemeral"
FOLLOW_TIMEOUT_SECONDS = 1.0
MAX_CARGO_BYTES = 1 << 20  # entries beyond this are quicker read from the log
QUEUE_LIMITS = {
    # What a stopped process can cost the broker. The oldest go first: a reader that comes back
    # sees the gap and reads the log.
    "x-max-length": 10_000,
    "x-max-length-bytes": 64 << 20,
    "x-overflow": "drop-head",
}

_hint_encoder = msgspec.msgpack.Encoder()
_hint_decoder = msgspec.msgpack.Decoder(Hint)


class RabbitEventBus:
    """An EventBus on a topic exchange, with one exclusive queue for this process.

    Messages are transient and unconfirmed. The queue lives as long as its connection; a new
    connection makes a new queue and binds it to all followed realms before it says `on_gap`.
    Use `open_rabbitmq_bus`.
    """

    carries_entries = True

    def __init__(self, url: str, listener: BusListener) -> None:
        self._url = url
        self._inbox = Inbox(listener)
        self._me = secrets.token_hex(8)
        self._hint_properties = BasicProperties(app_id=self._me, type=HINT)
        self._ephemeral_properties = BasicProperties(app_id=self._me, type=EPHEMERAL)
        self._link: AmqpChannel | None = None
        self.queue = ""
        """The queue of this process, on its present connection."""
        self._tried = asyncio.Event()
        self.dropped = 0
        """How many publications found the broker away or holding back."""

    @property
    def is_connected(self) -> bool:
        return self._link is not None and not self._link.lost.done()

    def publish(self, hint: Hint) -> None:
        if sum(map(len, hint.entries)) > MAX_CARGO_BYTES:
            hint = Hint(hint.realm_id, hint.epoch, hint.first, hint.last)
        self._publish(self._hint_properties, hint.realm_id, _hint_encoder.encode(hint))

    def publish_ephemeral(self, realm_id: RealmId, body: bytes) -> None:
        check_ephemeral(body)
        self._publish(self._ephemeral_properties, realm_id, body)

    async def follow(self, realm_id: RealmId) -> None:
        self._inbox.followed.add(realm_id)
        if self._link:
            await self._bind_now(self._link, realm_id)

    def unfollow(self, realm_id: RealmId) -> None:
        self._inbox.followed.discard(realm_id)
        if self._link:
            with suppress(LinkLostError):  # then it is not bound again
                _ = self._link.request(self._link.channel.queue_unbind, **self._binding(realm_id))

    async def tried(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed."""
        await self._tried.wait()

    async def run(self) -> None:
        """Stay connected until cancelled, over as many connections as it takes."""
        backoff = Backoff()
        missed = False
        while True:
            try:
                async with self._connected() as link:
                    backoff.succeeded()
                    self._tried.set()
                    if missed:
                        self._inbox.gap()
                    await link.until_lost()
            except LinkLostError as lost:
                backoff.log_once(logger, "event_bus.unavailable", reason=str(lost))
            missed = True
            self._tried.set()
            await backoff.pause()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[AmqpChannel]:
        link = await AmqpChannel.open(self._url, "events")
        try:
            await self._set_up(link)
            yield link
        finally:
            self._link = None
            await link.close()

    async def _set_up(self, link: AmqpChannel) -> None:
        """Declare what this process needs, bind all follows, and start to receive.

        The broker works in order: its one answer, the last, stands for all the requests before.
        """
        channel = link.channel
        self.queue = f"events.{self._me}.{secrets.token_hex(4)}"
        try:
            channel.exchange_declare(EXCHANGE, exchange_type="topic", durable=True)
            channel.queue_declare(
                self.queue, exclusive=True, auto_delete=True, arguments=QUEUE_LIMITS
            )
            self._link = link  # from here on a follow binds for itself
            for realm_id in self._inbox.followed:
                channel.queue_bind(**self._binding(realm_id))
        except AMQPError as error:
            raise LinkLostError(repr(error)) from error
        consuming = link.request(
            channel.basic_consume,
            queue=self.queue,
            on_message_callback=self._receive,
            auto_ack=True,
            exclusive=True,
        )
        await link.answered(consuming)

    async def _bind_now(self, link: AmqpChannel, realm_id: RealmId) -> None:
        """Bind, and wait for it as long as a broker in good health could take."""
        with suppress(LinkLostError):  # then it is bound with all others, on the next connection
            bound = link.request(link.channel.queue_bind, **self._binding(realm_id))
            try:
                async with asyncio.timeout(FOLLOW_TIMEOUT_SECONDS):
                    await link.answered(bound)
            except TimeoutError:
                bound.add_done_callback(lambda _: self._inbox.gap())

    def _binding(self, realm_id: RealmId) -> dict[str, str]:
        return {
            "queue": self.queue,
            "exchange": EXCHANGE,
            "routing_key": f"{ROUTING_PREFIX}{realm_id}",
        }

    def _publish(self, kind: BasicProperties, realm_id: RealmId, body: bytes) -> None:
        link = self._link
        if link is None or link.blocked:
            self.dropped += 1
            return
        try:
            link.channel.basic_publish(EXCHANGE, f"{ROUTING_PREFIX}{realm_id}", body, kind)
        except AMQPError:  # it is being lost right now
            self.dropped += 1

    def _receive(
        self,
        _channel: Channel,
        method: spec.Basic.Deliver,
        properties: BasicProperties,
        body: bytes,
    ) -> None:
        if properties.app_id == self._me:
            return
        try:
            if properties.type == HINT:
                self._inbox.hint(_hint_decoder.decode(body))
            else:
                realm_id = int(method.routing_key.removeprefix(ROUTING_PREFIX))
                self._inbox.ephemeral(RealmId(realm_id), body)
        except ValueError:
            logger.exception("event_bus.malformed_message")


@asynccontextmanager
async def open_rabbitmq_bus(url: str, listener: BusListener) -> AsyncIterator[RabbitEventBus]:
    """A bus on this broker (amqp://...), connected if it can be reached; see EventBus."""
    bus = RabbitEventBus(url, listener)
    async with running(bus.run()):
        await bus.tried()
        yield bus
