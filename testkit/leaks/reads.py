"""Compare each way to read with the rules of the model."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from testkit.faults.http import Answer
from testkit.leaks.model import SPECTATOR, Message, Model, User
from testkit.leaks.server_clients import ServerClients
from testkit.leaks.shown_people import (
    KNOWN,
    UNKNOWN,
    address_of,
    addressed_in,
    how_shown,
    named_in,
)

EVERYTHING = {"anchor": "newest", "num_before": 5000, "num_after": 0}
PLAIN = {"apply_markdown": False, "allow_empty_topic_name": True}


@dataclass(eq=False)
class Look:
    """One reader at one time, and what was compared."""

    model: Model
    clients: ServerClients
    user: User
    rng: random.Random
    other_ids: list[int]
    """Ids of messages of another organization, which may be ids here as well."""
    checks: int = 0
    problems: list[str] = field(default_factory=list)
    readable: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if self.user.number != SPECTATOR or self.model.lets_spectators:
            self.readable = self.model.readable(self.user)

    async def ask(self, method: str, path: str, **fields: Any) -> Answer:
        """Make a request as the reader, and check that the response shows no hidden user."""
        answer = await self.clients.ask(self.user.number, method, path, **fields)
        people = len(self.model.users)
        addressed, named = addressed_in(answer.body), named_in(answer.body)
        if self.user.number == SPECTATOR:
            self.compare(f"addresses at {path}", addressed, (), of=people)
        else:
            known = self.model.known_to(self.user)
            self.compare(f"people at {path}", addressed | named, (), known, of=people)
        return answer

    def compare(
        self,
        what: str,
        shown: Iterable[Any],
        must: Iterable[Any],
        may: Iterable[Any] = (),
        *,
        of: int,
    ) -> None:
        """Each of so many things is shown if it must be, and only if it may be."""
        shown, must = frozenset(shown), frozenset(must)
        self.checks += max(of, len(shown | must), 1)
        who = f"user {self.user.number}, {what}"
        self.problems += [f"{who}: must not see {each}" for each in shown - must - frozenset(may)]
        self.problems += [f"{who}: does not see {each}" for each in must - shown]

    def compare_messages(
        self, what: str, answer: Answer, must: Iterable[int], may: Iterable[int] = ()
    ) -> None:
        """A page of history: which messages, and that each is what it was."""
        if answer.status != 200:
            self.compare(f"{what}: {answer.body.get('msg')}", (), must, of=len(self.model.messages))
            return
        shown = set()
        for each in answer.body["messages"]:
            number = self.clients.messages.number(each["id"])
            shown.add(number)
            if number in self.model.messages:
                self.problems += self.wrong_in(what, self.model.messages[number], each)
        self.compare(what, shown, must, may, of=len(self.model.messages))

    def wrong_in(self, what: str, message: Message, shown: Mapping[str, Any]) -> list[str]:
        """Differences between a message as shown and as it should be."""
        who = f"user {self.user.number}, {what}: message {message.number}"
        wrong = []
        if shown["content"] != message.content:
            wrong.append(f"{who} says {shown['content']!r}")
        channel = shown.get("stream_id")
        if channel != (
            None if message.channel is None else self.clients.channels.ids[message.channel]
        ):
            wrong.append(f"{who} is in channel {channel}")
        if message.channel is not None and shown["subject"] != message.topic:
            wrong.append(f"{who} has the topic {shown['subject']!r}")
        people = [(message.sender, shown["sender_full_name"])]
        people += [
            (self.clients.users.number(each["user_id"]), each["user"]["full_name"])
            for each in shown["reactions"]
        ]
        wrong += [
            f"{who} shows user {number} as {name}"
            for number, name in people
            if number in self.model.users and not self._is_shown_as(number, name)
        ]
        flags = {
            "starred": self.user.number in message.starred,
            "mentioned": self.user.number in message.mentioned,
            "stream_wildcard_mentioned": message.mentions_everyone
            and self.model.received(self.user.number, message),
        }
        if any(is_set != (flag in shown["flags"]) for flag, is_set in flags.items()):
            wrong.append(f"{who} has the flags {shown['flags']}")
        reactions = {
            (self.clients.users.number(each["user_id"]), each["emoji_name"])
            for each in shown["reactions"]
        }
        if reactions != message.reactions:
            wrong.append(f"{who} has the reactions {sorted(reactions)}")
        return wrong

    def _is_shown_as(self, number: int, name: str) -> bool:
        """Whether the reader may be shown the person under this name, or has to be."""
        other, how = self.model.users[number], how_shown(number, name)
        if self.user.number == SPECTATOR or self.model.knows(self.user, other):
            return how == KNOWN
        return how == UNKNOWN or (how == KNOWN and self.model.has_known(self.user, other))

    def says(self, term: str, message: Message) -> bool:
        """Whether the message has the term, which may be a phrase in quotes."""
        return term.strip('"') in message.content

    def pick(self, numbers: Iterable[int]) -> int | None:
        numbers = sorted(numbers)
        return self.rng.choice(numbers) if numbers else None


async def _history(look: Look, what: str, narrow: list[Any], must: Any, may: Any = ()) -> None:
    answer = await look.ask("GET", "/messages", narrow=narrow, **EVERYTHING, **PLAIN)
    look.compare_messages(what, answer, must, may)


async def by_channel(look: Look) -> None:
    channel = look.pick(look.model.channels)
    if channel is not None:
        must = {n for n in look.readable if look.model.messages[n].channel == channel}
        narrow = [["channel", look.clients.channels.ids[channel]]]
        await _history(look, f"history of channel {channel}", narrow, must)


async def by_channel_name_in_window(look: Look) -> None:
    """A window of a channel around any message, visible or not."""
    channel, anchor = look.pick(look.model.channels), look.pick(look.model.messages)
    if channel is None or anchor is None:
        return
    before, after = look.rng.randrange(6), look.rng.randrange(6)
    sent = {n: m.sent for n, m in look.model.messages.items()}
    mine = sorted(
        (n for n in look.readable if look.model.messages[n].channel == channel),
        key=lambda number: sent[number],
    )
    must = [n for n in mine if sent[n] < sent[anchor]][-before:] if before else []
    must += [n for n in mine if n == anchor]
    must += [n for n in mine if sent[n] > sent[anchor]][:after]
    answer = await look.ask(
        "GET",
        "/messages",
        narrow=[{"operator": "channel", "operand": f"channel {channel}"}],
        anchor=look.clients.messages.ids[anchor],
        num_before=before,
        num_after=after,
        **PLAIN,
    )
    look.compare_messages(f"window of channel {channel} at {anchor}", answer, must)


async def by_topic(look: Look) -> None:
    topics = {(m.channel, m.topic) for m in look.model.messages.values() if m.channel is not None}
    if not topics:
        return
    channel, topic = look.rng.choice(sorted(topics))
    must = {
        n
        for n in look.readable
        if (look.model.messages[n].channel, look.model.messages[n].topic) == (channel, topic)
    }
    narrow = [["channel", look.clients.channels.ids[channel]], ["topic", topic]]
    await _history(look, f"history of topic {topic!r} of {channel}", narrow, must)


async def feed(look: Look) -> None:
    messages = look.model.messages
    must = {n for n in look.readable if look.model.in_feed(look.user, messages[n])}
    await _history(look, "combined feed", [], must)


async def direct(look: Look) -> None:
    must = {n for n in look.readable if look.model.messages[n].channel is None}
    await _history(look, "direct messages", [["is", "dm"]], must)


async def of_conversation(look: Look) -> None:
    groups = {m.people for m in look.model.messages.values() if m.channel is None}
    if not groups:
        return
    people = look.rng.choice(sorted(groups, key=sorted))
    if look.user.is_guest and not look.model.guests_know_all_users:
        return
    everyone = people | {look.user.number}
    must = {n for n in look.readable if look.model.messages[n].people == everyone}
    narrow = [["dm", look.clients.users.of(sorted(people - {look.user.number} or people))]]
    await _history(look, f"conversation of {sorted(people)}", narrow, must)


async def by_sender(look: Look) -> None:
    sender = look.pick(look.model.users)
    if sender is None or not look.model.knows(look.user, look.model.users[sender]):
        return
    mine = {n for n in look.readable if look.model.messages[n].sender == sender}
    must = {n for n in mine if look.model.in_feed(look.user, look.model.messages[n])}
    narrow = [["sender", look.clients.users.ids[sender]]]
    await _history(look, f"messages of user {sender}", narrow, must, mine)


async def starred(look: Look) -> None:
    user = look.user.number
    must = {n for n in look.readable if user in look.model.messages[n].starred}
    await _history(look, "starred messages", [["is", "starred"]], must)


async def unread(look: Look) -> None:
    must = {n for n in look.readable if look.model.is_surely_unread(look.user, n)}
    may = {n for n in look.readable if look.user.number not in look.model.messages[n].read}
    await _history(look, "unread messages", [["is", "unread"]], must, may)


async def mentioned(look: Look) -> None:
    """Messages that mention the reader: by name, in a group, or with a wildcard."""
    user, messages = look.user.number, look.model.messages
    must = {
        n
        for n in look.readable
        if user in messages[n].mentioned
        or (messages[n].mentions_everyone and look.model.received(user, messages[n]))
    }
    await _history(look, "mentions", [["is", "mentioned"]], must)


async def by_ids(look: Look) -> None:
    """All ids that there are, here and in another organization."""
    ids = sorted({*look.clients.messages.ids.values(), *look.other_ids})
    answer = await look.ask("GET", "/messages", message_ids=ids, **PLAIN)
    look.compare_messages("messages by their ids", answer, look.readable)


async def one_by_id(look: Look) -> None:
    number = look.pick(look.clients.messages.ids)
    if number is None:
        return
    path = f"/messages/{look.clients.messages.ids[number]}"
    past = await look.ask("GET", f"{path}/history")
    seen = {number} if past.status == 200 else set()
    look.compare("history of one message", seen, look.readable & {number}, of=1)
    answer = await look.ask("GET", path, **PLAIN)
    shown = {number} if answer.status == 200 else set()
    if shown and number in look.readable:
        message = look.model.messages[number]
        look.problems += look.wrong_in("one message", message, answer.body["message"])
    look.compare("one message by its id", shown, look.readable & {number}, of=1)


async def read_receipts(look: Look) -> None:
    number = look.pick(look.clients.messages.ids)
    if number is None:
        return
    path = f"/messages/{look.clients.messages.ids[number]}/read_receipts"
    answer = await look.ask("GET", path)
    seen = {number} if answer.status == 200 else set()
    look.compare("read receipts", seen, look.readable & {number}, of=1)
    if seen and number in look.readable:
        message = look.model.messages[number]
        shown = look.clients.users.numbers(answer.body["user_ids"])
        may = (message.read | message.marked | message.perhaps_read) - {message.sender}
        look.compare("who has read a message", shown, (), may, of=len(look.model.users))


async def search(look: Look) -> None:
    """A word that all messages have, in a channel or everywhere."""
    messages = look.model.messages
    channel = look.pick(look.model.channels) if look.rng.random() < 0.5 else None
    term = ["search", look.rng.choice(["secret", '"of 0"', "ecre", "of"])]
    if channel is None:
        found = {n for n in look.readable if look.says(str(term[1]), messages[n])}
        must = {n for n in found if look.model.in_feed(look.user, messages[n])}
        await _history(look, f"search for {term[1]}", [term], must, found)
        return
    found = {
        n
        for n in look.readable
        if messages[n].channel == channel and look.says(str(term[1]), messages[n])
    }
    narrow = [["channel", look.clients.channels.ids[channel]], term]
    await _history(look, f"search for {term[1]} in {channel}", narrow, found)


async def all_but_a_channel(look: Look) -> None:
    channel = look.pick(look.model.channels)
    if channel is None or not look.model.sees(look.user, look.model.channels[channel]):
        return
    messages = look.model.messages
    may = {n for n in look.readable if messages[n].channel != channel}
    must = {n for n in may if look.model.in_feed(look.user, messages[n])}
    operand = look.clients.channels.ids[channel]
    narrow = [{"operator": "channel", "operand": operand, "negated": True}]
    await _history(look, f"all but channel {channel}", narrow, must, may)


async def public_channels(look: Look) -> None:
    may = {
        n
        for n in look.readable
        if (channel := look.model.messages[n].channel) is not None
        and not look.model.channels[channel].is_private
    }
    must = {n for n in may if look.model.in_feed(look.user, look.model.messages[n])}
    await _history(look, "public channels", [["channels", "public"]], must, may)


async def matches_narrow(look: Look) -> None:
    channel = look.pick(look.model.channels)
    if channel is None:
        return
    ids = sorted({*look.clients.messages.ids.values(), *look.other_ids})
    answer = await look.ask(
        "GET",
        "/messages/matches_narrow",
        msg_ids=ids,
        narrow=[["channel", look.clients.channels.ids[channel]]],
    )
    shown = look.clients.messages.numbers(int(i) for i in answer.body.get("messages", ()))
    may = {n for n in look.readable if look.model.messages[n].channel == channel}
    must = {n for n in may if look.model.in_feed(look.user, look.model.messages[n])}
    of = len(look.model.messages)
    look.compare(f"which match channel {channel}", shown, must, may, of=of)


def _when_sent(message: Message) -> int:
    return message.sent


async def topics(look: Look) -> None:
    channel = look.pick(look.model.channels)
    if channel is None:
        return
    answer = await look.ask(
        "GET", f"/users/me/{look.clients.channels.ids[channel]}/topics", allow_empty_topic_name=True
    )
    newest: dict[str, int] = {}
    for message in sorted((look.model.messages[n] for n in look.readable), key=_when_sent):
        if message.channel == channel:
            newest[message.topic] = message.number
    shown = [
        (each["name"], look.clients.messages.number(each["max_id"]))
        for each in answer.body.get("topics", ())
    ]
    every = {m.topic for m in look.model.messages.values() if m.channel == channel}
    look.compare(f"topics of channel {channel}", shown, newest.items(), of=len(every))


async def channels(look: Look) -> None:
    answer = await look.ask("GET", "/streams", include_all=True, exclude_archived=False)
    shown = look.clients.channels.numbers(each["stream_id"] for each in answer.body["streams"])
    must = {c.number for c in look.model.channels.values() if look.model.sees(look.user, c)}
    look.compare("list of channels", shown, must, of=len(look.model.channels))


async def one_channel(look: Look) -> None:
    channel = look.pick(look.model.channels)
    if channel is None:
        return
    path = f"/streams/{look.clients.channels.ids[channel]}"
    one = await look.ask("GET", path)
    people = await look.ask("GET", f"{path}/members")
    sees = look.model.sees(look.user, look.model.channels[channel])
    must = {channel} if sees else ()
    look.compare("one channel", {channel} if one.status == 200 else (), must, of=1)
    shown = look.clients.users.numbers(people.body.get("subscribers", ()))
    there = look.model.subscribers(channel) if sees else ()
    look.compare(f"subscribers of {channel}", shown, there, of=len(look.model.users))


async def subscriptions(look: Look) -> None:
    answer = await look.ask("GET", "/users/me/subscriptions", include_subscribers="true")
    shown, must = set(), set()
    for each in answer.body["subscriptions"]:
        channel = look.clients.channels.number(each["stream_id"])
        shown |= {(channel, look.clients.users.number(u)) for u in each["subscribers"]}
    for own in look.model.channels.values():
        if look.model.is_in(look.user.number, own.number) and not own.is_archived:
            must |= {(own.number, u) for u in look.model.subscribers(own.number)}
    look.compare("own subscriptions, and who else is there", shown, must, of=len(must))


async def people(look: Look) -> None:
    answer = await look.ask("GET", "/users")
    shown = look.clients.users.numbers(each["user_id"] for each in answer.body["members"])
    must = {u.number for u in look.model.users.values() if look.model.knows(look.user, u)}
    may = {u.number for u in look.model.users.values() if look.model.has_known(look.user, u)}
    look.compare("list of people", shown, must, may, of=len(look.model.users))


async def addresses(look: Look) -> None:
    """Whether an address belongs to a user, as far as a look-up shows.

    What is refused repeats the address.
    """
    number = look.pick(look.model.users)
    if number is None:
        return
    other = look.model.users[number]
    page: dict[str, Any] = {
        "narrow": [["sender", address_of(number)]],
        **EVERYTHING,
        **PLAIN,
    }
    reader, ask = look.user.number, look.clients.ask
    answers = [
        await ask(reader, "GET", f"/users/{address_of(number)}"),
        await ask(reader, "GET", "/messages", **page),
    ]
    found = [place for place, answer in enumerate(answers) if answer.status == 200]
    every = range(len(answers))
    must = every if look.model.knows(look.user, other) else ()
    may = every if look.model.has_known(look.user, other) else ()
    look.compare(f"what is found by the address of user {number}", found, must, may, of=len(every))
