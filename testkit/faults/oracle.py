"""Expected events of each queue, from the log and a model of memberships alone.

It reads the tables itself, shares no code with the server, and does not look at the audiences
that the log keeps: who must get an entry follows from the world at the start and from what the
log says happened since.
"""

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from testkit.faults.history import (
    ID_BITS,
    Narrow,
    QueueHistory,
    SendRecord,
    mark_of,
    message_mark,
)
from testkit.faults.world import REALM, World

ADMINISTRATOR, GUEST = 200, 600
RESERVED = "positions_reserved"
UNSEEN_KINDS = frozenset(
    {
        RESERVED,
        "tick",
        "job",
        "queues_ended",
        "user_topic",
        "stream/create",
        "stream/delete",
        "update_message_flags",
    }
)
"""Kinds of entries that no client of a run asks for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the log, as it stands in the table."""

    position: int
    epoch: int
    kind: str
    body: dict[str, Any]

    @property
    def first(self) -> int:
        """The first of the positions that it uses: some reserve those below their own."""
        return self.position - (self.body["count"] if self.kind == RESERVED else 0)


@dataclass(frozen=True, slots=True)
class Message:
    message_id: int
    sender_id: int
    channel_id: int | None
    conversation_id: int
    content: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """The contents of the database at the end of a run."""

    position: int
    epoch: int
    log: list[Entry]
    messages: dict[int, Message]
    dm_groups: dict[int, tuple[int, ...]]
    bases: dict[str, int]
    """The position at which a queue begins, by its id."""
    spans: dict[tuple[int, int], list[tuple[int, int | None]]]
    """First and last position of each subscription span, by (user, channel); None: still open."""
    topics: dict[int, str] = field(default_factory=dict)
    """The names of topics, by conversation."""


def forwarded_writes(url: str) -> int:
    """Return how many writes server processes say that others have committed for them.

    They say it every few seconds, so what has happened since is missing.
    """
    with psycopg.connect(url) as database:
        found = database.execute(
            "SELECT coalesce(sum((state ->> 'writes_forwarded')::float), 0)::int FROM workers"
        ).fetchone()
    assert found is not None
    return int(found[0])


def read_ledger(url: str) -> Ledger:
    """Read it all in one snapshot."""
    with psycopg.connect(url) as database:
        database.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        clock = database.execute(
            "SELECT position, epoch FROM realm_clock WHERE realm_id = %s", [REALM]
        ).fetchone()
        assert clock is not None
        return Ledger(
            position=clock[0],
            epoch=clock[1],
            log=_log(database),
            messages=_messages(database),
            dm_groups={
                row[0]: tuple(row[1])
                for row in database.execute(
                    "SELECT dm_group_id, user_ids FROM dm_groups WHERE realm_id = %s", [REALM]
                )
            },
            bases=dict(
                database.execute(
                    "SELECT queue_id, base FROM event_queues WHERE realm_id = %s", [REALM]
                ).fetchall()
            ),
            spans=_spans(database),
            topics=dict(
                database.execute(
                    "SELECT topic_id, name FROM topics WHERE realm_id = %s", [REALM]
                ).fetchall()
            ),
        )


def _log(database: psycopg.Connection) -> list[Entry]:
    rows = database.execute(
        "SELECT position, epoch, kind, body FROM event_log WHERE realm_id = %s ORDER BY position",
        [REALM],
    )
    return [Entry(p, e, kind, json.loads(body) if body else {}) for p, e, kind, body in rows]


def _messages(database: psycopg.Connection) -> dict[int, Message]:
    rows = database.execute(
        "SELECT id, sender_id, channel_id, conversation_id, content FROM messages"
        " WHERE realm_id = %s",
        [REALM],
    )
    return {row[0]: Message(*row) for row in rows}


def _spans(database: psycopg.Connection) -> dict[tuple[int, int], list[tuple[int, int | None]]]:
    rows = database.execute(
        "SELECT user_id, channel_id, lower(span), upper(span) - 1"
        "  FROM subscriptions, unnest(spans) AS span WHERE realm_id = %s ORDER BY 1, 2, 3",
        [REALM],
    )
    spans: dict[tuple[int, int], list[tuple[int, int | None]]] = defaultdict(list)
    for user_id, channel_id, first, last in rows:
        spans[user_id, channel_id].append((first, last))
    return dict(spans)


def _numbers() -> "array[int]":
    return array("q")


