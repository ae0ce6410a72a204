"""What an operation lets people know: events that some must get, and nobody else may."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from testkit.leaks.hands import UNKNOWN as NO_NUMBER
from testkit.leaks.hands import Hands
from testkit.leaks.model import Model, User
from testkit.leaks.persons import KNOWN, UNKNOWN, how_shown

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


def of_person(model: Model, told: Told, person: int) -> list[Told]:
    """What is told, and how it shows a person: by name to those who know them, else masked."""
    other, some = model.users[person], told.must | told.may
    knowing = _those(model, some, other, model.knows)
    perhaps = _those(model, some, other, model.has_known)
    name, *rest = told.key
    key = (f"{name} shown", *rest)
    return [
        told,
        replace(told, key=(*key, KNOWN), must=told.must & knowing, may=perhaps),
        replace(
            told,
            key=(*key, UNKNOWN),
            must=told.must - perhaps,
            may=some - knowing,
            is_public=False,
            lost_to=NOBODY,
            lost_perhaps_to=NOBODY,
        ),
    ]


def _those(
    model: Model, numbers: frozenset[int], other: User, rule: Callable[[User, User], bool]
) -> frozenset[int]:
    return frozenset(n for n in numbers if rule(model.users[n], other))


def things(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    """What an event says, one by one; nothing for events that no operation foretells."""
    reader = _READERS.get(event["type"])
    if reader is not None:
        yield from reader(event, hands)


def _message(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    message = event["message"]
    number = hands.messages.number(message["id"])
    yield ("message", number, message["content"])
    sender = hands.users.number(message["sender_id"])
    if sender != NO_NUMBER:
        how = how_shown(sender, message["sender_full_name"])
        yield ("message shown", number, message["content"], how)
    if "mentioned" in event["flags"]:
        yield ("named", number, message["content"])


def _reaction(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    message = hands.messages.number(event["message_id"])
    user = hands.users.number(event["user_id"])
    yield ("reaction", event["op"], message, user, event["emoji_name"])
    how = how_shown(user, event["user"]["full_name"])
    yield ("reaction shown", event["op"], message, user, event["emoji_name"], how)


def _typing(event: Mapping[str, Any], hands: Hands) -> Iterator[Key]:
    sender = hands.users.number(event["sender"]["user_id"])
    how = how_shown(sender, event["sender"]["email"])
    if event["message_type"] == "direct":
        people = hands.users.numbers(each["user_id"] for each in event["recipients"])
        yield ("typing", event["op"], sender, people)
        yield ("typing shown", event["op"], sender, people, how)
    else:
        channel = hands.channels.number(event["stream_id"])
        yield ("typing", event["op"], sender, channel, event["topic"])
        yield ("typing shown", event["op"], sender, channel, event["topic"], how)


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
