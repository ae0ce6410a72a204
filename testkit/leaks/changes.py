"""Operations on existing messages: edit, delete, mark as read, vote."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from testkit.faults.http import Answer
from testkit.leaks.expected_events import NO_USERS, ExpectedEvent
from testkit.leaks.model import ADMINISTRATOR, Message, Model
from testkit.leaks.operations import (
    NO_NAMES,
    Changing,
    Named,
    OfMessage,
    Step,
    first_in,
)
from testkit.leaks.policies import NONE, policy_set
from testkit.leaks.server_clients import ServerClients


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit(Changing):
    """The message says something else, and names others."""

    names: Named = NO_NAMES

    @override
    def fits(self, model: Model) -> bool:
        return self.names.fits(model) and OfMessage.fits(self, model)

    @override
    def allowed(self, model: Model) -> bool | None:
        message = model.messages[self.message]
        return (
            message.sender == self.actor and not message.is_poll and Changing.allowed(self, model)
        )

    def content(self) -> str:
        edited = f"secret {self.message} of {self.realm} edited {self.number}"
        return edited + self.names.text()

    async def perform(self, clients: ServerClients) -> Answer:
        path = f"/messages/{clients.messages.ids[self.message]}"
        return await clients.ask(self.actor, "PATCH", path, content=self.content())

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        message = model.messages[self.message]
        message.content = self.content()
        self.names.mark(model, message)
        key = ("update_message", self.message, message.content)
        named = ("named", self.message, message.content)
        holders, readers = model.holders(message), model.readers(message)
        marked = message.mentioned
        return [
            ExpectedEvent(kind="update_message", key=key, must=holders, may=readers),
            ExpectedEvent(
                kind="update_message", key=named, must=holders & marked, may=readers & marked
            ),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Changing):
    """The message is gone for good."""

    @override
    def allowed(self, model: Model) -> bool | None:
        message, user = model.messages[self.message], model.users[self.actor]
        if user.role > ADMINISTRATOR and message.sender != self.actor:
            return False
        return Changing.allowed(self, model)

    async def perform(self, clients: ServerClients) -> Answer:
        path = f"/messages/{clients.messages.ids[self.message]}"
        return await clients.ask(self.actor, "DELETE", path)

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        return deleted(model, [model.messages[self.message]])


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopic(Step):
    """All messages of a topic are gone, as far as the actor may read them."""

    channel: int
    topic: str

    @override
    def fits(self, model: Model) -> bool:
        return self.channel in model.channels and Step.fits(self, model)

    @override
    def allowed(self, model: Model) -> bool | None:
        user, channel = model.users[self.actor], model.channels[self.channel]
        if user.role > ADMINISTRATOR or not model.reads(user, channel) or channel.is_archived:
            return False
        return True if self._there(model) else None

    async def perform(self, clients: ServerClients) -> Answer:
        path = f"/streams/{clients.channels.ids[self.channel]}/delete_topic"
        return await clients.ask(self.actor, "POST", path, topic_name=self.topic)

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        return deleted(model, self._there(model))

    def _there(self, model: Model) -> list[Message]:
        user = model.users[self.actor]
        return [
            message
            for message in model.messages.values()
            if (message.channel, message.topic) == (self.channel, self.topic)
            and model.may_read(user, message)
        ]


def deleted(model: Model, messages: Iterable[Message]) -> list[ExpectedEvent]:
    """Delete these messages of the model."""
    expected: list[ExpectedEvent] = []
    for message in messages:
        expected += first_in(model, message.channel)
        key = ("delete_message", message.number)
        holders, readers = model.holders(message), model.readers(message)
        expected.append(ExpectedEvent(kind="delete_message", key=key, must=holders, may=readers))
        del model.messages[message.number]
        model.gone.add(message.number)
    return expected


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkRead(Step):
    """All that one may read somewhere is read."""

    channel: int | None = None
    topic: str | None = None

    @override
    def fits(self, model: Model) -> bool:
        known = self.channel is None or self.channel in model.channels
        return known and Step.fits(self, model)

    async def perform(self, clients: ServerClients) -> Answer:
        if self.channel is None:
            return await clients.ask(self.actor, "POST", "/mark_all_as_read")
        channel_id = clients.channels.ids[self.channel]
        if self.topic is None:
            path = "/mark_stream_as_read"
            return await clients.ask(self.actor, "POST", path, stream_id=channel_id)
        return await clients.ask(
            self.actor, "POST", "/mark_topic_as_read", stream_id=channel_id, topic_name=self.topic
        )

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        expected, own = [], frozenset({self.actor})
        for message in model.messages.values():
            if model.received(self.actor, message):
                message.marked.add(self.actor)
        for number in sorted(model.readable(model.users[self.actor])):
            message = model.messages[number]
            if self.channel in (None, message.channel) and self.topic in (None, message.topic):
                message.read.add(self.actor)
                key = ("update_message_flags", "add", "read", number)
                expected.append(
                    ExpectedEvent(kind="update_message_flags", key=key, must=NO_USERS, may=own)
                )
        return expected


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPolicy(Step):
    """A user follows, unmutes or mutes a topic, or no longer does."""

    channel: int
    topic: str
    policy: int

    @override
    def fits(self, model: Model) -> bool:
        return self.channel in model.channels and Step.fits(self, model)

    @override
    def allowed(self, model: Model) -> bool | None:
        channel = model.channels[self.channel]
        if self.policy == NONE:
            return None
        return model.reads(model.users[self.actor], channel) and not channel.is_archived

    async def perform(self, clients: ServerClients) -> Answer:
        return await clients.ask(
            self.actor,
            "POST",
            "/user_topics",
            stream_id=clients.channels.ids[self.channel],
            topic=self.topic,
            visibility_policy=self.policy,
        )

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        return policy_set(model, self.actor, (self.channel, self.topic), self.policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeEdit(OfMessage):
    """Edit a message. Only followers of its topic may get a notification."""

    op: str

    @override
    def allowed(self, model: Model) -> bool | None:
        message = model.messages[self.message]
        if message.sender != self.actor or not OfMessage.allowed(self, model):
            return False
        return None

    async def perform(self, clients: ServerClients) -> Answer:
        path = f"/messages/{clients.messages.ids[self.message]}/typing"
        return await clients.ask(self.actor, "POST", path, op=self.op)

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        message = model.messages[self.message]
        key = ("typing_edit_message", self.op, self.message)
        must = model.followers(message) if message.channel is None else NO_USERS
        may = model.readers(message)
        return [ExpectedEvent(kind="typing_edit_message", key=key, must=must, may=may)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote(Changing):
    """A vote in a message that is a poll."""

    @override
    def allowed(self, model: Model) -> bool | None:
        message = model.messages[self.message]
        return bool(Changing.allowed(self, model)) and message.is_poll

    def content(self) -> str:
        return json.dumps({"type": "vote", "key": "canned,0", "vote": 1})

    async def perform(self, clients: ServerClients) -> Answer:
        message_id = clients.messages.ids[self.message]
        fields: dict[str, Any] = {"msg_type": "widget", "content": self.content()}
        return await clients.ask(self.actor, "POST", "/submessage", message_id=message_id, **fields)

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        message = model.messages[self.message]
        key = ("submessage", self.message, self.actor)
        holders, readers = model.holders(message), model.readers(message)
        return [ExpectedEvent(kind="submessage", key=key, must=holders, may=readers)]
