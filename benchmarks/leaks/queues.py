"""Event queues of a history's people: what each must have got, and what it got."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.faults.http import NoAnswerError
from benchmarks.leaks.hands import UNKNOWN, Hands
from benchmarks.leaks.model import Model
from benchmarks.leaks.told import FORETOLD, Key, Told, things

CAPABILITIES: Final = {
    "archived_channels": True,
    "bulk_message_deletion": True,
    "empty_topic_name": True,
    "notification_settings_null": True,
    "stream_typing_notifications": True,
    "user_settings_object": True,
}


TOLD_ONCE = frozenset({"typing", "typing_edit_message"})
"""Kinds of events that no log keeps."""
AWAKE_OPERATIONS = 30
OVERDUE_SECONDS = 10.0
"""An event that has not come so long after what it tells of never comes."""


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
        """What register is asked for."""
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
    polled: int | None = None
    """After which operation; None: never."""
    must: Counter[Key] = field(default_factory=Counter)
    may: Counter[Key] = field(default_factory=Counter)
    channels: set[int] = field(default_factory=set)
    """Channels of which its user may have known since the last poll."""
    messages: set[int] = field(default_factory=set)
    """The same for messages."""

    def listens(self, told: Told) -> bool:
        if self.habit.kinds is not None and told.kind not in self.habit.kinds:
            return False
        return told.needs is None or self.habit.capabilities

    def expect(self, told: Told, model: Model) -> bool:
        """Note what is due; whether the queue must get it."""
        if told.message is not None and self.habit.channel is not None:
            message = model.messages[told.message]
            if message.channel != self.habit.channel:
                return False
        listens = self.habit.all_public and not model.users[self.user].is_guest
        of_public = listens and (told.is_public or self.user in told.lost_to)
        if self.user in told.must or of_public:
            if told.kind in TOLD_ONCE and not self._is_awake(model):
                self.may[told.key] += 1
                return False
            self.must[told.key] += 1
            return True
        if self.user in told.may or (listens and self.user in told.lost_perhaps_to):
            self.may[told.key] += 1
        return False

    def _is_awake(self, model: Model) -> bool:
        """Whether the client polls: what is kept nowhere is told to those who listen."""
        return self.polled is not None and model.now - self.polled <= AWAKE_OPERATIONS

    def blank(self, message: int) -> None:
        """The message is deleted: what told of its content need not come any more."""
        for key in [key for key in self.must if key[0] in _BLANKED and key[1] == message]:
            self.may[key] += self.must.pop(key)

    def learn(self, channels: frozenset[int], messages: frozenset[int]) -> None:
        """Its user may know these at the moment."""
        self.channels |= channels
        self.messages |= messages

    async def compare(self, hands: Hands, now: int) -> list[str]:
        """Poll until all is there that must be; what is wrong with it."""
        problems: list[str] = []
        got: Counter[Key] = Counter()
        self.polled = now
        while True:
            try:
                events = await self._poll(hands, waits=bool(self.must - got))
            except NoAnswerError:
                break
            for event in events:
                keys = list(things(event, hands))
                got.update(keys)
                if event["type"] not in FORETOLD:
                    problems += self._unknown(event, hands)
            if not self.must - got:
                break
        problems += [f"never got {key}" for key in (self.must - got).elements()]
        extra = got - self.must - self.may
        problems += [f"must not have got {key}" for key in extra.elements()]
        self.must.clear()
        self.may.clear()
        self.channels.clear()
        self.messages.clear()
        who = f"user {self.user}, {self.habit.name} queue"
        return [f"{who}: {problem}" for problem in problems]

    async def _poll(self, hands: Hands, *, waits: bool) -> list[dict[str, Any]]:
        answer = await hands.ask(
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

    def _unknown(self, event: Mapping[str, Any], hands: Hands) -> Iterator[str]:
        """Ids that other events hold, and that are not for this user."""
        for name, server_id in _ids(event):
            if name.startswith("message"):
                number = hands.messages.number(server_id)
                known = number in self.messages
            else:
                number = hands.channels.number(server_id)
                known = number in self.channels
            if number != UNKNOWN and not known:
                yield f"must not have heard of {name} {number} in an event {event['type']}"


async def open_queue(hands: Hands, user: int, habit: Habit) -> Queue:
    answer = await hands.ask(user, "POST", "/register", **habit.fields())
    assert answer.status == 200, answer.body
    return Queue(user, habit, answer.body["queue_id"], answer.body["last_event_id"])


_BLANKED = frozenset({"message", "update_message", "submessage"})
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
