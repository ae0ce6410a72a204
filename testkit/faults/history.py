"""Records of what the clients sent and received: the checker's evidence."""

import secrets
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

ID_BITS = 10
"""An event's id is (position - base) << ID_BITS, plus its place among those of its position."""


def mark_of(*facts: object) -> int:
    """A number for an event's content: equal for equal content, in this process."""
    return hash(facts) >> 1


def message_mark(
    *, message_id: int, sender_id: int, where: object, token: str, flags: object, local_id: object
) -> int:
    return mark_of("message", message_id, sender_id, where, token, flags, local_id)


def wire_mark(event: dict[str, Any]) -> int:
    """The mark of an event as a client got it."""
    kind, op = event["type"], event.get("op")
    if kind == "message":
        message = event["message"]
        people = message["display_recipient"]
        return message_mark(
            message_id=message["id"],
            sender_id=message["sender_id"],
            where=message.get("stream_id") or tuple(sorted(person["id"] for person in people)),
            token=message["content"],
            flags=tuple(sorted(event.get("flags", ()))),
            local_id=event.get("local_message_id"),
        )
    if kind == "subscription" and op in ("add", "remove"):
        channels = tuple(sorted(s["stream_id"] for s in event["subscriptions"]))
        return mark_of(kind, op, channels)
    if kind == "subscription" and op in ("peer_add", "peer_remove"):
        return mark_of(
            kind, op, tuple(sorted(event["stream_ids"])), tuple(sorted(event["user_ids"]))
        )
    return mark_of(kind, op)


@dataclass(frozen=True, slots=True)
class Narrow:
    """A queue's narrow: the messages of one channel, perhaps of one topic there."""

    channel_id: int
    channel_name: str
    topic: str | None = None

    def terms(self) -> list[list[str]]:
        """The narrow in the form that register takes."""
        channel = ["channel", self.channel_name]
        return [channel] if self.topic is None else [channel, ["topic", self.topic]]

    def passes(self, channel_id: int | None, topic: str) -> bool:
        return channel_id == self.channel_id and self.topic in (None, topic)


def _numbers() -> "array[int]":
    return array("q")


@dataclass(eq=False, slots=True)
class QueueHistory:
    """One event queue, from register to its end, as its client remembers it."""

    queue_id: str
    user_id: int
    all_public: bool
    floor: int
    """The highest id of an accepted message that the client's world knew before register."""
    subscribed: frozenset[int] | None
    """The channels that register said the user was in; None where it did not say."""
    narrow: Narrow | None = None
    ids: "array[int]" = field(default_factory=_numbers)
    marks: "array[int]" = field(default_factory=_numbers)
    last_id: int = -1
    """The client's next acknowledgement; less than `reached` after it has lost a response."""
    reached: int = -1
    base: int | None = None
    """The position at which it begins, as the ids of its messages tell."""
    heartbeats: int = 0
    repeated: int = 0
    is_finished: bool = False
    """It has seen the last message of the run."""

    def accept(self, asked: int, events: list[dict[str, Any]]) -> list[str]:
        """Take an answer to a poll after `asked`, perhaps the second; what is wrong with it."""
        wrong = []
        before = asked
        durable: list[tuple[int, int]] = []
        for event in events:
            if event["id"] <= before:
                wrong.append(f"id {event['id']} follows {before}")
            before = event["id"]
            if event["type"] == "heartbeat":
                self.heartbeats += 1
                continue
            durable.append((event["id"], wire_mark(event)))
            if event["type"] == "message":
                base = event["message"]["id"] - (event["id"] >> ID_BITS)
                self.base = base if self.base is None else self.base
                if self.base != base:
                    wrong.append(f"event {event['id']} stands for another position than others")
        wrong += self._compare_with_known(asked, before, durable)
        for event_id, mark in durable:
            if event_id > (self.ids[-1] if self.ids else -1):
                self.ids.append(event_id)
                self.marks.append(mark)
        self.last_id = max(self.last_id, before)
        self.reached = max(self.reached, before)
        return wrong

    def _compare_with_known(
        self, asked: int, reached: int, durable: list[tuple[int, int]]
    ) -> list[str]:
        """Check that events delivered once come again the same, and completely."""
        start, end = bisect_right(self.ids, asked), bisect_right(self.ids, reached)
        known = list(zip(self.ids[start:end], self.marks[start:end], strict=True))
        if not known:
            return []
        self.repeated += len(known)
        again = durable[: bisect_left(durable, (known[-1][0] + 1, 0))]
        if again == known:
            return []
        return [f"given out before: {known[:5]}, and now: {again[:5]} (after {asked})"]


@dataclass(eq=False, slots=True)
class SendRecord:
    """A message that a user tried to send, and the response."""

    token: str
    sender_id: int
    where: int | tuple[int, ...]
    """A channel, or the people of a direct message, sorted."""
    floor: int
    """The highest id accepted before it was sent."""
    queue_id: str | None = None
    local_id: str | None = None
    attempts: int = 0
    message_id: int | None = None
    refusal: str | None = None


@dataclass(slots=True)
class Evidence:
    """All that the clients remember."""

    sends: list[SendRecord] = field(default_factory=list)
    queues: list[QueueHistory] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    troubles: Counter[str] = field(default_factory=Counter)
    """Failures that the faults explain."""
    accepted: int = 0
    highest_id: int = 0
    events: int = 0
    """Durable events that came for the first time."""
    finish: str = field(default_factory=lambda: f"finish {secrets.token_hex(8)}")
    """The content of the message that ends the run."""

    def violation(self, text: str) -> None:
        if len(self.violations) < 1_000:
            self.violations.append(text)
