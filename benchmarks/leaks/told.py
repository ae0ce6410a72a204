"""What an operation lets people know: events that some must get, and nobody else may."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.leaks.hands import Hands

NOBODY: frozenset[int] = frozenset()

Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One thing that an event says."""

    kind: str
    """The event's type."""
    key: Key
    must: frozenset[int]
    """Users all of whose queues for such events get it."""
    may: frozenset[int] = NOBODY
    """Others who may get it: the rules do not say."""
    is_public: bool = False
    """Queues that asked for all public channels get it, too."""
    lost_to: frozenset[int] = NOBODY
    """Users whose queues for all public channels get it, too: what was public is so no more."""
    lost_perhaps_to: frozenset[int] = NOBODY
    """Users whose queues for all public channels may get it."""
    message: int | None = None
    """The message that a queue's narrow is held against."""
    needs: str | None = None
    """A capability of clients without which it is not sent."""


def things(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    """What an event says, one by one; nothing for events that no operation foretells."""
    reader = _READERS.get(event["type"])
    if reader is not None:
        yield from reader(event, hands)


def _message(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    message = event["message"]
    number = hands.messages.number(message["id"])
    yield ("message", number, message["content"])
    if "mentioned" in event["flags"]:
        yield ("named", number, message["content"])


def _reaction(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    message = hands.messages.number(event["message_id"])
    user = hands.users.number(event["user_id"])
    yield ("reaction", event["op"], message, user, event["emoji_name"])


def _typing(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    sender = hands.users.number(event["sender"]["user_id"])
    if event["message_type"] == "direct":
        people = hands.users.numbers(each["user_id"] for each in event["recipients"])
        yield ("typing", event["op"], sender, people)
    else:
        channel = hands.channels.number(event["stream_id"])
        yield ("typing", event["op"], sender, channel, event["topic"])


def _flags(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    for message_id in event["messages"]:
        message = hands.messages.number(message_id)
        yield ("update_message_flags", event["op"], event["flag"], message)


def _subscription(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    op = event["op"]
    if op in ("add", "remove"):
        for channel in event["subscriptions"]:
            yield ("subscription", op, hands.channels.number(channel["stream_id"]))
    elif op in ("peer_add", "peer_remove"):
        for channel_id in event["stream_ids"]:
            for user_id in event["user_ids"]:
                yield (
                    "subscription",
                    op,
                    hands.channels.number(channel_id),
                    hands.users.number(user_id),
                )


def _stream(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    if event["op"] == "update":
        channel = hands.channels.number(event["stream_id"])
        yield ("stream", "update", channel, event["property"])
        return
    for stream in event["streams"]:
        yield ("stream", event["op"], hands.channels.number(stream["stream_id"]))


def _changed(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    for message_id in event["message_ids"]:
        number, content = hands.messages.number(message_id), event.get("content")
        yield ("update_message", number, content)
        if content is not None and "mentioned" in event["flags"]:
            yield ("named", number, content)


def _deleted(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    for message_id in event.get("message_ids", [event.get("message_id")]):
        yield ("delete_message", hands.messages.number(message_id))


def _edit_typing(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    yield ("typing_edit_message", event["op"], hands.messages.number(event["message_id"]))


def _submessage(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    sender = hands.users.number(event["sender_id"])
    yield ("submessage", hands.messages.number(event["message_id"]), sender)


def _policy(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    yield ("user_topic", hands.channels.number(event["stream_id"]), event["topic_name"])


_READERS: Mapping[str, Callable[[Mapping[str, Any], Hands], Iterator[Key]]] = {
    "message": _message,
    "reaction": _reaction,
    "typing": _typing,
    "update_message_flags": _flags,
    "subscription": _subscription,
    "stream": _stream,
    "update_message": _changed,
    "delete_message": _deleted,
    "typing_edit_message": _edit_typing,
    "submessage": _submessage,
    "user_topic": _policy,
}
FORETOLD = frozenset(_READERS)
