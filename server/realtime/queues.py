"""Live event queues of this process: load them from their rows, follow their realms, drop them."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

import msgspec
import structlog

from server.domain.clock import Clock
from server.domain.errors import BadEventQueueError, ServerNotReadyError
from server.events import catalogue
from server.events.base import Audience, Event, LogEntry
from server.events.queue_params import queue_params
from server.i18n import _
from server.messaging.event_bus import EventBus, Hint
from server.realm_cache import RealmCaches
from server.realtime import bus_messages, lineage_relay
from server.realtime.audience import LiveUser, reaches_queue
from server.realtime.bus_messages import (
    BusMessage,
    EphemeralEvent,
    QueueAdopted,
    QueueHandedOver,
)
from server.realtime.clock_guard import ClockGuard
from server.realtime.follower import RealmFollower
from server.realtime.lineage_relay import LineageRelay
from server.realtime.queue import EventQueue
from server.realtime.queue_loader import LoadedQueue, load_queues
from server.realtime.queue_sweeper import QueueSweeper
from server.realtime.shipper_notifier import NO_REALM, ShipperNotifier
from server.realtime.variants import masked, masking_for
from server.runtime.batch_loader import BatchLoader
from server.runtime.scheduler import CooperativeScheduler
from server.runtime.timer_wheel import TimerWheel
from storage import clock as clocks
from storage import event_queues
from storage.database import RETRYABLE_ERRORS, Database
from storage.ids import Position, QueueId, RealmId, UserId

logger = structlog.get_logger(__name__)

SWEEP_SECONDS = 60.0
UNFOLLOW_SECONDS = 600.0
CATCH_UP_SECONDS = 10.0
APPLIED_TIMEOUT_SECONDS = 1.0
"""How long the result of a write waits until this process has applied it."""
QUEUES_PER_MESSAGE = 100
"""Queues in one message on the bus, whose size is limited by MAX_EPHEMERAL_BYTES."""


class Realtime:
    """The followed realms of this process and their queues. Receives messages of the event bus."""

    def __init__(self, database: Database, realm_caches: RealmCaches, clock: Clock) -> None:
        self.database = database
        self.realm_caches = realm_caches
        self.clock = clock
        self.stopping = False
        self.need_position: Callable[[RealmId], None] = lambda _: None
        """Request an empty entry of the realm, whose queues have no event ids left."""
        self.shipper_notifier = ShipperNotifier()
        """Notifies the shipper of commits in any process."""
        self.deadlines = TimerWheel()
        """Heartbeats of waiting polls."""
        self.scheduler = CooperativeScheduler()
        """Delivers the responses of waiting polls."""
        self.lineages: LineageRelay | None = None
        """Exchanges with other processes which database is the primary."""
        self._bus: EventBus | None = None
        self._followers: dict[RealmId, RealmFollower] = {}
        self._rows: dict[RealmId, BatchLoader[QueueId, LoadedQueue]] = {}
        self._starting: dict[RealmId, asyncio.Task[RealmFollower]] = {}
        self._used: dict[RealmId, float] = {}
        self._adopted: dict[RealmId, list[QueueId]] = {}
        """Loaded queues that are announced in the next iteration of the loop."""
        self._guard = ClockGuard(database, self._followers)
        self._sweeper = QueueSweeper(database, self._followers, clock)
        self._adopting: set[asyncio.Task[None]] = set()

    def connect(self, bus: EventBus) -> None:
        """Publish to this bus, which calls `on_hint`, `on_ephemeral` and `on_gap`."""
        self._bus = bus
        self.shipper_notifier.connect(bus)

    # -- called by the writer and the bus

    def committed(
        self, realm_id: RealmId, epoch: int, entries: list[LogEntry]
    ) -> Callable[[], Awaitable[object]] | None:
        """Deliver committed entries to the queues of this process, then publish them.

        Returns a wait until this process has applied them and answers from them; None if it has.
        """
        follower, last = self._followers.get(realm_id), entries[-1].position
        if follower is not None:
            follower.offer(epoch, entries)
        if self._bus is not None:
            cargo = entries if self._bus.carries_entries else ()
            bodies = tuple(msgspec.json.encode(entry) for entry in cargo)
            hint = Hint(realm_id, epoch, entries[0].position, last, bodies)
            self._bus.publish(hint)
            self.shipper_notifier.notify()
        return _applied(follower, epoch, last)

    def reached(
        self, realm_id: RealmId, epoch: int, position: Position
    ) -> Callable[[], Awaitable[object]] | None:
        """Note that another process has committed up to this position.

        Returns a wait until this process has applied it and answers from it; None if it has.
        """
        follower = self._followers.get(realm_id)
        if follower is not None:
            follower.notice(epoch, position)
        return _applied(follower, epoch, position)

    def on_hint(self, hint: Hint) -> None:
        if hint.realm_id == NO_REALM:
            self.shipper_notifier.on_notification()
        follower = self._followers.get(hint.realm_id)
        if follower is None:
            return
        if hint.epoch == follower.epoch and hint.last <= follower.position:
            return  # known, from another bus or this process
        if hint.entries:
            entries = [msgspec.json.decode(e, type=LogEntry) for e in hint.entries]
            follower.offer(hint.epoch, entries)
        else:
            follower.notice(hint.epoch, hint.last)

    def on_ephemeral(self, realm_id: RealmId, body: bytes) -> None:
        if self.lineages is not None and realm_id == lineage_relay.NO_REALM:
            self.lineages.on_lineage(body)
            return
        follower = self._followers.get(realm_id)
        if follower is None:
            return
        message = bus_messages.decode(body)
        if isinstance(message, EphemeralEvent):
            event = catalogue.decode(message.kind, bytes(message.event))
            self._deliver_to_queues(follower, event, message.audience)
        elif isinstance(message, QueueHandedOver):
            self._accept_handed_over(follower, message)
        else:
            for queue_id in (message.queue_id, *message.more):
                self._hand_over(follower, queue_id)

    def on_gap(self) -> None:
        self._guard.check_now()
        if self.lineages is not None:
            self.lineages.publish()

    # -- called by requests

    async def follower(self, realm_id: RealmId) -> RealmFollower:
        """Return the realm's follower; without one, start it at the clock's position."""
        self._used[realm_id] = self.clock.monotonic()
        starting = self._starting.get(realm_id)
        follower = self._followers.get(realm_id)
        if starting is None and follower is not None:
            return follower
        if starting is None:
            starting = self._starting[realm_id] = asyncio.create_task(self._start(realm_id))
            starting.add_done_callback(lambda _: self._starting.pop(realm_id))
        return await asyncio.shield(starting)  # cancelling one caller must not cancel the start

    async def queue(
        self, realm_id: RealmId, user_id: UserId, queue_id: QueueId
    ) -> tuple[RealmFollower, EventQueue]:
        """Return the user's live queue, loaded from its row if this process does not serve it yet.

        Raises BadEventQueueError.
        """
        follower = await self.follower(realm_id)
        queue = follower.queues.get(queue_id)
        if queue is None:
            queue = await self._adopt(follower, user_id, queue_id)
        if queue.user_id != user_id:
            raise BadEventQueueError(queue_id)
        queue.idle_since = self.clock.monotonic()
        return follower, queue

    def reader(self, realm_id: RealmId, queue_id: QueueId) -> object:
        """Return the stream that reads the queue in this process, if there is one."""
        follower = self._followers.get(realm_id)
        queue = None if follower is None else follower.queues.get(queue_id)
        return None if queue is None else queue.reader

    def expect(self, realm_id: RealmId, user_id: UserId, queue_id: QueueId) -> None:
        """Load a new queue before its first poll, so that it receives ephemeral events."""

        async def adopt() -> None:
            with suppress(BadEventQueueError, *RETRYABLE_ERRORS):
                await self.queue(realm_id, user_id, queue_id)

        task = asyncio.ensure_future(adopt())
        self._adopting.add(task)
        task.add_done_callback(self._adopting.discard)

    def end(self, realm_id: RealmId, queue_ids: Sequence[QueueId]) -> None:
        """Drop deleted queues in all processes; their next polls are refused."""
        follower = self._followers.get(realm_id)
        for queue_id in queue_ids:
            if follower is not None and queue_id in follower.queues:
                follower.drop_queue(follower.queues[queue_id])
            self._announce_adopted(realm_id, queue_id)

    def serves(self, queue_id: QueueId) -> bool:
        """Return whether the queue is in the memory of this process."""
        return any(queue_id in follower.queues for follower in self._followers.values())

    async def catch_up(self, follower: RealmFollower, position: Position) -> bool:
        """Wait until the follower has reached a position that a client knows.

        Return False if the realm's clock has not reached it.
        """
        async with self.database.connection() as connection:
            row = await clocks.read(connection, follower.realm_id)
        if row is None or row.position < position:
            return False
        if not await follower.reach(position, CATCH_UP_SECONDS):
            raise ServerNotReadyError(_("The server is catching up. Try again shortly."))
        return True

    async def delete_queue(self, realm_id: RealmId, user_id: UserId, queue_id: QueueId) -> None:
        """Delete the user's queue in all processes. Raises BadEventQueueError."""
        follower, queue = await self.queue(realm_id, user_id, queue_id)
        async with self.database.connection() as connection:
            await event_queues.delete(connection, realm_id, [queue_id])
        follower.drop_queue(queue)
        self._publish_message(realm_id, QueueAdopted(queue_id))

    async def publish_ephemeral(self, realm_id: RealmId, event: Event, audience: Audience) -> None:
        """Publish an event that is not logged (typing, presence) to queues of all processes."""
        follower = await self.follower(realm_id)
        self._deliver_to_queues(follower, event, audience)
        self._publish_message(
            realm_id, EphemeralEvent(event.kind, audience, msgspec.Raw(msgspec.json.encode(event)))
        )

    # -- background tasks

    async def run(self) -> None:
        """Check for missed entries and drop idle queues, until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._guard.run())
                group.create_task(self._clean_up())
        finally:
            for follower in self._followers.values():
                follower.stop()

    def release_all(self) -> None:
        """Answer every poll at shutdown; nothing is lost, other processes serve the queues."""
        self.stopping = True
        for follower in self._followers.values():
            for queue in list(follower.queues.values()):
                follower.drop_queue(queue)

    def live(self) -> int:
        """Number of queues in the memory of this process."""
        return sum(len(follower.queues) for follower in self._followers.values())

    def waiting(self) -> int:
        """Number of waiting polls."""
        return sum(
            queue.waiter is not None
            for follower in self._followers.values()
            for queue in follower.queues.values()
        )

    def lag_seconds(self) -> float:
        """Maximum time for which a followed realm has been behind its log."""
        return max((f.lag_seconds() for f in self._followers.values()), default=0.0)

    async def _start(self, realm_id: RealmId) -> RealmFollower:
        if self._bus is not None:
            await self._bus.follow(realm_id)
        async with self.database.connection() as connection:
            row = await clocks.read(connection, realm_id)
        assert row is not None, "every realm has a clock"
        realm_cache = self.realm_caches.of(realm_id)
        realm_cache.forget_everything()
        follower = self._followers[realm_id] = RealmFollower(
            realm_cache,
            self.database,
            epoch=row.epoch,
            position=row.position,
            scheduler=self.scheduler,
        )
        await realm_cache.realm()  # every request needs it
        return follower

    async def _adopt(
        self, follower: RealmFollower, user_id: UserId, queue_id: QueueId
    ) -> EventQueue:
        while True:
            loader = self._rows_of(follower.realm_id)
            found = await loader.find(queue_id)
            if found is None or found[0].user_id != user_id or found[0].epoch != follower.epoch:
                raise BadEventQueueError(queue_id)
            row, live_user, read_at, contacts = found
            adopted = follower.queues.get(queue_id)
            if adopted is not None:
                return adopted
            known = follower.users.by_id.get(user_id)
            if known is not None:
                live_user = known
            # The snapshot may be ahead of the follower: applying a change again is harmless.
            elif not follower.add_user(live_user, read_at=read_at, contacts=contacts):
                continue
            break
        queue = EventQueue(queue_id, user_id, row.base, queue_params(row.params))
        follower.users.add_queue(live_user, queue)
        follower.queues[queue_id] = queue
        self._announce_adopted(follower.realm_id, queue_id)
        return queue

    def _rows_of(self, realm_id: RealmId) -> BatchLoader[QueueId, LoadedQueue]:
        loader = self._rows.get(realm_id)
        if loader is None:
            loader = self._rows[realm_id] = BatchLoader(partial(self._read_queues, realm_id))
        return loader

    async def _read_queues(
        self, realm_id: RealmId, queue_ids: Sequence[QueueId]
    ) -> dict[QueueId, LoadedQueue]:
        tables = self._followers[realm_id].users.contacts
        return await load_queues(self.database, self.realm_caches.of(realm_id), tables, queue_ids)

    def _deliver_to_queues(self, follower: RealmFollower, event: Event, audience: Audience) -> None:
        encodings: dict[tuple[object, ...], list[bytes]] = {}
        position = follower.position

        def deliver(user: LiveUser) -> None:
            for queue in user.queues:
                if not queue.listens_to(event.wire_type) or not reaches_queue(
                    audience, user, queue, position
                ):
                    continue
                masking = masking_for(event, user, Position(position + 1))
                key: tuple[object, ...] = tuple(
                    [getattr(queue.view, name) for name in event.varies_by]
                )
                if masking is not None:
                    key = (*key, masking.strangers)
                if key not in encodings:
                    wire = masked(event, masking).wire(position, queue.view)
                    encodings[key] = [msgspec.json.encode(body)[1:] for body in wire]
                for encoded in encodings[key]:
                    self._deliver_to_queue(follower, queue, encoded)

        follower.fanout.begin(audience, deliver, Position(position + 1))

    def _deliver_to_queue(self, follower: RealmFollower, queue: EventQueue, body: bytes) -> None:
        queue.add_pending(body)
        if queue.next_ephemeral_id(follower.position) is None:
            self.need_position(follower.realm_id)
        elif queue.waiter is not None:
            events, reached = follower.undelivered(queue, queue.waiter)
            if reached == follower.position:
                events.extend(queue.take_pending(events, reached))
            queue.release(events, reached)

    def _announce_adopted(self, realm_id: RealmId, queue_id: QueueId) -> None:
        """Announce the queue, in one message with others: thousands may return in one second."""
        adopted = self._adopted.setdefault(realm_id, [])
        if not adopted:
            asyncio.get_running_loop().call_soon(self._publish_adopted, realm_id)
        adopted.append(queue_id)

    def _publish_adopted(self, realm_id: RealmId) -> None:
        adopted = self._adopted.pop(realm_id)
        for start in range(0, len(adopted), QUEUES_PER_MESSAGE):
            first, *more = adopted[start : start + QUEUES_PER_MESSAGE]
            self._publish_message(realm_id, QueueAdopted(first, tuple(more)))

    def _hand_over(self, follower: RealmFollower, queue_id: QueueId) -> None:
        queue = follower.queues.get(queue_id)
        if queue is None:
            return
        if queue.pending:
            self._publish_message(follower.realm_id, QueueHandedOver(queue_id, queue.pending))
        follower.drop_queue(queue)

    def _accept_handed_over(self, follower: RealmFollower, message: QueueHandedOver) -> None:
        queue = follower.queues.get(message.queue_id)
        for body in message.bodies if queue is not None else ():
            assert queue is not None
            self._deliver_to_queue(follower, queue, body)

    def _publish_message(self, realm_id: RealmId, message: BusMessage) -> None:
        """Publish to other processes, split as far as the size limit requires."""
        if self._bus is not None:
            for body in bus_messages.encoded(message):
                self._bus.publish_ephemeral(realm_id, body)

    async def _clean_up(self) -> None:
        """Once a minute, sweep the queues, and stop following realms that are not used."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS * random.uniform(0.9, 1.1))  # noqa: S311
            await self._sweeper.sweep()
            self._unfollow_unused()

    def _unfollow_unused(self) -> None:
        now = self.clock.monotonic()
        for realm_id, follower in list(self._followers.items()):
            follower.log_pages.clear()
            if not follower.queues and now - self._used[realm_id] > UNFOLLOW_SECONDS:
                del self._followers[realm_id], self._used[realm_id]
                self._rows.pop(realm_id, None)
                if self._bus is not None:
                    self._bus.unfollow(realm_id)


def _applied(
    follower: RealmFollower | None, epoch: int, position: Position
) -> Callable[[], Awaitable[object]] | None:
    """Return a wait until the follower has applied the position, if it is to and has not."""
    if follower is None or follower.epoch != epoch or follower.position >= position:
        return None
    return partial(follower.applied, position, APPLIED_TIMEOUT_SECONDS)
