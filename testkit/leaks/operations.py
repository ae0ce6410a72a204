"""Operations on messages: how each is performed, and which events follow by the rules."""

from dataclasses import dataclass
from typing import Any, Protocol

from typing_extensions import override

from testkit.faults.http import Answer
from testkit.leaks.expected_events import NO_USERS, ExpectedEvent, Key, of_person
from testkit.leaks.model import Message, Model
from testkit.leaks.policies import Place, policies_may_follow
from testkit.leaks.server_clients import ServerClients

HAS_TYPING = "stream_typing_notifications"
NOTIFIER = -1
"""The number of the notification bot, of which the model knows nothing else."""
NUMBERS_EACH = 4
"""How many numbers an operation has: its own, and those of what others make because of it."""


class Operation(Protocol):
    """One step of a history. It names everything by number, so it can be done in another run."""

    @property
    def number(self) -> int:
        """Its place in the history; what it makes has this number, too."""
        ...

    @property
    def realm(self) -> int: ...

    @property
    def actor(self) -> int: ...

    def fits(self, model: Model) -> bool:
        """Whether all that it names is there: an earlier operation may have been left out."""
        ...

    def allowed(self, model: Model) -> bool | None:
        """Whether the rules let it be done; None where the server is to decide."""
        ...

    async def perform(self, clients: ServerClients) -> Answer: ...

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        """Change the model as the operation has changed the server; return the expected events."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The base of all operations."""

    number: int
    realm: int
    actor: int

    def fits(self, model: Model) -> bool:
        return model.users[self.actor].is_active

    def allowed(self, model: Model) -> bool | None:
        del model
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The mentions of a message: the people know of each other, and of the groups."""

    people: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    everyone: bool = False

    def text(self) -> str:
        names = [f"@**User {each}**" for each in self.people]
        names += [f"@*group {each}*" for each in self.groups]
        if self.everyone:
            names.append("@**all**")
        return "".join(f" {name}" for name in names)

    def fits(self, model: Model) -> bool:
        return all(model.users[each].is_active for each in self.people)

    def mark(self, model: Model, message: Message) -> None:
        """Let the message mention only these users."""
        named = model.named(self.people, self.groups)
        message.mentioned = {user for user in named if model.received(user, message)}
        message.mentions_everyone = self.everyone

    def bots(self, model: Model, message: Message) -> frozenset[int]:
        """Bots mentioned in a public channel: they get the event without a subscription."""
        users = [model.users[each] for each in model.named(self.people, self.groups)]
        found = frozenset(u.number for u in users if u.is_bot and u.is_active and not u.is_guest)
        return found if model.is_public(message) else frozenset()


NO_NAMES = Named()


@dataclass(frozen=True, slots=True, kw_only=True)
class Send(Step):
    """A message to a channel's topic, or to people."""

    channel: int | None = None
    topic: str = ""
    people: tuple[int, ...] = ()
    is_poll: bool = False
    names: Named = NO_NAMES

    @override
    def fits(self, model: Model) -> bool:
        known = self.channel is None or self.channel in model.channels
        return known and self.names.fits(model) and Step.fits(self, model)

    @override
    def allowed(self, model: Model) -> bool | None:
        if self.channel is not None:
            return model.posts(model.users[self.actor], model.channels[self.channel])
        return model.writes_to(model.users[self.actor], self.people)

    def content(self) -> str:
        content = f"secret {self.number} of {self.realm}{self.names.text()}"
        return f"/poll {content}\nyes\nno" if self.is_poll else content

    async def perform(self, clients: ServerClients) -> Answer:
        if self.channel is None:
            where: dict[str, Any] = {"type": "direct", "to": clients.users.of(self.people)}
        else:
            channel_id = clients.channels.ids[self.channel]
            where = {"type": "channel", "to": channel_id, "topic": self.topic}
        return await clients.ask(
            self.actor, "POST", "/messages", content=self.content(), read_by_sender=True, **where
        )

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        clients.messages.add(self.number, answer.body["id"])
        people = frozenset() if self.channel is not None else {self.actor, *self.people}
        message = Message(
            number=self.number,
            sender=self.actor,
            channel=self.channel,
            topic=self.topic,
            people=frozenset(people),
            origin=self.channel,
            content=self.content(),
            sent=model.now,
            is_poll=self.is_poll,
            read={self.actor},
        )
        model.messages[self.number] = message
        self.names.mark(model, message)
        expected = new_message(model, message, self.names.bots(model, message))
        if self.channel is None:
            model.talked.add(message.people)
        else:
            taking_part = message.mentioned | {self.actor}
            if message.mentions_everyone:
                taking_part |= model.subscribers(self.channel)
            expected += policies_may_follow(model, taking_part, (self.channel, self.topic))
        return expected


