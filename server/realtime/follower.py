"""Follows one realm's log in order, and wakes the polls that it concerns."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial

import structlog

from server.events.base import NOBODY, Event, LogEntry
from server.events.users import UserAdded
from server.realm_cache import RealmCache
from server.realtime.audience import LiveUser, LiveUsers, reaches_queue
from server.realtime.contacts import Contacts, LoadedContacts
from server.realtime.fanout_loop import FanoutLoop
from server.realtime.log_page_cache import LogPageCache
from server.realtime.queue import MAX_EVENTS, EventQueue, Waiter, WireEvent
from server.realtime.variants import TailEntry
from server.runtime.scheduler import CooperativeScheduler
from storage import event_log
from storage.database import NOT_NOW, Database
from storage.ids import Position, RealmId, UserId

logger = structlog.get_logger(__name__)

TAIL_BYTES = 4 * 1024 * 1024
"""How much of a realm's log a process remembers: what polls that come back soon need."""
REORDER_SECONDS = 0.005
"""How long news that is ahead waits for what should have come before."""
FETCH_ENTRIES = 2_000
FETCH_BYTES = 2 * 1024 * 1024
APPLIED_AT_ONCE = 200
"""As many as share a commit, mostly: more would hold the loop for too long."""
APPLIED_A_STEP = 8


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
        """Whether every entry above the cursor is here."""
        return bool(self._entries) and self._entries[0].position <= cursor + 1

    def after(self, cursor: Position) -> Iterable[TailEntry]:
        """The entries above the cursor, which `holds_after`."""
        start = max(0, cursor + 1 - self._entries[0].position)
        for index in range(start, len(self._entries)):
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
    """What one process knows of one realm: its log's tail, and the queues that it serves.

    Positions are dense, so an entry is the next one, an old one, or shows a gap; a gap is read
    from Postgres. Whatever hints are lost, doubled or out of order, each entry is applied once
    and in order.
    """

    def __init__(
        self,
        realm_cache: RealmCache,
        database: Database,
        *,
        epoch: int,
        position: Position,
        turns: CooperativeScheduler | None = None,
    ) -> None:
        self.realm_id: RealmId = realm_cache.realm_id
        self.realm_cache = realm_cache
        self.epoch = epoch
        self.position = position
        """Everything up to here has been applied."""
        self.users = LiveUsers()
        self.queues: dict[str, EventQueue] = {}
        self.tail = Tail()
        self.past = LogPageCache(database, self.realm_id)
        self._database = database
        self._ahead: dict[Position, LogEntry] = {}
        self._fetching: asyncio.Task[None] | None = None
        self._fetch_again = False
        self._advanced = asyncio.Event()
        self._awaited = position
        """A position that is known of, and since when; `lag_seconds` until it is reached."""
        self._awaited_since = 0.0
        self._noticed = position
        """The last position that is known of."""
        self._is_applying = False
        """Whether there is a turn for what can be applied."""
        self._turns = turns or CooperativeScheduler()
        self.rounds = FanoutLoop(self.users, self._turns)
        """What is being told to polls that wait."""

    def offer(self, epoch: int, entries: Sequence[LogEntry]) -> None:
        """News with its data, from this process or the bus."""
        if epoch != self.epoch:
            self.notice(epoch, entries[-1].position)
            return
        self._take(entries)
        if self._ahead and not self._has_next:
            self._fetch_soon(REORDER_SECONDS)

    def notice(self, epoch: int, position: Position) -> None:
        """News without data: the clock stands at this position, or did."""
        if epoch > self.epoch:
            self._start_epoch(epoch, position)
        elif epoch == self.epoch and position > self.position:
            self._noticed = max(self._noticed, position)
            if self._awaited <= self.position:
                self._awaited = position
                self._awaited_since = asyncio.get_running_loop().time()
            self._fetch_soon(0)

    def lag_seconds(self) -> float:
        """For how long there has been something in the log that is not applied here."""
        if self._awaited <= self.position:
            return 0.0
        return asyncio.get_running_loop().time() - self._awaited_since

    async def reach(self, position: Position, timeout_seconds: float) -> bool:
        """Wait until everything up to a position that is committed has been applied."""
        self.notice(self.epoch, position)
        try:
            async with asyncio.timeout(timeout_seconds):
                while self.position < position:
                    self._advanced.clear()
                    await self._advanced.wait()
        except TimeoutError:
            return False
        return True

    def collect(
        self, queue: EventQueue, entries: Iterable[TailEntry], *, after_k: int, limit: int
    ) -> tuple[list[WireEvent], Position]:
        """What the queue gets from these entries, and the position up to which it was looked for.

        `after_k` counts within the first entry, if that is the one at the queue's cursor.
        """
        user = self.users.by_id[queue.user_id]
        events: list[WireEvent] = []
        reached = Position(0)
        for entry in entries:
            if entry.wanted_by(queue, user) and reaches_queue(
                entry.audience, user, queue, entry.position
            ):
                events.extend(entry.for_queue(queue, user, after_k=after_k))
            after_k = -1
            reached = entry.position
            if len(events) >= limit:
                break
        return events, reached

    def add_user(
        self, user: LiveUser, *, read_at: Position, contacts: LoadedContacts | None = None
    ) -> bool:
        """Serve somebody whose subscriptions were read at a position, here passed or not.

        `contacts` was read with them, of a restricted guest. Applies
        what has changed since; False if that is no longer in memory.
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
        """The guest's, with what these entries have changed for all guests in their channels."""
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
        """These queues are gone: their polls are answered, and find out with the next one."""
        for queue in list(queues):
            self.let_go(queue)

    def let_go(self, queue: EventQueue) -> None:
        """Forget a queue here; its row, if it has one, serves it elsewhere or later."""
        self.queues.pop(queue.queue_id, None)
        self.release(queue)
        self.users.remove_queue(queue)

    def release(self, queue: EventQueue) -> None:
        """Answer the poll that waits, if one does, with what there is for it."""
        if queue.waiter is not None:
            queue.release(*self.unlooked(queue, queue.waiter))

    def unlooked(self, queue: EventQueue, waiter: Waiter) -> tuple[list[WireEvent], Position]:
        """What a poll that waits has not been told yet, and up to where there is no more."""
        since = max(waiter.looked, self.rounds.looked_before(self.position))
        if since >= self.position:
            return [], self.position
        if not self.tail.holds_after(since):
            return [], since
        return self.collect(queue, self.tail.after(since), after_k=-1, limit=MAX_EVENTS)

    def _apply(self, entry: LogEntry) -> None:
        applied = TailEntry(entry)
        event = applied.event
        self.position = entry.position
        self._advanced.set()  # who waits goes on when all of this is done
        self.realm_cache.forget(event.touches())
        self._change_users(applied)
        blanked = list(event.blanked())
        self.tail.blank(blanked)
        self.past.blank(blanked)
        self.tail.append(applied)
        self._dispatch(applied)
        self._end_queues_of(event.ended_queues())
        if self.users.restricted:
            self._let_newcomers_go(event)

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
        """Note subscriptions and conversations: guests come to know people by them."""
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

    def _let_newcomers_go(self, event: Event) -> None:
        """Forget guests who have joined a channel of which it is not known here who is in it.

        Their next poll reads that.
        """
        for user_id, channel_id, is_joining in event.membership():
            guest = self.users.restricted.get(user_id)
            if guest is not None and is_joining and not self.users.contacts.holds([channel_id]):
                self.end_queues(guest.queues)

    def _take(self, entries: Iterable[LogEntry]) -> None:
        """Apply these when it is their turn: some now, and what there is more of in turns.

        What others offer meanwhile finds its place among them.
        """
        for entry in entries:
            if entry.position > self.position:
                self._ahead[entry.position] = entry
        if not self._is_applying:
            self._apply_some(APPLIED_AT_ONCE)

    @property
    def _has_next(self) -> bool:
        return Position(self.position + 1) in self._ahead

    def _apply_step(self) -> None:
        self._is_applying = False
        self._apply_some(APPLIED_A_STEP)
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
                self._turns.add(self._apply_step)

    def _dispatch(self, entry: TailEntry) -> None:
        """Let the polls that wait for it have the entry; others find it in the tail."""
        if entry.event.wire_type and entry.audience is not NOBODY:
            self.rounds.begin(entry.audience, partial(self._wake, entry), entry.position)

    def _wake(self, entry: TailEntry, user: LiveUser) -> None:
        for queue in user.queues:
            if (
                queue.waiter is not None
                and queue.waiter.looked < entry.position
                and entry.wanted_by(queue, user)
                and reaches_queue(entry.audience, user, queue, entry.position)
            ):
                if entry.position == self.position:
                    queue.release(entry.for_queue(queue, user), self.position)
                else:
                    self.release(queue)

    def _end_queues_of(self, user_ids: Iterable[UserId]) -> None:
        for user_id in user_ids:
            user = self.users.by_id.get(user_id)
            if user is not None:
                self.end_queues(user.queues)

    def _start_epoch(self, epoch: int, position: Position) -> None:
        """A backup was restored: whatever was known belongs to a past that did not happen."""
        logger.warning("realtime.epoch_changed", realm_id=self.realm_id, epoch=epoch)
        self.epoch = epoch
        self.position = self._noticed = position
        self._ahead.clear()
        self._advanced.set()
        self.rounds.clear()
        self.tail.clear()
        self.past.clear()
        self.realm_cache.forget_everything()
        self.end_queues(self.queues.values())

    def _fetch_soon(self, delay: float) -> None:
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._fetch(delay))
        else:
            self._fetch_again = True

    async def _fetch(self, delay: float) -> None:
        """Read from Postgres what is missing, once for all queues of the realm."""
        try:
            if delay:
                await asyncio.sleep(delay)
                self._fetch_again = False
                if not self._is_behind:
                    return
            while await self._fetch_chunk() or self._fetch_again:
                self._fetch_again = False
        except NOT_NOW as error:
            logger.warning("realtime.log_read_failed", realm_id=self.realm_id, error=str(error))
        finally:
            self._fetching = None

    @property
    def _is_behind(self) -> bool:
        """Whether something is known of that is not here."""
        return bool(self._ahead) or self._noticed > self.position

    async def _fetch_chunk(self) -> bool:
        """Apply the next entries of the log. Whether there may be more."""
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
        # Fewer than asked for may be all, or as many as there was room for.
        return self.position > cursor and (self._is_behind or len(rows) == FETCH_ENTRIES)
