"""Event queues of the users of a history: expected and received events."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from testkit.faults.http import NoAnswerError
from testkit.leaks.expected_events import PREDICTED, ExpectedEvent, Key, things
from testkit.leaks.model import Model
from testkit.leaks.operations import NUMBERS_EACH
from testkit.leaks.server_clients import UNKNOWN, ServerClients
from testkit.leaks.shown_people import addressed_in, named_in

CAPABILITIES: Final = {
    "archived_channels": True,
    "bulk_message_deletion": True,
    "empty_topic_name": True,
    "notification_settings_null": True,
    "stream_typing_notifications": True,
    "user_settings_object": True,
}


EPHEMERAL_KINDS = frozenset({"typing", "typing_edit_message"})
"""Kinds of events that no log keeps."""
AWAKE_OPERATIONS = 30 * NUMBERS_EACH
AWAKE_SECONDS = 60.0
"""After IDLE_QUEUE_SECONDS without a poll, a server drops pending ephemeral events."""
EVENTS_AN_ANSWER = 100
"""With fewer, there were no more."""
OVERDUE_SECONDS = 10.0
"""An event that has not arrived so long after its operation never does."""


@dataclass(frozen=True, slots=True)
class Habit:
    """How a client listens."""

    name: str
    kinds: tuple[str, ...] | None = None
    all_public: bool = False
    capabilities: bool = True
    channel: int | None = None
    """Only messages of this channel."""

    def fields(self) -> dict[str, Any]:
        """The parameters of the register request."""
        asked: dict[str, Any] = {"fetch_event_types": ["realm"]}
        if self.kinds is not None:
            asked["event_types"] = list(self.kinds)
        if self.all_public:
            asked["all_public_streams"] = True
        if self.capabilities:
            asked["client_capabilities"] = CAPABILITIES
        if self.channel is not None:
            asked["narrow"] = [["channel", f"channel {self.channel}"]]
        return asked


@dataclass(eq=False, slots=True)
class Queue:
    """One queue, and what has become of it."""

    user: int
    habit: Habit
    queue_id: str
    last_event_id: int
    opened: int
    polled: int | None = None
    """After which operation; None: never."""
    polled_at: float = 0.0
    """The same on the monotonic clock, in seconds."""
    must: Counter[Key] = field(default_factory=Counter)
    may: Counter[Key] = field(default_factory=Counter)
    got: Counter[Key] = field(default_factory=Counter)
    """Events received since the last look."""
    met: list[tuple[str, int, str]] = field(default_factory=list)
    """Channels and messages in events that no operation foretells."""
    channels: set[int] = field(default_factory=set)
    """Channels of which its user may have known since the last poll."""
    messages: set[int] = field(default_factory=set)
    """The same for messages."""
    people: set[int] = field(default_factory=set)
    """The same for people."""

    def listens(self, expected: ExpectedEvent) -> bool:
        if self.habit.kinds is not None and expected.kind not in self.habit.kinds:
            return False
        return expected.needs is None or self.habit.capabilities

    def expect(self, expected: ExpectedEvent, model: Model) -> bool:
        """Note what is due; whether the queue must get it."""
        if expected.message is not None and self.habit.channel is not None:
            message = model.messages[expected.message]
            if message.channel != self.habit.channel:
                return False
        listens = self.habit.all_public and not model.users[self.user].is_guest
        of_public = listens and (expected.is_public or self.user in expected.lost_to)
        if self.user in expected.must or of_public:
            if expected.kind in EPHEMERAL_KINDS and not self._is_awake(model):
                self.may[expected.key] += 1
                return False
            self.must[expected.key] += 1
            return True
        if self.user in expected.may or (listens and self.user in expected.lost_perhaps_to):
            self.may[expected.key] += 1
        return False

    def _is_awake(self, model: Model) -> bool:
        """Whether the client polls: ephemeral events reach only waiting clients."""
        return self.polled is not None and model.now - self.polled <= AWAKE_OPERATIONS

    def blank(self, message: int) -> None:
        """The message is deleted: events with its content are no longer required."""
        self._excuse(key for key in self.must if key[0] in _BLANKED and key[1] == message)

    def _excuse(self, keys: Iterable[Key]) -> None:
        """These need not come any more."""
        for key in list(keys):
            self.may[key] += self.must.pop(key)

    def learn(
        self, channels: frozenset[int], messages: frozenset[int], people: frozenset[int]
    ) -> None:
        """Its user may know these at the moment."""
        self.channels |= channels
        self.messages |= messages
        self.people |= people

    async def compare(self, clients: ServerClients, now: int) -> list[str]:
        """Poll until all is there that must be; what is wrong with it."""
        if time.monotonic() - self.polled_at > AWAKE_SECONDS:
            self._excuse(key for key in self.must if key[0] in _EPHEMERAL_KEYS)
        self.polled = now
        self.polled_at = time.monotonic()
        while True:
            try:
                events = await self._poll(clients, waits=bool(self.must - self.got))
            except NoAnswerError:
                break
            self._note(events, clients)
            if not self.must - self.got:
                break
        problems = self.wrong()
        self.forget()
        return problems

    def forget(self) -> None:
        """Begin anew: what was due has come."""
        for counted in (self.must, self.may, self.got):
            counted.clear()
        for known in (self.channels, self.messages, self.people):
            known.clear()
        self.met.clear()

    def wrong(self) -> list[str]:
        """Unexpected events, and missing ones."""
        problems = [f"never got {key}" for key in (self.must - self.got).elements()]
        extra = self.got - self.must - self.may
        problems += [f"must not have got {key}" for key in extra.elements()]
        problems += [
            f"must not have heard of {name} {number} in an event {kind}"
            for name, number, kind in self.met
            if number not in self._known(name)
        ]
        who = f"user {self.user}, {self.habit.name} queue"
        return [f"{who}: {problem}" for problem in problems]

    def _known(self, name: str) -> set[int]:
        """The ids that its user may know of, of the kind to which a field of this name refers."""
        if name == _PERSON:
            return self.people
        return self.messages if name.startswith("message") else self.channels

    async def take(self, clients: ServerClients) -> None:
        """Get all that there is, without waiting for more."""
        while True:
            events = await self._poll(clients, waits=False)
            self._note(events, clients)
            if len(events) < EVENTS_AN_ANSWER:
                return

    def _note(self, events: Iterable[Mapping[str, Any]], clients: ServerClients) -> None:
        for event in events:
            self.got.update(things(event, clients))
            shown = named_in(event) | addressed_in(event)
            self.met += [(_PERSON, number, event["type"]) for number in shown]
            if event["type"] not in PREDICTED:
                self.met += _met(event, clients)

    async def has_ended(self, clients: ServerClients) -> bool:
        """Whether the server says so."""
        answer = await clients.ask(
            self.user,
            "GET",
            "/events",
            queue_id=self.queue_id,
            last_event_id=self.last_event_id,
            dont_block=True,
        )
        return answer.body.get("code") == "BAD_EVENT_QUEUE_ID"

    async def _poll(self, clients: ServerClients, *, waits: bool) -> list[dict[str, Any]]:
        answer = await clients.ask(
            self.user,
            "GET",
            "/events",
            queue_id=self.queue_id,
            last_event_id=self.last_event_id,
            dont_block=not waits,
            patience=OVERDUE_SECONDS,
        )
        if answer.status != 200:
            raise NoAnswerError(str(answer.body))
        events: list[dict[str, Any]] = answer.body["events"]
        for event in events:
            self.last_event_id = max(self.last_event_id, event["id"])
        return events


def _met(event: Mapping[str, Any], clients: ServerClients) -> Iterator[tuple[str, int, str]]:
    """Channels and messages of the history in an event: as what, which, and where."""
    for name, server_id in _ids(event):
        names = clients.messages if name.startswith("message") else clients.channels
        number = names.number(server_id)
        if number != UNKNOWN:
            yield name, number, event["type"]


async def open_queue(clients: ServerClients, user: int, habit: Habit, now: int) -> Queue:
    answer = await clients.ask(user, "POST", "/register", **habit.fields())
    assert answer.status == 200, answer.body
    return Queue(user, habit, answer.body["queue_id"], answer.body["last_event_id"], now)


def note_expected(queues: Sequence[Queue], expected: ExpectedEvent, model: Model) -> int:
    """Note what the queues must get; how many expectations that are."""
    if expected.kind == "delete_message" and expected.key[1] in model.gone:
        for queue in queues:
            queue.blank(int(str(expected.key[1])))
    listening = [queue for queue in queues if queue.listens(expected)]
    for queue in listening:
        queue.expect(expected, model)
    return len(listening)


def learn(queues: Iterable[Queue], model: Model) -> None:
    """Note of which channels and messages their users may know at the moment."""
    known: dict[int, tuple[frozenset[int], frozenset[int], frozenset[int]]] = {}
    for queue in queues:
        if queue.user not in known:
            user = model.users[queue.user]
            seen = frozenset(c.number for c in model.channels.values() if model.sees(user, c))
            known[queue.user] = seen, model.readable(user), model.known_to(user)
        queue.learn(*known[queue.user])


_PERSON: Final = "person"
_EPHEMERAL_KEYS = frozenset({*EPHEMERAL_KINDS, "typing shown"})
_BLANKED = frozenset({"message", "message shown", "named", "update_message", "submessage"})
_NAMED = frozenset({"stream_id", "stream_ids", "new_stream_id", "message_id", "message_ids"})


def _ids(value: object) -> Iterator[tuple[str, int]]:
    """The ids of channels and messages anywhere in it, by the names of their fields."""
    if isinstance(value, list):
        for each in value:
            yield from _ids(each)
    if not isinstance(value, dict):
        return
    for name, held in value.items():
        if name in _NAMED:
            for each in held if isinstance(held, list) else [held]:
                if isinstance(each, int):
                    yield name, each
        else:
            yield from _ids(held)
