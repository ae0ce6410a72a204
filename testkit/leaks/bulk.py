"""Operations on several messages at once."""

from dataclasses import dataclass

from typing_extensions import override

from testkit.faults.http import Answer
from testkit.leaks.changes import deleted
from testkit.leaks.expected_events import ExpectedEvent
from testkit.leaks.model import ADMINISTRATOR, GUEST, Message, Model
from testkit.leaks.moves import moved_to
from testkit.leaks.operations import Step
from testkit.leaks.policies import policies_move
from testkit.leaks.server_clients import ServerClients


@dataclass(frozen=True, slots=True, kw_only=True)
class OfMessages(Step):
    """The base of operations on several messages; some may be gone by now."""

    messages: tuple[int, ...]

    @override
    def fits(self, model: Model) -> bool:
        return bool(self.there(model)) and Step.fits(self, model)

    def there(self, model: Model) -> list[Message]:
        return [model.messages[number] for number in self.messages if number in model.messages]

    def readable(self, model: Model) -> list[Message]:
        user = model.users[self.actor]
        return [message for message in self.there(model) if model.may_read(user, message)]

    def ids(self, clients: ServerClients) -> list[int]:
        return [clients.messages.ids[number] for number in self.messages]


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkDelete(OfMessages):
    """All messages that the actor may read are gone, or none."""

    @override
    def allowed(self, model: Model) -> bool | None:
        user, found = model.users[self.actor], self.readable(model)
        if any(is_closed(model, message) for message in found):
            return False
        return user.role <= ADMINISTRATOR or all(each.sender == self.actor for each in found)

    async def perform(self, clients: ServerClients) -> Answer:
        ids = self.ids(clients)
        return await clients.ask(self.actor, "POST", "/messages/delete", message_ids=ids)

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        return deleted(model, self.readable(model))


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkMove(OfMessages):
    """Messages of one channel, of any topics, go to one place; the bot says nothing of it."""

    topic: str
    channel: int

    @override
    def fits(self, model: Model) -> bool:
        there = self.there(model)
        are_together = len({message.channel for message in there}) == 1
        has_all = len(there) == len(self.messages) and there[0].channel is not None
        return (
            self.channel in model.channels and has_all and are_together and Step.fits(self, model)
        )

    @override
    def allowed(self, model: Model) -> bool | None:
        """Only what must never be: who moves, and when, is settled elsewhere."""
        user, moving = model.users[self.actor], self._moving(model)
        if len(self.readable(model)) < len(self.messages):
            return False
        if not moving:
            return None
        if any(is_closed(model, message) for message in moving):
            return False
        if moving[0].channel == self.channel:
            return None
        may_post = model.posts(user, model.channels[self.channel])
        return False if user.role == GUEST or may_post is False else None

    async def perform(self, clients: ServerClients) -> Answer:
        return await clients.ask(
            self.actor,
            "PATCH",
            "/messages",
            message_ids=self.ids(clients),
            topic=self.topic,
            stream_id=clients.channels.ids[self.channel],
            send_notification_to_new_thread=False,
        )

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        moving, new = self._moving(model), (self.channel, self.topic)
        places = [(m.channel, m.topic) for m in moving if m.channel is not None]
        old = sorted(set(places))
        expected = [event for place in old for event in policies_move(model, place, new)]
        expected += moved_to(model, moving, self.channel, self.topic)
        expected += [event for place in old for event in policies_move(model, place, new)]
        return expected

    def _moving(self, model: Model) -> list[Message]:
        new = (self.channel, self.topic)
        return [each for each in self.there(model) if (each.channel, each.topic) != new]


def is_closed(model: Model, message: Message) -> bool:
    """Whether the message is in an archived channel, where nothing changes."""
    return message.channel is not None and model.channels[message.channel].is_archived