@dataclass(eq=False, slots=True)
class Expected:
    """The events that one queue must see: ids and marks, in order."""

    base: int
    until: int
    """The last position that matters: a queue that was deleted has a last answer."""
    ids: "array[int]" = field(default_factory=_numbers)
    marks: "array[int]" = field(default_factory=_numbers)
    subscribed: frozenset[int] = frozenset()
    """The channels of its user at its base."""
    narrow: Narrow | None = None

    def add(self, position: int, mark: int, place: "Place | None") -> None:
        if not self.base < position <= self.until:
            return
        if self.narrow is not None and place is not None and not self.narrow.passes(*place):
            return
        self.ids.append((position - self.base) << ID_BITS)
        self.marks.append(mark)


Place = tuple[int | None, str]
"""The channel and topic of a message; direct messages have neither."""


class Model:
    """The members of each channel, as the log says it, entry by entry."""

    def __init__(self, world: World, ledger: Ledger, sends: Iterable[SendRecord]) -> None:
        self.members = {c: set(users) for c, users in world.members.items()}
        self.spans: dict[tuple[int, int], list[tuple[int, int | None]]] = {
            (user_id, channel_id): [(1, None)]
            for channel_id, users in world.members.items()
            for user_id in users
        }
        self._ledger = ledger
        self._private = {c.channel_id for c in world.channels if c.is_private}
        self._guests = frozenset(u.user_id for u in world.users if u.role == GUEST)
        self._members_of_realm = frozenset(u.user_id for u in world.users if u.role != GUEST)
        self._administrators = frozenset(u.user_id for u in world.users if u.role <= ADMINISTRATOR)
        self._sends = {send.token: send for send in sends}
        self.problems: list[str] = []

    def apply(self, entry: Entry) -> Iterator[tuple[frozenset[int] | set[int], int, "Personal"]]:
        """The users who must get the entry, its mark, and what is different for some."""
        if entry.kind == "message":
            yield self._message(entry)
        elif entry.kind in ("subscription/add", "subscription/remove"):
            yield self._moved(entry)
        elif entry.kind in ("subscription/peer_add", "subscription/peer_remove"):
            yield self._peers(entry)
        elif entry.kind not in UNSEEN_KINDS:
            self.problems.append(f"the oracle does not know entries of kind {entry.kind}")

    def public_channel_of(self, entry: Entry) -> bool:
        """Whether queues that asked for all public channels get it too."""
        message = self._ledger.messages.get(entry.position)
        return message is not None and message.channel_id not in {None, *self._private}

    def place_of(self, entry: Entry) -> Place | None:
        """The place of the message that the entry announces; None for other entries."""
        if entry.kind != "message" or entry.position not in self._ledger.messages:
            return None
        message = self._ledger.messages[entry.position]
        return message.channel_id, self._ledger.topics.get(message.conversation_id, "")

    def _message(self, entry: Entry) -> tuple[frozenset[int] | set[int], int, "Personal"]:
        message = self._ledger.messages.get(entry.position)
        if message is None:
            self.problems.append(f"position {entry.position} announces a message that is not there")
            return frozenset(), 0, Personal({}, None, 0)
        channel_id = message.channel_id
        where: Any = channel_id
        if channel_id is None:
            where = self._ledger.dm_groups[message.conversation_id]
        audience = frozenset(where) if channel_id is None else frozenset(self.members[channel_id])

        def mark(flags: tuple[str, ...], local_id: str | None = None) -> int:
            return message_mark(
                message_id=message.message_id,
                sender_id=message.sender_id,
                where=where,
                token=message.content,
                flags=flags,
                local_id=local_id,
            )

        send = self._sends.get(message.content)
        own = mark(("read",))
        local = own if send is None else mark(("read",), send.local_id)
        queue_id = None if send is None else send.queue_id
        return audience, mark(()), Personal({message.sender_id: own}, queue_id, local)

    def _moved(self, entry: Entry) -> tuple[frozenset[int] | set[int], int, "Personal"]:
        joins = entry.kind == "subscription/add"
        channels = sorted(s["stream_id"] for s in entry.body["subscriptions"])
        users = entry.body["user_ids"]
        for channel_id in channels:
            for user_id in users:
                self._move(entry.position, user_id, channel_id, joins=joins)
        op = "add" if joins else "remove"
        return frozenset(users), mark_of("subscription", op, tuple(channels)), NOTHING_PERSONAL

    def _move(self, position: int, user_id: int, channel_id: int, *, joins: bool) -> None:
        members = self.members[channel_id]
        if joins == (user_id in members):
            self.problems.append(
                f"at {position} user {user_id} {'joins' if joins else 'leaves'} channel"
                f" {channel_id} for the second time"
            )
            return
        spans = self.spans.setdefault((user_id, channel_id), [])
        if joins:
            members.add(user_id)
            spans.append((position, None))
        else:
            members.remove(user_id)
            spans[-1] = (spans[-1][0], position)

    def _peers(self, entry: Entry) -> tuple[frozenset[int] | set[int], int, "Personal"]:
        joins = entry.kind == "subscription/peer_add"
        channels, users = entry.body["stream_ids"], entry.body["user_ids"]
        knowing = set(self._members_of_realm | self._guests)
        for channel_id in channels:
            everyone = channel_id not in self._private
            others = self._members_of_realm if everyone else self._administrators
            knowing &= self.members[channel_id] | others
        if joins:
            knowing -= set(users)
        op = "peer_add" if joins else "peer_remove"
        mark = mark_of("subscription", op, tuple(sorted(channels)), tuple(sorted(users)))
        return knowing, mark, NOTHING_PERSONAL


