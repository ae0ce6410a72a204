"""Follow the log of a realm: apply entries in order, and wake the polls that they concern."""

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from operator import attrgetter

import structlog

from server.events.base import NO_AUDIENCE, Event, LogEntry
from server.events.users import UserAdded
from server.realm_cache import RealmCache
from server.realtime.audience import LiveUser, LiveUsers, reaches_queue
from server.realtime.contacts import Contacts, LoadedContacts
from server.realtime.fanout_loop import FanoutLoop
from server.realtime.log_page_cache import LogPageCache
from server.realtime.queue import MAX_EVENTS, EventQueue, Waiter, WireEvent
from server.realtime.variants import TailEntry
from server.runtime.scheduler import CooperativeScheduler
from server.telemetry import traces
from storage import event_log
from storage.database import RETRYABLE_ERRORS, Database
from storage.ids import Position, RealmId, UserId

logger = structlog.get_logger(__name__)

TAIL_BYTES = 4 * 1024 * 1024
"""Maximum size of the newest part of a realm's log in memory, for polls that return soon."""
REORDER_SECONDS = 0.005
"""How long entries out of order wait for the missing ones before those are read."""
FETCH_ENTRIES = 2_000
FETCH_BYTES = 2 * 1024 * 1024
APPLIED_AT_ONCE = 200
"""Entries that are applied at once, more than most commits have."""
APPLIED_PER_STEP = 8


_position = attrgetter("position")


class Tail:
    """The newest entries of the log, bounded in bytes."""

    def __init__(self) -> None:
        self._entries: deque[TailEntry] = deque()
        self._bytes = 0

    def append(self, entry: TailEntry) -> None:
        self._entries.append(entry)
        self._bytes += entry.size
        while self._bytes > TAIL_BYTES and len(self._entries) > 1:
            self._bytes -= self._entries.popleft().size

    def holds_after(self, cursor: Position) -> bool:
        """Return whether every entry above the cursor is here."""
        return bool(self._entries) and self._entries[0].first <= cursor + 1

    def after(self, cursor: Position) -> Iterable[TailEntry]:
        """Return the entries above the cursor, which `holds_after`."""
        for index in range(bisect_right(self._entries, cursor, key=_position), len(self._entries)):
            yield self._entries[index]

    def blank(self, positions: Iterable[Position]) -> None:
        wanted = set(positions)
        if not wanted:
            return
        for entry in self._entries:
            if entry.position in wanted:
                entry.blank()

    def clear(self) -> None:
        self._entries.clear()
        self._bytes = 0


