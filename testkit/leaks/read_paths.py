"""All ways to read, with and without an account."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from testkit.leaks import reads
from testkit.leaks.reads import EVERYTHING, PLAIN, Look


async def registered(look: Look) -> None:
    """Messages and channels in the response of register."""
    wanted = [
        "message",
        "update_message_flags",
        "starred_messages",
        "recent_private_conversations",
        "subscription",
        "stream",
        "user_topic",
    ]
    answer = await look.ask(
        "POST",
        "/register",
        event_types=["heartbeat"],
        fetch_event_types=wanted,
        client_capabilities={"archived_channels": True, "empty_topic_name": True},
    )
    _messages(look, answer.body)
    _policies(look, answer.body)
    _channels(look, answer.body)
    await look.ask("DELETE", "/events", queue_id=answer.body["queue_id"])


def _messages(look: Look, body: Mapping[str, Any]) -> None:
    clients, model = look.clients, look.model
    ids = [
        message_id
        for place in ("pms", "huddles", "streams")
        for each in body["unread_msgs"][place]
        for message_id in each["unread_message_ids"]
    ] + body["unread_msgs"]["mentions"]
    must = {n for n in look.readable if model.is_surely_unread(look.user, n)}
    may = {n for n in look.readable if look.user.number not in model.messages[n].read}
    look.compare(
        "register: unread messages",
        clients.messages.numbers(ids),
        must,
        may,
        of=len(model.messages),
    )
    own = {n for n in look.readable if look.user.number in model.messages[n].starred}
    stars = clients.messages.numbers(body["starred_messages"])
    look.compare("register: starred messages", stars, own, of=len(model.messages))
    groups = {m.people for m in model.messages.values() if m.channel is None}
    shown = {
        clients.users.numbers(each["user_ids"]) | {look.user.number}
        for each in body["recent_private_conversations"]
    }
    mine = {group for group in groups if look.user.number in group}
    look.compare("register: recent conversations", shown, mine, of=len(groups))


def _policies(look: Look, body: Mapping[str, Any]) -> None:
    """Topics for which they have said something: as they knew them, or may know them now."""
    model, number = look.model, look.user.number
    shown = {
        (look.clients.channels.number(each["stream_id"]), each["topic_name"])
        for each in body["user_topics"]
    }
    must = {
        (channel, topic)
        for (user, channel, topic), policy in model.policies.items()
        if user == number and policy and model.knows_topic(look.user, channel, topic)
    }
    may = {
        (channel, topic)
        for user, channel, topic in model.learned
        if user == number and model.sees(look.user, model.channels[channel])
    } | {
        (channel, topic)
        for user, channel, topic in model.policies
        if user == number and model.knows_topic(look.user, channel, topic)
    }
    look.compare("register: topics with a policy", shown, must, may, of=len(may))


def _channels(look: Look, body: Mapping[str, Any]) -> None:
    listed = {
        look.clients.channels.number(each["stream_id"])
        for section in ("subscriptions", "unsubscribed", "never_subscribed")
        for each in body[section]
    }
    model = look.model
    seen = {c.number for c in model.channels.values() if model.sees(look.user, c)}
    look.compare("register: channels", listed, seen, of=len(model.channels))


async def web_public(look: Look) -> None:
    """All that is readable on the web without an account."""
    narrow = [["channels", "web-public"]]
    answer = await look.ask("GET", "/messages", narrow=narrow, **EVERYTHING, **PLAIN)
    look.compare_messages("what is public to the web", answer, look.readable)


async def one_in_public(look: Look) -> None:
    """One message by its id, and all else that is for those who have an account."""
    number = look.pick(look.clients.messages.ids)
    if number is None:
        return
    path = f"/messages/{look.clients.messages.ids[number]}"
    one = await look.ask("GET", path, **PLAIN)
    shown = {number} if one.status == 200 else set()
    look.compare("one message by its id", shown, look.readable & {number}, of=1)
    refused = [
        await look.ask("GET", "/messages", narrow=[], **EVERYTHING, **PLAIN),
        await look.ask("GET", f"{path}/read_receipts"),
        await look.ask("GET", "/users"),
        await look.ask("GET", "/events", queue_id="0", last_event_id=-1, dont_block=True),
    ]
    got = [each.body for each in refused if each.status == 200]
    look.compare("what needs an account", map(str, got), (), of=len(refused))


async def public_register(look: Look) -> None:
    """The channels in the response of register for a spectator, and that it shows no users."""
    answer = await look.ask("POST", "/register", fetch_event_types=["stream", "realm_user"])
    model = look.model
    there = [c for c in model.channels.values() if c.is_web_public and model.lets_spectators]
    shown = look.clients.channels.numbers(s["stream_id"] for s in answer.body.get("streams", ()))
    must = {c.number for c in there if not c.is_archived}
    of = len(model.channels)
    look.compare("channels without an account", shown, must, {c.number for c in there}, of=of)
    people = look.clients.users.numbers(u["user_id"] for u in answer.body.get("realm_users", ()))
    look.compare("people without an account", people, (), of=len(model.users))


Way = Callable[[Look], Awaitable[None]]

READS: Final[Mapping[str, Way]] = {
    "history of a channel": reads.by_channel,
    "window of a channel": reads.by_channel_name_in_window,
    "history of a topic": reads.by_topic,
    "combined feed": reads.feed,
    "direct messages": reads.direct,
    "one conversation": reads.of_conversation,
    "messages of a sender": reads.by_sender,
    "starred messages": reads.starred,
    "unread messages": reads.unread,
    "mentions": reads.mentioned,
    "messages by ids": reads.by_ids,
    "one message": reads.one_by_id,
    "read receipts": reads.read_receipts,
    "search": reads.search,
    "all but a channel": reads.all_but_a_channel,
    "public channels": reads.public_channels,
    "which match a narrow": reads.matches_narrow,
    "topics of a channel": reads.topics,
    "list of channels": reads.channels,
    "one channel and its people": reads.one_channel,
    "own subscriptions": reads.subscriptions,
    "list of people": reads.people,
    "people by their addresses": reads.addresses,
    "register": registered,
}
SPECTATORS_READS: Final[Mapping[str, Way]] = {
    "all in public": web_public,
    "one in public": one_in_public,
    "register in public": public_register,
    "channel in public": reads.by_channel,
    "window in public": reads.by_channel_name_in_window,
    "topic in public": reads.by_topic,
    "ids in public": reads.by_ids,
    "topics in public": reads.topics,
}
