"""All live queues of this process: adopt them, follow their realms, let them go."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

import msgspec
import structlog

from server.domain.access import GUEST
from server.domain.clock import Clock
from server.domain.errors import BadEventQueueError, ServerNotReadyError
from server.events import catalogue
from server.events.base import Audience, Event, LogEntry
from server.events.queue_params import queue_params
from server.messaging.event_bus import MAX_EPHEMERAL_BYTES, EventBus, Hint
from server.realm_cache import RealmCaches
from server.realtime import lineage_relay
from server.realtime.audience import LiveUser, reaches_queue
from server.realtime.contacts import LoadedContacts, load_contacts
from server.realtime.follower import RealmFollower
from server.realtime.lineage_relay import LineageRelay
from server.realtime.queue import EventQueue
from server.realtime.shipper_notifier import NO_REALM, ShipperNotifier
from server.realtime.variants import masked, masking_for
from server.runtime.batch_loader import BatchLoader
from server.runtime.scheduler import CooperativeScheduler
from server.runtime.timer_wheel import TimerWheel
from storage import clock as clocks
from storage import event_queues, muted_users, subscriptions, users
from storage.database import NOT_NOW, Database
from storage.event_queues import EventQueueRow
from storage.ids import Position, QueueId, RealmId, UserId
from storage.subscriptions import SpanRow

logger = structlog.get_logger(__name__)

BUSY_GUARD_SECONDS = 0.1
IDLE_GUARD_SECONDS = 1.0
"""How often the clocks are compared with Postgres: a lost last hint shows no gap."""
TOUCH_SECONDS = 60.0
TIDIED_AT_ONCE = 500
"""Queues that are looked at before others are served."""
LET_GO_SECONDS = 120.0
"""A queue that nobody polls costs memory no longer than this."""
UNFOLLOW_SECONDS = 600.0
CATCH_UP_SECONDS = 10.0
ADOPTED_AT_ONCE = 100
"""Queues in one piece of news, which may be no longer than MAX_EPHEMERAL_BYTES."""


class EphemeralEvent(msgspec.Struct, frozen=True, tag="told"):
    """An event that is told once and never logged."""

    kind: str
    audience: Audience
    event: msgspec.Raw


class QueueAdopted(msgspec.Struct, frozen=True, tag="adopted"):
    """A process has its first poll of these queues: others let them go."""

    queue_id: QueueId
    more: tuple[QueueId, ...] = ()


class QueueHandedOver(msgspec.Struct, frozen=True, tag="handed_over"):
    """What was told once and still waited for a poll of a queue that is now served elsewhere."""

    queue_id: QueueId
    bodies: tuple[bytes, ...]


BusMessage = EphemeralEvent | QueueAdopted | QueueHandedOver


def _halves(message: BusMessage) -> Sequence[BusMessage]:
    """The same in two pieces; nothing if it cannot be said in pieces."""
    if isinstance(message, QueueHandedOver) and len(message.bodies) > 1:
        middle = len(message.bodies) // 2
        parts = (message.bodies[:middle], message.bodies[middle:])
        return [QueueHandedOver(message.queue_id, part) for part in parts]
    if isinstance(message, EphemeralEvent) and len(message.audience.users) > 1:
        users, middle = message.audience.users, len(message.audience.users) // 2
        if message.audience == Audience(users=users):  # else somebody may be named twice over
            parts_of_users = (users[:middle], users[middle:])
            return [
                EphemeralEvent(message.kind, Audience(users=u), message.event)
                for u in parts_of_users
            ]
    return []


_Adoptable = tuple[EventQueueRow, LiveUser, Position, LoadedContacts | None]
"""A queue's row, its user, the position at which both were read, and, of a guest who may know only
the people they meet, which people those are."""

_bus_messages = msgspec.json.Decoder(BusMessage)


class Realtime:
    """The realms that this process follows, and their queues. Listens to the event bus."""

    def __init__(self, database: Database, realm_caches: RealmCaches, clock: Clock) -> None:
        self.database = database
        self.realm_caches = realm_caches
        self.clock = clock
        self.stopping = False
        self.need_position: Callable[[RealmId], None] = lambda _: None
        """Asks for one empty entry of the realm: its queues have no event ids left."""
        self.bell = ShipperNotifier()
        """Rings when something was committed, here or elsewhere: the shipper has work."""
        self.deadlines = TimerWheel()
        """When polls are due for a heartbeat."""
        self.wakes = CooperativeScheduler()
        """Brings the answers of polls that waited."""
        self.lineages: LineageRelay | None = None
        """Hears from the other processes which database leads."""
        self._bus: EventBus | None = None
        self._followers: dict[RealmId, RealmFollower] = {}
        self._rows: dict[RealmId, BatchLoader[QueueId, _Adoptable]] = {}
        self._starting: dict[RealmId, asyncio.Task[RealmFollower]] = {}
        self._used: dict[RealmId, float] = {}
        self._adopted: dict[RealmId, list[QueueId]] = {}
        """Of which the others are about to be told."""
        self._touched_at = clock.monotonic()
        self._look_now = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()

    def connect(self, bus: EventBus) -> None:
        """Publish to this bus, which tells this object what others publish."""
        self._bus = bus
        self.bell.connect(bus)

    # -- what the writer and the bus tell

    def committed(self, realm_id: RealmId, epoch: int, entries: list[LogEntry]) -> None:
        """This process has committed: its own queues first, then the others'."""
        follower = self._followers.get(realm_id)
        if follower is not None:
            follower.offer(epoch, entries)
        if self._bus is None:
            return
        cargo = entries if self._bus.carries_entries else ()
        bodies = tuple(msgspec.json.encode(entry) for entry in cargo)
        hint = Hint(realm_id, epoch, entries[0].position, entries[-1].position, bodies)
        self._publish(lambda bus: bus.publish(hint))
        self.bell.ring()

    def on_hint(self, hint: Hint) -> None:
        if hint.realm_id == NO_REALM:
            self.bell.heard()
        follower = self._followers.get(hint.realm_id)
        if follower is None:
            return
        if hint.entries:
            entries = [msgspec.json.decode(e, type=LogEntry) for e in hint.entries]
            follower.offer(hint.epoch, entries)
        else:
            follower.notice(hint.epoch, hint.last)

    def on_ephemeral(self, realm_id: RealmId, body: bytes) -> None:
        if self.lineages is not None and realm_id == lineage_relay.NO_REALM:
            self.lineages.heard(body)
            return
        follower = self._followers.get(realm_id)
        if follower is None:
            return
        message = _bus_messages.decode(body)
        if isinstance(message, EphemeralEvent):
            event = catalogue.decode(message.kind, bytes(message.event))
            self._deliver_to_queues(follower, event, message.audience)
        elif isinstance(message, QueueHandedOver):
            self._take_over(follower, message)
        else:
            for queue_id in (message.queue_id, *message.more):
                self._let_adopted_go(follower, queue_id)

    def on_gap(self) -> None:
        self._look_now.set()
        if self.lineages is not None:
            self.lineages.publish()

    # -- what requests ask

    async def follower(self, realm_id: RealmId) -> RealmFollower:
        """The realm's follower, started at the clock's position if there was none."""
        self._used[realm_id] = self.clock.monotonic()
        starting = self._starting.get(realm_id)
        follower = self._followers.get(realm_id)
        if starting is None and follower is not None:
            return follower
        if starting is None:
            starting = self._starting[realm_id] = asyncio.create_task(self._start(realm_id))
            starting.add_done_callback(lambda _: self._starting.pop(realm_id))
        return await asyncio.shield(starting)  # whoever asked first may go; others wait for it

    async def queue(
        self, realm_id: RealmId, user_id: UserId, queue_id: QueueId
    ) -> tuple[RealmFollower, EventQueue]:
        """The user's live queue, adopted from its row if this process does not serve it yet.

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
        """Who reads the queue in this process now, if a stream does."""
        follower = self._followers.get(realm_id)
        queue = None if follower is None else follower.queues.get(queue_id)
        return None if queue is None else queue.reader

    def expect(self, realm_id: RealmId, user_id: UserId, queue_id: QueueId) -> None:
        """A queue was registered here: serve it before its first poll, for what is told once."""

        async def adopt() -> None:
            with suppress(BadEventQueueError, *NOT_NOW):
                await self.queue(realm_id, user_id, queue_id)

        task = asyncio.ensure_future(adopt())
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def end(self, realm_id: RealmId, queue_ids: Sequence[QueueId]) -> None:
        """Drop deleted queues in all processes: their next polls are refused."""
        follower = self._followers.get(realm_id)
        for queue_id in queue_ids:
            if follower is not None and queue_id in follower.queues:
                follower.let_go(follower.queues[queue_id])
            self._announce_adopted(realm_id, queue_id)

    def serves(self, queue_id: QueueId) -> bool:
        """Whether this process has the queue in its memory."""
        return any(queue_id in follower.queues for follower in self._followers.values())

    async def catch_up(self, follower: RealmFollower, position: Position) -> bool:
        """Wait until the follower has come to a position that a client knows of.

        False if the realm's clock never was there.
        """
        async with self.database.connection() as connection:
            row = await clocks.read(connection, follower.realm_id)
        if row is None or row.position < position:
            return False
        if not await follower.reach(position, CATCH_UP_SECONDS):
            raise ServerNotReadyError("The server is catching up. Try again shortly.")
        return True

    async def delete_queue(self, realm_id: RealmId, user_id: UserId, queue_id: QueueId) -> None:
        """End the user's queue everywhere. Raises BadEventQueueError."""
        follower, queue = await self.queue(realm_id, user_id, queue_id)
        async with self.database.connection() as connection:
            await event_queues.delete(connection, realm_id, queue_id)
        follower.let_go(queue)
        self._publish_message(realm_id, QueueAdopted(queue_id))

    async def tell(self, realm_id: RealmId, event: Event, audience: Audience) -> None:
        """Tell an event once, to those who listen now; it is not logged (typing, presence)."""
        follower = await self.follower(realm_id)
        self._deliver_to_queues(follower, event, audience)
        self._publish_message(
            realm_id, EphemeralEvent(event.kind, audience, msgspec.Raw(msgspec.json.encode(event)))
        )

    # -- for as long as the process runs

    async def run(self) -> None:
        """Guard the tails and tidy up, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._guard())
            group.create_task(self._tidy())

    def release_all(self) -> None:
        """The server stops: answer every poll; nothing is lost, its queue is served elsewhere."""
        self.stopping = True
        for follower in self._followers.values():
            for queue in list(follower.queues.values()):
                follower.let_go(queue)

    def live(self) -> int:
        """How many queues this process has in its memory."""
        return sum(len(follower.queues) for follower in self._followers.values())

    def waiting(self) -> int:
        """How many polls wait now."""
        return sum(
            queue.waiter is not None
            for follower in self._followers.values()
            for queue in follower.queues.values()
        )

    def lag_seconds(self) -> float:
        """For how long one of the followed realms has been behind its log."""
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
            realm_cache, self.database, epoch=row.epoch, position=row.position, turns=self.wakes
        )
        await realm_cache.realm()  # which everybody needs who comes now
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
            # The snapshot may be ahead of the follower: applying a change again changes nothing.
            elif not follower.add_user(live_user, read_at=read_at, contacts=contacts):
                continue
            break
        queue = EventQueue(queue_id, user_id, row.base, queue_params(row.params))
        follower.users.add_queue(live_user, queue)
        follower.queues[queue_id] = queue
        self._announce_adopted(follower.realm_id, queue_id)
        return queue

    def _rows_of(self, realm_id: RealmId) -> BatchLoader[QueueId, _Adoptable]:
        loader = self._rows.get(realm_id)
        if loader is None:
            loader = self._rows[realm_id] = BatchLoader(partial(self._read_queues, realm_id))
        return loader

    async def _read_queues(
        self, realm_id: RealmId, queue_ids: Sequence[QueueId]
    ) -> dict[QueueId, _Adoptable]:
        async with self.database.snapshot() as connection:
            now, rows = await connection.together(
                clocks.read(connection, realm_id),
                event_queues.live(connection, realm_id, queue_ids),
            )
            user_ids = list({row.user_id for row in rows})
            spans, senders_read, roles = await connection.together(
                subscriptions.spans_of(connection, realm_id, user_ids),
                muted_users.senders_read(connection, realm_id, user_ids),
                users.roles(connection, realm_id, user_ids),
            )
            guests = [row for row in rows if roles[row.user_id] == GUEST]
            contacts = await load_contacts(
                connection,
                self.realm_caches.of(realm_id),
                self._followers[realm_id].users.contacts,
                guests,
                spans,
            )
        assert now is not None, "every realm has a clock"
        by_user: dict[UserId, list[SpanRow]] = {}
        for span in spans:
            by_user.setdefault(span.user_id, []).append(span)
        live = {
            user_id: LiveUser(user_id, role, by_user.get(user_id, ()), senders_read.get(user_id))
            for user_id, role in roles.items()
        }
        return {
            row.queue_id: (row, live[row.user_id], now.position, contacts.get(row.user_id))
            for row in rows
        }

    def _deliver_to_queues(self, follower: RealmFollower, event: Event, audience: Audience) -> None:
        encodings: dict[tuple[object, ...], list[bytes]] = {}
        position = follower.position

        def tell(user: LiveUser) -> None:
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

        follower.rounds.begin(audience, tell, Position(position + 1))

    def _deliver_to_queue(self, follower: RealmFollower, queue: EventQueue, body: bytes) -> None:
        queue.keep(body)
        if queue.next_ephemeral_id(follower.position) is None:
            self.need_position(follower.realm_id)
        elif queue.waiter is not None:
            events, reached = follower.unlooked(queue, queue.waiter)
            if reached == follower.position:
                events.extend(queue.told(events, reached))
            queue.release(events, reached)

    def _announce_adopted(self, realm_id: RealmId, queue_id: QueueId) -> None:
        """Tell the others together with what else is adopted now: thousands come in a second."""
        adopted = self._adopted.setdefault(realm_id, [])
        if not adopted:
            asyncio.get_running_loop().call_soon(self._publish_adopted, realm_id)
        adopted.append(queue_id)

    def _publish_adopted(self, realm_id: RealmId) -> None:
        adopted = self._adopted.pop(realm_id)
        for start in range(0, len(adopted), ADOPTED_AT_ONCE):
            first, *more = adopted[start : start + ADOPTED_AT_ONCE]
            self._publish_message(realm_id, QueueAdopted(first, tuple(more)))

    def _let_adopted_go(self, follower: RealmFollower, queue_id: QueueId) -> None:
        queue = follower.queues.get(queue_id)
        if queue is None:
            return
        if queue.pending:
            self._publish_message(follower.realm_id, QueueHandedOver(queue_id, queue.pending))
        follower.let_go(queue)

    def _take_over(self, follower: RealmFollower, message: QueueHandedOver) -> None:
        queue = follower.queues.get(message.queue_id)
        for body in message.bodies if queue is not None else ():
            assert queue is not None
            self._deliver_to_queue(follower, queue, body)

    def _publish_message(self, realm_id: RealmId, message: BusMessage) -> None:
        """Tell the others, in as many pieces as it takes."""
        body = msgspec.json.encode(message)
        if len(body) > MAX_EPHEMERAL_BYTES:
            halves = _halves(message)
            if not halves:
                kind = (
                    message.kind if isinstance(message, EphemeralEvent) else type(message).__name__
                )
                logger.warning("realtime.event_too_large", kind=kind, size=len(body))
            for half in halves:
                self._publish_message(realm_id, half)
            return
        self._publish(lambda bus: bus.publish_ephemeral(realm_id, body))

    def _publish(self, send: Callable[[EventBus], Awaitable[None]]) -> None:
        if self._bus is None:
            return
        task = asyncio.ensure_future(send(self._bus))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _guard(self) -> None:
        """Compare the clocks of the followed realms with Postgres, in one query a turn."""
        pause = BUSY_GUARD_SECONDS
        while True:
            try:
                async with asyncio.timeout(pause * random.uniform(0.9, 1.1)):  # noqa: S311
                    await self._look_now.wait()
            except TimeoutError:
                pass
            self._look_now.clear()
            try:
                moved = await self._compare_clocks()
            except NOT_NOW:
                moved = False
            pause = BUSY_GUARD_SECONDS if moved else min(IDLE_GUARD_SECONDS, pause * 1.5)

    async def _compare_clocks(self) -> bool:
        """Whether any of the realms has moved since the last look."""
        if not self._followers:
            return False
        before = {realm_id: f.position for realm_id, f in self._followers.items()}
        async with self.database.connection() as connection:
            rows = await clocks.read_many(connection, list(self._followers))
        moved = False
        for row in rows:
            follower = self._followers.get(row.realm_id)
            if follower is not None:
                moved = moved or row.position > before.get(row.realm_id, row.position)
                follower.notice(row.epoch, row.position)
        return moved

    async def _tidy(self) -> None:
        """Once a minute: note which queues live, let idle ones go, remove expired rows."""
        while True:
            await asyncio.sleep(TOUCH_SECONDS * random.uniform(0.9, 1.1))  # noqa: S311
            try:
                await self._touch_queues()
            except NOT_NOW as error:
                logger.warning("realtime.queue_touch_failed", error=str(error))
            await self._let_idle_go()

    async def _touch_queues(self) -> None:
        """Note which were polled since the last time.

        What was let go meanwhile is polled elsewhere, or had been idle for longer than that.
        """
        since, now = self._touched_at, self.clock.monotonic()
        queues = self._all_queues()
        while portion := list(islice(queues, TIDIED_AT_ONCE)):
            # In one order everywhere: another process may note the same ones.
            seen = sorted(
                (follower.realm_id, queue.queue_id)
                for follower, queue in portion
                if queue.waiter is not None or queue.idle_since >= since
            )
            if seen:
                async with self.database.connection() as connection:
                    await event_queues.touch(connection, [r for r, _ in seen], [q for _, q in seen])
        async with self.database.connection() as connection:
            await event_queues.delete_expired(connection)
        self._touched_at = now

    def _all_queues(self) -> Iterator[tuple[RealmFollower, EventQueue]]:
        """The queues of all realms; they may come and go while this is under way."""
        for follower in list(self._followers.values()):
            for queue in list(follower.queues.values()):
                yield follower, queue

    async def _let_idle_go(self) -> None:
        now = self.clock.monotonic()
        queues = self._all_queues()
        while portion := list(islice(queues, TIDIED_AT_ONCE)):
            for follower, queue in portion:
                is_idle = queue.waiter is None and now - queue.idle_since > LET_GO_SECONDS
                if is_idle and follower.queues.get(queue.queue_id) is queue:
                    follower.let_go(queue)
            await asyncio.sleep(0)  # others' turn
        for realm_id, follower in list(self._followers.items()):
            follower.past.clear()
            if not follower.queues and now - self._used[realm_id] > UNFOLLOW_SECONDS:
                del self._followers[realm_id]
                self._rows.pop(realm_id, None)
                self._publish(lambda bus, realm_id=realm_id: bus.unfollow(realm_id))  # type: ignore[misc]