class RealmFollower:
    """The state of one realm in one process: the tail of its log, its live users and queues.

    Positions are dense, so an entry is the next one, an old one, or reveals a gap, which is read
    from Postgres. An entry that reserves positions stands for those, too. Even if hints are lost,
    duplicated or reordered, each entry is applied exactly once and in order.
    """

    def __init__(
        self,
        realm_cache: RealmCache,
        database: Database,
        *,
        epoch: int,
        position: Position,
        scheduler: CooperativeScheduler | None = None,
    ) -> None:
        self.realm_id: RealmId = realm_cache.realm_id
        self.realm_cache = realm_cache
        self.epoch = epoch
        self.position = position
        """Position of the last applied entry."""
        self.users = LiveUsers()
        self.queues: dict[str, EventQueue] = {}
        self.tail = Tail()
        self.log_pages = LogPageCache(database, self.realm_id)
        self._database = database
        self._ahead: dict[Position, LogEntry] = {}
        """By their first positions."""
        self._fetching: asyncio.Task[None] | None = None
        self._fetch_again = False
        self._is_stopped = False
        self._advanced = asyncio.Event()
        self._awaited = position
        """A known position that is not applied yet, for `lag_seconds`."""
        self._awaited_since = 0.0
        self._noticed = position
        """The highest known position."""
        self._is_applying = False
        """Whether a step is scheduled that applies further entries."""
        self._scheduler = scheduler or CooperativeScheduler()
        self.fanout = FanoutLoop(self.users, self._scheduler)
        """Deliveries to waiting polls."""

    def offer(self, epoch: int, entries: Sequence[LogEntry]) -> None:
        """Apply entries from this process or the bus."""
        if epoch != self.epoch:
            self.notice(epoch, entries[-1].position)
            return
        self._take(entries)
        if self._ahead and not self._has_next:
            self._fetch_soon(REORDER_SECONDS)

    def notice(self, epoch: int, position: Position) -> None:
        """Note that the clock has reached this position, and read the missing entries."""
        if epoch > self.epoch:
            self._start_epoch(epoch, position)
        elif epoch == self.epoch and position > self.position:
            self._noticed = max(self._noticed, position)
            if self._awaited <= self.position:
                self._awaited = position
                self._awaited_since = asyncio.get_running_loop().time()
            self._fetch_soon(0)

    def stop(self) -> None:
        """Read nothing any more: the database is about to be closed."""
        self._is_stopped = True
        if self._fetching is not None:
            self._fetching.cancel()

    def lag_seconds(self) -> float:
        """For how long the log has had entries that are not applied here."""
        if self._awaited <= self.position:
            return 0.0
        return asyncio.get_running_loop().time() - self._awaited_since

    async def reach(self, position: Position, timeout_seconds: float) -> bool:
        """Wait until a committed position has been applied; False at the timeout."""
        self.notice(self.epoch, position)
        return await self.applied(position, timeout_seconds)

    async def applied(self, position: Position, timeout_seconds: float) -> bool:
        """The same for entries that were offered, and wait for those before them."""
        try:
            async with asyncio.timeout(timeout_seconds):
                while self.position < position:
                    self._advanced.clear()
                    await self._advanced.wait()
        except TimeoutError:
            return False
        return True

    def collect(
        self,
        queue: EventQueue,
        entries: Iterable[TailEntry],
        *,
        after_k: int,
        limit: int,
        poll: traces.Span | None = None,
    ) -> tuple[list[WireEvent], Position]:
        """The queue's events from these entries, and the position of the last entry examined.

        `after_k` counts within the first entry, if that is the one at the queue's cursor. `poll`
        is the span of the request, if it is traced.
        """
        user = self.users.by_id[queue.user_id]
        events: list[WireEvent] = []
        reached = Position(0)
        for entry in entries:
            if entry.wanted_by(queue, user) and reaches_queue(
                entry.audience, user, queue, entry.position
            ):
                found = entry.for_queue(queue, user, after_k=after_k)
                events.extend(found)
                if found and entry.span is not None:
                    _note_collected(entry.span, poll)
            after_k = -1
            reached = entry.position
            if len(events) >= limit:
                break
        return events, reached

    def add_user(
        self, user: LiveUser, *, read_at: Position, contacts: LoadedContacts | None = None
    ) -> bool:
        """Add a user whose subscriptions were read at a position, and apply later changes.

        `contacts`, for a restricted guest, is from the same snapshot. Return False if the entries
        since then are no longer in memory.
        """
        if read_at < self.position and not self.tail.holds_after(read_at):
            return False
        since = list(self.tail.after(read_at)) if read_at < self.position else []
        if contacts is not None:
            user.contacts = self._contacts_of(user, contacts, since)
        self.users.add(user)
        for entry in since:
            self._change_users(entry, of=user.user_id)
        if contacts is not None and not self.users.contacts.holds(user.channels):
            self.users.remove(user.user_id)  # they have joined a channel since
            return False
        return True

    def _contacts_of(
        self, user: LiveUser, loaded: LoadedContacts, since: Sequence[TailEntry]
    ) -> Contacts:
        """Return the guest's contacts, after the changes in these entries."""
        tables = self.users.contacts
        new = set(tables.load(loaded))
        for entry in since:
            for user_id, channel_id, is_joining in entry.event.membership():
                if channel_id in new:
                    tables.change(user_id, channel_id, entry.position, is_joining=is_joining)
        contacts = Contacts(tables, loaded.address)
        contacts.met(loaded.partners, Position(0))
        for entry in since:
            if user.user_id in (people := entry.event.met()):
                contacts.met(people, entry.position)
        return contacts

    def end_queues(self, queues: Iterable[EventQueue]) -> None:
        """Drop queues that have ended; their next polls are refused."""
        for queue in list(queues):
            self.drop_queue(queue)

    def drop_queue(self, queue: EventQueue) -> None:
        """Remove a queue from memory; any process can load it again from its row."""
        self.queues.pop(queue.queue_id, None)
        self.release(queue)
        self.users.remove_queue(queue)

    def release(self, queue: EventQueue) -> None:
        """Answer the waiting poll, if there is one, with the events available."""
        if queue.waiter is not None:
            queue.release(*self.undelivered(queue, queue.waiter))

    def undelivered(self, queue: EventQueue, waiter: Waiter) -> tuple[list[WireEvent], Position]:
        """Events that the waiting poll has not got yet, and the position that they cover."""
        since = max(waiter.examined, self.fanout.completed_up_to(self.position))
        if since >= self.position:
            return [], self.position
        if not self.tail.holds_after(since):
            return [], since
        return self.collect(queue, self.tail.after(since), after_k=-1, limit=MAX_EVENTS)

    def _apply(self, entry: LogEntry) -> None:
        applied = TailEntry(entry)
        event = applied.event
        self.position = entry.position
        self._advanced.set()  # waiters resume after this callback
        self.realm_cache.forget(event.touches())
        self._change_users(applied)
        blanked = list(event.blanked())
        self.tail.blank(blanked)
        self.log_pages.blank(blanked)
        self.tail.append(applied)
        self._dispatch(applied)
        if applied.span is not None:
            applied.span.set(realm_id=self.realm_id, position=applied.position)
            applied.span.end()
        self._end_queues_of(event.ended_queues())
        if self.users.restricted:
            self._drop_incomplete_guests(event)

    def _change_users(self, entry: TailEntry, *, of: UserId | None = None) -> None:
        for user_id, channel_id, joined in entry.event.membership():
            if of in {None, user_id}:
                self.users.change_membership(user_id, channel_id, entry.position, joined=joined)
        if self.users.restricted and of is None:
            self._change_contacts(entry)
        muting = entry.event.muting()
        if muting is not None and of in {None, muting[0]}:
            user_id, sender_id, muted = muting
            self.users.change_muting(user_id, sender_id, entry.position, muted=muted)

    def _change_contacts(self, entry: TailEntry) -> None:
        """Apply new subscriptions and conversations to the contacts of guests."""
        event, position = entry.event, entry.position
        for user_id, channel_id, is_joining in event.membership():
            self.users.contacts.change(user_id, channel_id, position, is_joining=is_joining)
        people = event.met()
        for user_id in people:
            guest = self.users.restricted.get(user_id)
            if guest is not None and guest.contacts is not None:
                guest.contacts.met(people, position)
        if isinstance(event, UserAdded) and event.person.is_bot:
            self.users.contacts.add_bot(event.person.user_id)

    def _drop_incomplete_guests(self, event: Event) -> None:
        """Drop guests that have joined a channel whose subscribers are not loaded.

        Their next poll loads them.
        """
        for user_id, channel_id, is_joining in event.membership():
            guest = self.users.restricted.get(user_id)
            if guest is not None and is_joining and not self.users.contacts.holds([channel_id]):
                self.end_queues(guest.queues)

    def _take(self, entries: Iterable[LogEntry]) -> None:
        """Sort entries in, apply some now and the rest in time slices."""
        for entry in entries:
            if entry.position > self.position:
                self._ahead[entry.first] = entry
        if not self._is_applying:
            self._apply_some(APPLIED_AT_ONCE)

    @property
    def _has_next(self) -> bool:
        return Position(self.position + 1) in self._ahead

    def _apply_step(self) -> None:
        self._is_applying = False
        self._apply_some(APPLIED_PER_STEP)
        if self._ahead and not self._has_next and self._fetching is None:
            self._fetch_soon(REORDER_SECONDS)

    def _apply_some(self, count: int) -> None:
        try:
            for _ in range(count):
                entry = self._ahead.pop(Position(self.position + 1), None)
                if entry is None:
                    break
                self._apply(entry)
        finally:
            if self._has_next:
                self._is_applying = True
                self._scheduler.add(self._apply_step)

    def _dispatch(self, entry: TailEntry) -> None:
        """Deliver the entry to waiting polls; others read it from the tail."""
        if entry.event.wire_type and entry.audience is not NO_AUDIENCE:
            self.fanout.begin(entry.audience, partial(self._wake, entry), entry.position)

    def _wake(self, entry: TailEntry, user: LiveUser) -> None:
        for queue in user.queues:
            if (
                queue.waiter is not None
                and queue.waiter.examined < entry.position
                and entry.wanted_by(queue, user)
                and reaches_queue(entry.audience, user, queue, entry.position)
            ):
                if entry.position != self.position:
                    self.release(queue)
                    continue
                span = None if entry.span is None else entry.span.child("answer poll")
                queue.release(entry.for_queue(queue, user), self.position, span)

    def _end_queues_of(self, user_ids: Iterable[UserId]) -> None:
        for user_id in user_ids:
            user = self.users.by_id.get(user_id)
            if user is not None:
                self.end_queues(user.queues)

    def _start_epoch(self, epoch: int, position: Position) -> None:
        """Reset everything after the restore of a backup: the history in memory is void."""
        logger.warning("realtime.epoch_changed", realm_id=self.realm_id, epoch=epoch)
        self.epoch = epoch
        self.position = self._noticed = position
        self._ahead.clear()
        self._advanced.set()
        self.fanout.clear()
        self.tail.clear()
        self.log_pages.clear()
        self.realm_cache.forget_everything()
        self.end_queues(self.queues.values())

    def _fetch_soon(self, delay: float) -> None:
        if self._is_stopped:
            return
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._fetch(delay))
        else:
            self._fetch_again = True

    async def _fetch(self, delay: float) -> None:
        """Read missing entries from Postgres, once for all queues of the realm."""
        try:
            if delay:
                await asyncio.sleep(delay)
                self._fetch_again = False
                if not self._is_behind:
                    return
            while await self._fetch_chunk() or self._fetch_again:
                self._fetch_again = False
        except RETRYABLE_ERRORS as error:
            logger.warning("realtime.log_read_failed", realm_id=self.realm_id, error=str(error))
        finally:
            self._fetching = None

    @property
    def _is_behind(self) -> bool:
        """Whether known entries are missing here."""
        return bool(self._ahead) or self._noticed > self.position

    async def _fetch_chunk(self) -> bool:
        """Apply the next entries of the log; return whether there may be more."""
        cursor = self.position
        async with self._database.connection() as connection:
            rows = await event_log.after(
                connection,
                self.realm_id,
                cursor=cursor,
                limit=FETCH_ENTRIES,
                max_bytes=FETCH_BYTES,
            )
        self._take(
            LogEntry(row.position, row.kind, row.audience, row.body, row.write_id)
            for row in rows
            if row.epoch == self.epoch
        )
        while self._has_next:
            self._advanced.clear()
            await self._advanced.wait()
        # Fewer than the limit are all entries, or as many as fit into FETCH_BYTES.
        return self.position > cursor and (self._is_behind or len(rows) == FETCH_ENTRIES)


def _note_collected(span: traces.Span, poll: traces.Span | None) -> None:
    """Record in the trace of an event that a poll takes it; link it to the poll's, if traced."""
    answer = span.child("answer poll")
    if answer is None:
        return
    if poll is not None:
        poll.link(answer.context)
        answer.link(poll.context)
    answer.end()
