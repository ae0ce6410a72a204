"""A server process of another build: `python -m tests.acceptance.faults.launcher BUILD serve ...`

The builds are broken on purpose, each by one replaced function, so that tests can show that the
checker finds what it is for. `lossy` builds are sound, and lose hints.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from scripts.cli.main import main
from server import app
from server.api import messages
from server.domain.narrow import EventNarrow, QueueReader
from server.events.base import LogEntry
from server.realtime import audience, follower, poll
from server.realtime.audience import LiveUser
from server.realtime.follower import RealmFollower, Tail
from server.realtime.spans import STILL
from server.realtime.variants import TailEntry
from storage import event_log
from storage.ids import ChannelId, Position
from testkit.services.rabbitmq import LossyBus, LossyListener


def read_beyond_the_cursor() -> None:
    """Follow the log as if ids were enough: whatever is above the cursor is next."""

    def offer(self: RealmFollower, epoch: int, entries: Sequence[LogEntry]) -> None:
        del epoch
        _take(self, entries)

    async def fetch_chunk(self: RealmFollower) -> bool:
        async with self._database.connection() as connection:
            rows = await event_log.after(
                connection,
                self.realm_id,
                cursor=self.position,
                limit=follower.FETCH_ENTRIES,
                max_bytes=follower.FETCH_BYTES,
            )
        _take(self, [LogEntry(r.position, r.kind, r.audience, r.body, r.write_id) for r in rows])
        return False

    def after(self: Tail, cursor: Position) -> Iterator[TailEntry]:
        return (entry for entry in list(self._entries) if entry.position > cursor)

    _replace(RealmFollower, "offer", offer)
    _replace(RealmFollower, "_fetch_chunk", fetch_chunk)
    _replace(Tail, "after", after)


def _take(self: RealmFollower, entries: Iterable[LogEntry]) -> None:
    for entry in entries:
        if entry.position > self.position:
            self._apply(entry)


def take_positions_early(database: psycopg.Connection) -> None:
    """What goes with it in the database: numbers of a sequence, and no lock until the end."""
    database.execute(
        """
        CREATE SEQUENCE broken_positions;

        CREATE OR REPLACE FUNCTION next_position() RETURNS bigint
            LANGUAGE plpgsql VOLATILE AS $$
        DECLARE
            taken bigint := nextval('broken_positions');
        BEGIN
            PERFORM set_config('parley.position', taken::text, true);
            PERFORM set_config(
                'parley.taken', current_setting('parley.taken') || ',' || taken, true);
            RETURN taken;
        END $$;

        CREATE OR REPLACE FUNCTION clock_lock(
            p_realm_id bigint, OUT r_position bigint, OUT r_epoch bigint, OUT r_day date)
            LANGUAGE plpgsql AS $$
        BEGIN
            SELECT c.position, c.epoch, c.day INTO STRICT r_position, r_epoch, r_day
              FROM realm_clock c WHERE c.realm_id = p_realm_id;
            PERFORM set_config('parley.position', r_position::text, true),
                    set_config('parley.epoch', r_epoch::text, true),
                    set_config('parley.day', r_day::text, true),
                    set_config('parley.taken', '0', true);
        END $$;

        CREATE OR REPLACE FUNCTION clock_advance(p_realm_id bigint)
            RETURNS TABLE (r_position bigint, r_kind text, r_audience bytea, r_body bytea,
                           r_write_id uuid)
            LANGUAGE plpgsql AS $$
        DECLARE
            taken bigint[] := string_to_array(current_setting('parley.taken'), ',')::bigint[];
        BEGIN
            PERFORM pg_sleep(random() * 0.02);
            UPDATE realm_clock c SET position = greatest(c.position, current_position())
             WHERE c.realm_id = p_realm_id;
            RETURN QUERY SELECT l.position, l.kind, l.audience, l.body, l.write_id
                FROM event_log l
               WHERE l.realm_id = p_realm_id AND l.position = ANY(taken)
               ORDER BY l.position;
        END $$;
        """
    )


def ask_who_is_there_now() -> None:
    """Give an old message to those who are in its channel when it is delivered."""

    def received(self: LiveUser, channel_id: ChannelId, position: Position) -> bool:
        del position
        return any(last == STILL for _, last in self.spans(channel_id))

    _replace(LiveUser, "received", received)


def forget_names_of_sends() -> None:
    """Take every send for a new one, whatever its client calls it."""
    _replace(messages, "_idempotency_key", lambda *_: None)


def believe_in_answers() -> None:
    """Take whatever was given out for received."""
    sound = poll.begin

    async def trusting(realtime: Any, wait: Any, **asked: Any) -> Any:
        _, queue = await realtime.queue(asked["realm_id"], asked["user_id"], asked["queue_id"])
        asked["last_event_id"] = max(asked["last_event_id"], queue.last_id)
        return await sound(realtime, wait, **asked)

    _replace(poll, "begin", trusting)


def show_guests_everything() -> None:
    """Send guests the events that are for all but guests."""
    _replace(audience, "GUEST", -1)


def narrow_too_much() -> None:
    """Keep some of what passes a narrow from the queue all the same."""
    sound = EventNarrow.admits

    def admits(self: EventNarrow, event: Any, reader: QueueReader) -> bool:
        if event.wire_type == "message" and event.message.sender.id % 3 == 0:
            return False
        return sound(self, event, reader)

    _replace(EventNarrow, "admits", admits)


def narrow_too_little() -> None:
    """Forget all but the first term of a narrow."""
    sound = EventNarrow.parse.__func__  # type: ignore[attr-defined]

    def parse(cls: type[EventNarrow], narrow: Sequence[Sequence[str]]) -> EventNarrow:
        found: EventNarrow = sound(cls, narrow[:1])
        return found

    _replace(EventNarrow, "parse", classmethod(parse))


def lose_hints(share: float) -> None:
    """Lose a share of the hints on their way out, and as many on their way in."""
    open_bus = app._open_bus

    @asynccontextmanager
    async def lossy(settings: Any, database: Any, realtime: Any) -> Any:
        async with open_bus(settings, database, LossyListener(realtime, share)) as bus:  # type: ignore[arg-type]
            yield LossyBus(bus, share)

    _replace(app, "_open_bus", lossy)


def _replace(owner: object, name: str, value: object) -> None:
    assert hasattr(owner, name), f"{owner} has no {name}: the broken build is sound"
    setattr(owner, name, value)


BUILDS: dict[str, Callable[[], None]] = {
    "read-beyond-the-cursor": read_beyond_the_cursor,
    "ask-who-is-there-now": ask_who_is_there_now,
    "forget-names-of-sends": forget_names_of_sends,
    "believe-in-answers": believe_in_answers,
    "show-guests-everything": show_guests_everything,
    "narrow-too-much": narrow_too_much,
    "narrow-too-little": narrow_too_little,
    "lose-10": lambda: lose_hints(0.1),
    "lose-100": lambda: lose_hints(1.0),
}


def command(build: str) -> tuple[str, ...]:
    """The command of a server process of that build."""
    return (sys.executable, "-m", "tests.acceptance.faults.launcher", build, "serve")


if __name__ == "__main__":
    BUILDS[sys.argv.pop(1)]()
    main()