def new_message(
    model: Model, message: Message, bots: frozenset[int] = frozenset()
) -> list[ExpectedEvent]:
    """The events of a message that has just been sent, mentions included.

    `bots` get it wherever they are.
    """
    number, kind = message.number, "message"
    if message.channel is None:
        there, is_public = model.followers(message), False
    else:
        there = model.subscribers(message.channel)
        is_public = not model.channels[message.channel].is_private
    key: Key = ("message", number, message.content)
    named: Key = ("named", number, message.content)
    sent = ExpectedEvent(kind=kind, key=key, must=there | bots, is_public=is_public, message=number)
    return [
        *([sent] if message.sender == NOTIFIER else of_person(model, sent, message.sender)),
        ExpectedEvent(kind=kind, key=named, must=there & message.mentioned | bots, message=number),
    ]


def noticed(
    model: Model,
    clients: ServerClients,
    answer: Answer,
    place: Place,
    offset: int = 1,
    *,
    reported: int | None = None,
    tells_of_resolving: bool = False,
) -> list[ExpectedEvent]:
    """Because of what happens now the bot says something there: what, the server knows."""
    channel, topic = place
    number, content = model.now + offset, "something that it has not said"
    notice = clients.notices_of(answer).get(place)
    if notice is not None:
        content = notice.content
        clients.messages.add(number, notice.message_id)
    message = Message(
        number=number,
        sender=NOTIFIER,
        channel=channel,
        topic=topic,
        people=frozenset(),
        origin=channel,
        content=content,
        sent=number,
    )
    if reported is not None:
        # For the user who did it, the notice is read, if it is in their history.
        message.perhaps_read.add(reported)
    if tells_of_resolving:
        message.perhaps_read |= model.subscribers(channel)
    model.messages[number] = message
    return new_message(model, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfMessage(Step):
    """An operation on one message, by a user who may read it."""

    message: int

    @override
    def fits(self, model: Model) -> bool:
        return self.message in model.messages and Step.fits(self, model)

    @override
    def allowed(self, model: Model) -> bool | None:
        return model.may_read(model.users[self.actor], model.messages[self.message])


class Changing(OfMessage):
    """Something that changes what others see of the message: not in archived channels."""

    @override
    def allowed(self, model: Model) -> bool | None:
        channel = model.messages[self.message].channel
        is_closed = channel is not None and model.channels[channel].is_archived
        return not is_closed and OfMessage.allowed(self, model)


@dataclass(frozen=True, slots=True, kw_only=True)
class React(Changing):
    """A reaction is added, or taken off."""

    emoji: str
    op: str = "add"

    @override
    def allowed(self, model: Model) -> bool | None:
        message = model.messages[self.message]
        there = (self.actor, self.emoji) in message.reactions
        return Changing.allowed(self, model) and there == (self.op == "remove")

    async def perform(self, clients: ServerClients) -> Answer:
        method = "POST" if self.op == "add" else "DELETE"
        path = f"/messages/{clients.messages.ids[self.message]}/reactions"
        return await clients.ask(self.actor, method, path, emoji_name=self.emoji)

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        message = model.messages[self.message]
        if self.op == "add":
            message.reactions.add((self.actor, self.emoji))
            _notice(model, message, self.actor)
        else:
            message.reactions.discard((self.actor, self.emoji))
        key = ("reaction", self.op, self.message, self.actor, self.emoji)
        may = model.readers(message) & {self.actor}
        expected = ExpectedEvent(kind="reaction", key=key, must=model.holders(message), may=may)
        return of_person(model, expected, self.actor)


def _notice(model: Model, message: Message, user: int) -> None:
    if not model.received(user, message):
        message.noticed.add(user)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Step):
    """Flags of several messages at once: what one may not read is left as it is."""

    messages: tuple[int, ...]
    flag: str
    op: str

    @override
    def fits(self, model: Model) -> bool:
        return all(each in model.messages for each in self.messages) and Step.fits(self, model)

    async def perform(self, clients: ServerClients) -> Answer:
        return await clients.ask(
            self.actor,
            "POST",
            "/messages/flags",
            messages=clients.messages.of(self.messages),
            flag=self.flag,
            op=self.op,
        )

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        user = model.users[self.actor]
        expected = []
        for number in self.messages:
            message = model.messages[number]
            if not model.may_read(user, message):
                continue
            changes = self._change(model, message)
            key = ("update_message_flags", self.op, self.flag, number)
            own = frozenset({self.actor})
            expected.append(
                ExpectedEvent(kind="update_message_flags", key=key, must=own)
                if changes
                else ExpectedEvent(kind="update_message_flags", key=key, must=frozenset(), may=own)
            )
        return expected

    def _change(self, model: Model, message: Message) -> bool:
        """Change the message's flag; whether that certainly makes a difference."""
        having = message.starred if self.flag == "starred" else message.read
        had = self.actor in having
        if self.op == "remove":
            if self.flag == "read":
                return self._unread(model, message)
            having.discard(self.actor)
            return had
        having.add(self.actor)
        if self.flag == "starred":
            _notice(model, message, self.actor)
            return not had
        had = had or self.actor in message.perhaps_read
        return not had and model.received(self.actor, message)

    def _unread(self, model: Model, message: Message) -> bool:
        if message.channel is not None and not model.is_in(self.actor, message.channel):
            return False
        was_read = self.actor in message.read
        message.read.discard(self.actor)
        message.perhaps_read.discard(self.actor)
        _notice(model, message, self.actor)
        return was_read and model.received(self.actor, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Type(Step):
    """Typing in a conversation: participants who want the notification get it."""

    op: str
    channel: int | None = None
    topic: str = ""
    people: tuple[int, ...] = ()

    @override
    def fits(self, model: Model) -> bool:
        known = self.channel is None or self.channel in model.channels
        return known and Step.fits(self, model)

    @override
    def allowed(self, model: Model) -> bool | None:
        if self.channel is None:
            return model.writes_to(model.users[self.actor], self.people)
        channel = model.channels[self.channel]
        reads = model.reads(model.users[self.actor], channel)
        return (
            None if reads and model.posts(model.users[self.actor], channel) is not True else reads
        )

    async def perform(self, clients: ServerClients) -> Answer:
        if self.channel is None:
            where: dict[str, Any] = {"type": "direct", "to": clients.users.of(self.people)}
        else:
            channel_id = clients.channels.ids[self.channel]
            where = {"type": "channel", "stream_id": channel_id, "topic": self.topic}
        return await clients.ask(self.actor, "POST", "/typing", op=self.op, **where)

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        if self.channel is None:
            people = frozenset({self.actor, *self.people})
            key = ("typing", self.op, self.actor, people)
            return self._typing(model, key, people)
        there = model.subscribers(self.channel)
        key_in = ("typing", self.op, self.actor, self.channel, self.topic)
        return self._typing(model, key_in, there, HAS_TYPING)

    def _typing(
        self, model: Model, key: Key, people: frozenset[int], needs: str | None = None
    ) -> list[ExpectedEvent]:
        """Some may miss it: restricted guests lose their queue when they join a channel.

        docs/adr/0033-masked-people.md.
        """
        perhaps = frozenset(
            n for n in people if model.users[n].is_guest and not model.guests_know_all_users
        )
        expected = ExpectedEvent(
            kind="typing", key=key, must=people - perhaps, may=perhaps, needs=needs
        )
        return of_person(model, expected, self.actor)


def first_in(model: Model, channel: int | None) -> list[ExpectedEvent]:
    """Another message may be the channel's first now."""
    if channel is None:
        return []
    key = ("stream", "update", channel, "first_message_id")
    seeing = model.seeing(model.channels[channel])
    return [ExpectedEvent(kind="stream", key=key, must=NO_USERS, may=seeing)]