@dataclass(frozen=True, slots=True)
class Personal:
    """Differences of an event for some queues."""

    by_user: Mapping[int, int]
    queue_id: str | None
    queue_mark: int


NOTHING_PERSONAL = Personal({}, None, 0)


def foretell(
    world: World, ledger: Ledger, sends: Sequence[SendRecord], queues: Sequence[QueueHistory]
) -> tuple[dict[str, Expected], list[str]]:
    """The events due to each queue, from its base to the end of the log; and all oddities."""
    model = Model(world, ledger, sends)
    expected = {
        queue.queue_id: Expected(base, _until(ledger, queue, base), narrow=queue.narrow)
        for queue in queues
        if (base := _base(ledger, queue)) is not None
    }
    by_user: dict[int, list[tuple[str, Expected]]] = defaultdict(list)
    by_base: dict[int, list[tuple[QueueHistory, Expected]]] = defaultdict(list)
    all_public: list[tuple[int, str, Expected]] = []
    for queue in queues:
        each = expected.get(queue.queue_id)
        if each is not None:
            by_user[queue.user_id].append((queue.queue_id, each))
            by_base[each.base].append((queue, each))
            if queue.all_public:
                all_public.append((queue.user_id, queue.queue_id, each))
    _note_subscribed(model, by_base.get(0, []))
    for entry in ledger.log:
        place = model.place_of(entry)
        for audience, mark, personal in model.apply(entry):
            for user_id in audience:
                plain = personal.by_user.get(user_id, mark)
                for queue_id, each in by_user.get(user_id, ()):
                    local = queue_id == personal.queue_id
                    each.add(entry.position, personal.queue_mark if local else plain, place)
            if all_public and model.public_channel_of(entry):
                for user_id, queue_id, each in all_public:
                    if user_id not in audience:
                        plain = personal.by_user.get(user_id, mark)
                        local = queue_id == personal.queue_id
                        each.add(entry.position, personal.queue_mark if local else plain, place)
        _note_subscribed(model, by_base.get(entry.position, []))
    model.problems += _compare_spans(model.spans, ledger.spans)
    return expected, model.problems


def _base(ledger: Ledger, queue: QueueHistory) -> int | None:
    """The position at which the queue begins; None for a deleted one that got no message."""
    return ledger.bases.get(queue.queue_id, queue.base)


def _until(ledger: Ledger, queue: QueueHistory, base: int) -> int:
    return ledger.position if queue.is_finished else base + (queue.reached >> ID_BITS)


def _note_subscribed(model: Model, begun: Iterable[tuple[QueueHistory, Expected]]) -> None:
    for queue, each in begun:
        each.subscribed = frozenset(
            channel_id for channel_id, users in model.members.items() if queue.user_id in users
        )


def _compare_spans(
    model: Mapping[tuple[int, int], list[tuple[int, int | None]]],
    stored: Mapping[tuple[int, int], list[tuple[int, int | None]]],
) -> Iterator[str]:
    """Differences between the rows of subscriptions and the log.

    A row's span begins after the position of joining and ends with that of leaving; which of
    the two positions it counts in matters to no message, for neither is one.
    """
    for key in model.keys() | stored.keys():
        logged, kept = model.get(key, []), stored.get(key, [])
        if len(logged) != len(kept) or not all(map(_same_span, logged, kept)):
            yield f"user {key[0]} in channel {key[1]}: {logged} in the log, {kept} in the row"


def _same_span(logged: tuple[int, int | None], kept: tuple[int, int | None]) -> bool:
    (first, last), (kept_first, kept_last) = logged, kept
    ends_alike = last == kept_last or (last is not None and kept_last == last - 1)
    return kept_first in (first, first + 1) and ends_alike
