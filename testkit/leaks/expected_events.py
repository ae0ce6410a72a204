"""Events that an operation must deliver to some users, and may deliver to others."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from testkit.leaks.model import Model, User
from testkit.leaks.server_clients import UNKNOWN as NO_NUMBER
from testkit.leaks.server_clients import ServerClients
from testkit.leaks.shown_people import KNOWN, UNKNOWN, how_shown

NO_USERS: frozenset[int] = frozenset()

Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedEvent:
    """One thing that an event says."""

    kind: str
    """The event's type."""
    key: Key
    must: frozenset[int]
    """Users with such events in all their queues that ask for them."""
    may: frozenset[int] = NO_USERS
    """Others who may get it: the rules do not say."""
    is_public: bool = False
    """Queues that asked for all public channels get it, too."""
    lost_to: frozenset[int] = NO_USERS
    """Users with queues for all public channels, which get it too: it is public no more."""
    lost_perhaps_to: frozenset[int] = NO_USERS
    """Users with queues for all public channels, which may get it."""
    message: int | None = None
    """The message that a queue's narrow is held against."""
    needs: str | None = None
    """A capability of clients without which it is not sent."""


def of_person(model: Model, expected: ExpectedEvent, person: int) -> list[ExpectedEvent]:
    """The expected events that show a person: by name to users who know them, else masked."""
    other, some = model.users[person], expected.must | expected.may
    knowing = _those(model, some, other, model.knows)
    perhaps = _those(model, some, other, model.has_known)
    name, *rest = expected.key
    key = (f"{name} shown", *rest)
    return [
        expected,
        replace(expected, key=(*key, KNOWN), must=expected.must & knowing, may=perhaps),
        replace(
            expected,
            key=(*key, UNKNOWN),
            must=expected.must - perhaps,
            may=some - knowing,
            is_public=False,
            lost_to=NO_USERS,
            lost_perhaps_to=NO_USERS,
        ),
    ]


def _those(
    model: Model, numbers: frozenset[int], other: User, rule: Callable[[User, User], bool]
) -> frozenset[int]:
    return frozenset(n for n in numbers if rule(model.users[n], other))


def things(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    """The keys of what an event tells; none for events that no operation foretells."""
    reader = _READERS.get(event["type"])
    if reader is not None:
        yield from reader(event, clients)


def _message(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    message = event["message"]
    number = clients.messages.number(message["id"])
    yield ("message", number, message["content"])
    sender = clients.users.number(message["sender_id"])
    if sender != NO_NUMBER:
        how = how_shown(sender, message["sender_full_name"])
        yield ("message shown", number, message["content"], how)
    if "mentioned" in event["flags"]:
        yield ("named", number, message["content"])


def _reaction(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    message = clients.messages.number(event["message_id"])
    user = clients.users.number(event["user_id"])
    yield ("reaction", event["op"], message, user, event["emoji_name"])
    how = how_shown(user, event["user"]["full_name"])
    yield ("reaction shown", event["op"], message, user, event["emoji_name"], how)


def _typing(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    sender = clients.users.number(event["sender"]["user_id"])
    how = how_shown(sender, event["sender"]["email"])
    if event["message_type"] == "direct":
        people = clients.users.numbers(each["user_id"] for each in event["recipients"])
        yield ("typing", event["op"], sender, people)
        yield ("typing shown", event["op"], sender, people, how)
    else:
        channel = clients.channels.number(event["stream_id"])
        yield ("typing", event["op"], sender, channel, event["topic"])
        yield ("typing shown", event["op"], sender, channel, event["topic"], how)


def _flags(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    for message_id in event["messages"]:
        message = clients.messages.number(message_id)
        yield ("update_message_flags", event["op"], event["flag"], message)


def _subscription(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    op = event["op"]
    if op in ("add", "remove"):
        for channel in event["subscriptions"]:
            yield ("subscription", op, clients.channels.number(channel["stream_id"]))
    elif op in ("peer_add", "peer_remove"):
        for channel_id in event["stream_ids"]:
            for user_id in event["user_ids"]:
                yield (
                    "subscription",
                    op,
                    clients.channels.number(channel_id),
                    clients.users.number(user_id),
                )


def _stream(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    if event["op"] == "update":
        channel = clients.channels.number(event["stream_id"])
        yield ("stream", "update", channel, event["property"])
        return
    for stream in event["streams"]:
        yield ("stream", event["op"], clients.channels.number(stream["stream_id"]))


def _changed(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    for message_id in event["message_ids"]:
        number, content = clients.messages.number(message_id), event.get("content")
        yield ("update_message", number, content)
        if content is not None and "mentioned" in event["flags"]:
            yield ("named", number, content)


def _deleted(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    for message_id in event.get("message_ids", [event.get("message_id")]):
        yield ("delete_message", clients.messages.number(message_id))


def _edit_typing(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    yield ("typing_edit_message", event["op"], clients.messages.number(event["message_id"]))


def _submessage(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    sender = clients.users.number(event["sender_id"])
    yield ("submessage", clients.messages.number(event["message_id"]), sender)


def _policy(event: Mapping[str, Any], clients: ServerClients) -> Iterator[Key]:
    yield ("user_topic", clients.channels.number(event["stream_id"]), event["topic_name"])


_READERS: Mapping[str, Callable[[Mapping[str, Any], ServerClients], Iterator[Key]]] = {
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
PREDICTED = frozenset(_READERS)
