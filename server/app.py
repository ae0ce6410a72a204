"""Application container: creates every long-lived component of a process."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from server.actions.messages.send import PlainSend
from server.actions.realm_services import RealmServices
from server.domain import external_content
from server.domain.addresses import Addresses
from server.domain.clock import Clock, SystemClock
from server.domain.external_content import ProxyLinks
from server.domain.mail_addresses import PURPOSE, MailAddresses
from server.domain.passwords import Passwords
from server.egress import Egress, open_egress
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.identity.identities import Identities, open_identities
from server.initial_state.queue_registrar import QueueRegistrar
from server.initial_state.register import ServerFacts
from server.mail.mailer import Mailer
from server.messaging.background import running
from server.messaging.event_bus import EventBus
from server.messaging.job_broker import JobBroker
from server.messaging.job_desk import JobDesk
from server.messaging.postgres import open_postgres_bus, open_postgres_jobs
from server.messaging.postgres_desk import PostgresJobDesk
from server.messaging.sibling_bus import SiblingBus
from server.parsing.parser import Parser, open_parser
from server.pictures.process import Pictures
from server.presences import PresenceService
from server.presences.activity import Activity
from server.presences.webhook_deliveries import LastDeliveries
from server.previews import LinkedPictures, Previews
from server.push import vapid
from server.push.browsers import Browsers
from server.push.courier import Courier
from server.push.service import PushService
from server.push.vapid import Vapid
from server.realm_cache import RealmCaches, Rendering
from server.realtime.lineage_relay import LineageRelay
from server.realtime.queues import Realtime
from server.runtime.extras import extra
from server.runtime.siblings import Sibling, SiblingChannels
from server.settings import Settings
from server.telemetry.metrics import Metrics
from server.typesetting.process import open_typesetter
from server.writer import Writers, WriteTx
from server.writer.forwarding import WriteForwarder
from storage import event_log, server_keys
from storage.blobs import BlobStore, LocalBlobStore
from storage.database import Database, open_database
from storage.driver import PgConnection
from storage.ids import RealmId
from storage.push_devices import WEB


@dataclass(frozen=True, slots=True)
class App:
    settings: Settings
    clock: Clock
    database: Database
    realm_caches: RealmCaches
    writers: Writers
    realtime: Realtime
    queue_registrar: QueueRegistrar
    presences: PresenceService
    activity: Activity
    webhook_deliveries: LastDeliveries
    bus: EventBus
    passwords: Passwords
    jobs: JobBroker
    desk: JobDesk
    metrics: Metrics
    mailer: Mailer | None
    """None: emails are not sent."""
    mail_addresses: MailAddresses | None
    """None: email is not received."""
    egress: Egress
    """Client for URLs that come from users."""
    previews: Previews
    linked_pictures: LinkedPictures
    """Images of other sites in messages."""
    pushes: PushService | None
    """None: no push notifications to phones."""
    browsers: Browsers
    """Push notifications to browsers."""
    identities: Identities
    blobs: BlobStore
    pictures: Pictures
    parser: Parser
    """Parser process, for content that would block the event loop."""

    def state(self) -> dict[str, float]:
        """Gauges of this process for monitoring."""
        return {
            "event_queues": self.realtime.live(),
            "polls_waiting": self.realtime.waiting(),
            "log_lag_seconds": self.realtime.lag_seconds(),
            "broker_connected": self.bus.is_connected,
            "writes_forwarded": self.writers.forwarded(),
            "loop_blocked_seconds": self.metrics.longest_block_seconds(),
            **{f"database_connections_{k}": n for k, n in self.database.pool_use().items()},
        }

    @property
    def push_kinds(self) -> frozenset[str]:
        """The kinds of devices that get push notifications."""
        return frozenset({WEB}) | (self.pushes.kinds if self.pushes is not None else frozenset())

    def courier(self, services: RealmServices) -> Courier:
        """Return deliveries of push notifications for the realm."""
        return Courier(services, self.pushes, self.browsers, self.metrics)

    def realm_services(self, realm_id: RealmId) -> RealmServices:
        """Services for work in the realm that takes several writes."""
        return RealmServices(
            realm_id,
            self.realm_caches.of(realm_id),
            self.database.connection,
            self.writers.of(realm_id).write,
            self.clock,
        )

    def uncached_realm_services(self, realm_id: RealmId) -> RealmServices:
        """The same for a realm that is not followed, so that nothing of it is cached."""
        return replace(
            self.realm_services(realm_id), realm_cache=self.realm_caches.afresh(realm_id)
        )


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    clock: Clock | None = None,
    mailer: Mailer | None = None,
    sibling: Sibling | None = None,
    connection_class: type[PgConnection] = PgConnection,
) -> AsyncIterator[App]:
    """Open everything in order; close it in reverse order in any case.

    `mailer` is used if the settings have no mail server, and `connection_class` for the database.
    `settings.database_url` must be set: the embedded mode starts its Postgres first
    (scripts/cli/run.py). Raises DatabaseUnavailableError.
    """
    assert settings.database_url is not None, "the caller starts the embedded Postgres"
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        await _open_telemetry(stack, settings)
        database = await _open_database(stack, settings.database_url, settings, connection_class)
        parser = await stack.enter_async_context(open_parser())
        egress = await stack.enter_async_context(open_egress(settings))
        realm_caches = await _open_realm_caches(stack, settings, database, egress, clock)
        realtime, writers, bus = await _open_delivery(
            stack, settings, database, realm_caches, clock, sibling
        )
        jobs, desk = await stack.enter_async_context(_open_jobs(settings, database, clock))
        browsers = await _browsers(settings, database, egress, clock)
        app = App(
            settings=settings,
            clock=clock,
            database=database,
            realm_caches=realm_caches,
            writers=writers,
            realtime=realtime,
            queue_registrar=_queue_registrar(settings, database, realm_caches, browsers),
            presences=PresenceService(database, realm_caches, realtime, clock),
            activity=Activity(database, clock),
            webhook_deliveries=LastDeliveries(database, clock),
            bus=bus,
            passwords=stack.enter_context(Passwords(settings.hashing_threads)),
            jobs=jobs,
            desk=desk,
            metrics=Metrics(),
            mailer=await stack.enter_async_context(_open_mailer(settings)) or mailer,
            mail_addresses=await _mail_addresses(settings, database),
            egress=egress,
            previews=Previews(egress, parser, clock.monotonic),
            linked_pictures=LinkedPictures(egress, clock.monotonic),
            pushes=await stack.enter_async_context(_open_pushes(settings, clock)),
            browsers=browsers,
            identities=await stack.enter_async_context(open_identities(settings, database, clock)),
            blobs=_open_blobs(settings),
            pictures=Pictures(),
            parser=parser,
        )
        stack.push_async_callback(writers.drain)
        stack.push_async_callback(app.presences.close)
        stack.push_async_callback(app.activity.close)
        yield app


async def _open_telemetry(stack: AsyncExitStack, settings: Settings) -> None:
    if settings.sentry_dsn is not None:
        with extra("errors", "PARLEY_SENTRY_DSN"):
            from server.telemetry.sentry import open_reports  # an extra, as below

        await stack.enter_async_context(open_reports(settings))
    if settings.traces_endpoint is not None:
        with extra("traces", "PARLEY_TRACES_ENDPOINT"):
            from server.telemetry.otlp import open_traces  # an extra, which most do not install

        await stack.enter_async_context(open_traces(settings))


async def _open_database(
    stack: AsyncExitStack, url: str, settings: Settings, connection_class: type[PgConnection]
) -> Database:
    """Open the database, and make the partitions of its event log."""
    database = await stack.enter_async_context(
        open_database(
            url,
            max_size=settings.database_pool_size,
            serves=True,
            strict=settings.database_strict_replication,
            connection_class=connection_class,
        )
    )
    async with database.connection() as connection:
        await event_log.make_partitions(connection)
    return database


async def _open_realm_caches(
    stack: AsyncExitStack, settings: Settings, database: Database, egress: Egress, clock: Clock
) -> RealmCaches:
    addresses = Addresses(settings.public_url, settings.root_domain, settings.gravatars)
    rendering = await _open_rendering(stack, settings, database, egress)
    return RealmCaches(database, clock, addresses, rendering)


def _queue_registrar(
    settings: Settings, database: Database, realm_caches: RealmCaches, browsers: Browsers
) -> QueueRegistrar:
    def facts() -> ServerFacts:
        # Reading the key loads a library of 8 MiB, so not at the start.
        return ServerFacts(settings, browsers.public_key)

    return QueueRegistrar(database, realm_caches, facts)


async def _open_rendering(
    stack: AsyncExitStack, settings: Settings, database: Database, egress: Egress
) -> Rendering:
    typesetter = await stack.enter_async_context(
        open_typesetter(wall_seconds=settings.typesetting_seconds)
    )
    proxy = await _proxy_links(settings, database, egress)
    return Rendering(typesetter, frozenset(settings.media_hosts), proxy)


def _open_blobs(settings: Settings) -> BlobStore:
    if settings.s3_bucket is None:
        return LocalBlobStore(settings.files)
    from storage.s3_blobs import Bucket, S3BlobStore  # starts faster without obstore

    bucket = Bucket(
        name=settings.s3_bucket,
        region=settings.s3_region,
        endpoint=settings.s3_endpoint,
        access_key=settings.s3_access_key,
        secret_key=settings.s3_secret_key,
    )
    return S3BlobStore(bucket, settings.files)


async def _open_delivery(
    stack: AsyncExitStack,
    settings: Settings,
    database: Database,
    realm_caches: RealmCaches,
    clock: Clock,
    sibling: Sibling | None,
) -> tuple[Realtime, Writers, EventBus]:
    """Event delivery, from local writes and from other processes to the queues of this process."""
    realtime = Realtime(database, realm_caches, clock)
    bus = await stack.enter_async_context(_open_bus(settings, database, realtime))
    if sibling is None:
        writers = Writers(database, realm_caches, realtime.committed)
    else:
        channels = SiblingChannels(sibling)
        bus = SiblingBus(bus, channels, realtime)
        forwarder = WriteForwarder(channels, [PlainSend], realtime.reached)
        writers = Writers(database, realm_caches, realtime.committed, forwarder)
        stack.enter_context(channels.listening())
    realtime.connect(bus)
    realtime.lineages = LineageRelay(database.connector)
    await realtime.lineages.connect(bus)
    realtime.need_position = _ticker(writers)
    await stack.enter_async_context(running(realtime.run()))
    return realtime, writers, bus


@asynccontextmanager
async def _open_bus(
    settings: Settings, database: Database, realtime: Realtime
) -> AsyncIterator[EventBus]:
    if settings.amqp_url is None:
        async with open_postgres_bus(database, realtime) as postgres_bus:
            yield postgres_bus
    else:
        from server.messaging.rabbitmq import open_rabbitmq_bus  # starts faster without pika

        async with open_rabbitmq_bus(settings.amqp_url, realtime) as rabbitmq_bus:
            yield rabbitmq_bus


@asynccontextmanager
async def _open_jobs(
    settings: Settings, database: Database, clock: Clock
) -> AsyncIterator[tuple[JobBroker, JobDesk]]:
    if settings.amqp_url is None:
        async with open_postgres_jobs(database) as on_table:
            yield on_table, PostgresJobDesk(database)
    else:
        from server.messaging.rabbitmq_desk import RabbitJobDesk  # as above
        from server.messaging.rabbitmq_jobs import open_rabbitmq_jobs

        url = settings.amqp_url
        async with open_rabbitmq_jobs(url, now=lambda: clock.now().timestamp()) as on_broker:
            yield on_broker, RabbitJobDesk(url, database)


@asynccontextmanager
async def _open_mailer(settings: Settings) -> AsyncIterator[Mailer | None]:
    if settings.smtp_host is None:
        yield None
    else:
        from server.mail.smtp import open_smtp_mailer, server_of  # as above

        async with open_smtp_mailer(server_of(settings)) as mailer:
            yield mailer


@asynccontextmanager
async def _open_pushes(settings: Settings, clock: Clock) -> AsyncIterator[PushService | None]:
    if settings.push_bouncer_url or settings.fcm_credentials or settings.apns_key:
        from server.push.opening import open_push_service  # as above

        async with open_push_service(settings, clock) as pushes:
            yield pushes
    else:
        yield None


async def _browsers(
    settings: Settings, database: Database, egress: Egress, clock: Clock
) -> Browsers:
    async with database.connection() as connection:
        secret = await server_keys.key_for(connection, vapid.PURPOSE)
    return Browsers(egress, Vapid(secret, settings.push_contact, clock), clock)


async def _proxy_links(settings: Settings, database: Database, egress: Egress) -> ProxyLinks | None:
    if not settings.image_proxy:
        return None
    async with database.connection() as connection:
        key = await server_keys.key_for(connection, external_content.PURPOSE)
    return ProxyLinks(key, egress.may_fetch)


async def _mail_addresses(settings: Settings, database: Database) -> MailAddresses | None:
    if settings.mail_in_port is None:
        return None
    async with database.connection() as connection:
        key = await server_keys.key_for(connection, PURPOSE)
    return MailAddresses(settings.mail_in_pattern, key)


class _ticker:  # noqa: N801 - a function with a memory
    """Append an empty entry to a realm whose queues have run out of event ids."""

    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self._asked: set[RealmId] = set()
        self._tasks: set[object] = set()

    def __call__(self, realm_id: RealmId) -> None:
        import asyncio

        if realm_id in self._asked:
            return
        self._asked.add(realm_id)
        task = asyncio.ensure_future(self._writers.of(realm_id).write(_tick))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._asked.discard(realm_id))


async def _tick(tx: WriteTx) -> None:
    tx.append(Tick(), NO_AUDIENCE)
