"""Operations that move messages and resolve topics."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from typing_extensions import override

from testkit.faults.http import Answer
from testkit.leaks.expected_events import NO_USERS, ExpectedEvent
from testkit.leaks.model import GUEST, Message, Model
from testkit.leaks.operations import Changing, OfMessage, first_in, noticed
from testkit.leaks.policies import policies_move
from testkit.leaks.server_clients import ServerClients

Mode = Literal["change_one", "change_later", "change_all"]
RESOLVED = "✔ "


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(Changing):
    """Messages go to another topic, or to another channel; the notification bot may say so.

    A topic is resolved, or taken up again, in the same way, and that is always said.
    """

    topic: str
    channel: int | None = None
    """None: they stay in theirs."""
    mode: Mode = "change_one"
    notifies_old: bool = False
    notifies_new: bool = False

    @override
    def fits(self, model: Model) -> bool:
        if not OfMessage.fits(self, model) or model.messages[self.message].channel is None:
            return False
        return self.channel is None or self.channel in model.channels

    @override
    def allowed(self, model: Model) -> bool | None:
        """Only what must never be: who moves, and when, is settled elsewhere."""
        user = model.users[self.actor]
        if not Changing.allowed(self, model):
            return False
        here = model.messages[self.message].channel
        if self.channel in (None, here):
            return None
        assert self.channel is not None
        may_post = model.posts(user, model.channels[self.channel])
        return False if user.role == GUEST or may_post is False else None

    async def perform(self, clients: ServerClients) -> Answer:
        path = f"/messages/{clients.messages.ids[self.message]}"
        channel_id = None if self.channel is None else clients.channels.ids[self.channel]
        answer = await clients.ask(
            self.actor,
            "PATCH",
            path,
            topic=self.topic,
            stream_id=channel_id,
            propagate_mode=self.mode,
            send_notification_to_old_thread=self.notifies_old,
            send_notification_to_new_thread=self.notifies_new,
        )
        return await clients.with_notices(answer)

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        first = model.messages[self.message]
        assert first.channel is not None
        old = (first.channel, first.topic)
        new = (first.channel if self.channel is None else self.channel, self.topic)
        changes_mark = self._changes_mark_of_topic(model)
        expected = policies_move(model, old, new)
        expected += moved_to(model, self._moving(model), self.channel, self.topic)
        expected += policies_move(model, old, new)
        is_all = changes_mark and old[0] == new[0] and is_resolving(old[1], new[1])
        says_mark = changes_mark and (is_all or not self.notifies_new)
        due = [new] if says_mark or self.notifies_new else []
        due += [old] if self.notifies_old and not is_all else []
        for offset, place in enumerate(due, start=1):
            is_mark = says_mark and offset == 1
            expected += noticed(
                model,
                clients,
                answer,
                place,
                offset,
                reported=self.actor,
                tells_of_resolving=is_mark,
            )
        return expected

    def _moving(self, model: Model) -> list[Message]:
        """The message, and those of its topic that go with it: as far as the actor reads them."""
        first = model.messages[self.message]
        if self.mode == "change_one":
            return [first]
        user = model.users[self.actor]
        return [
            message
            for message in model.messages.values()
            if (message.channel, message.topic) == (first.channel, first.topic)
            and (self.mode == "change_all" or message.sent >= first.sent)
            and model.may_read(user, message)
        ]

    def _changes_mark_of_topic(self, model: Model) -> bool:
        """Whether the topic as a whole is resolved by the move, or taken up again."""
        first = model.messages[self.message]
        if not toggles_mark(first.topic, self.topic):
            return False
        place = (first.channel, first.topic)
        rest = [m for m in model.messages.values() if (m.channel, m.topic) == place]
        return self.mode == "change_all" or len(self._moving(model)) == len(rest)


def moved_to(
    model: Model, messages: Iterable[Message], channel: int | None, topic: str
) -> list[ExpectedEvent]:
    """Move these messages of the model to a topic of the channel, or of theirs."""
    expected: list[ExpectedEvent] = []
    for message in messages:
        followers, readers = model.followers(message), model.readers(message)
        was_public = model.is_public(message)
        expected += first_in(model, message.channel)
        if channel is not None:
            if message.channel != channel:
                message.came = model.now
            message.channel = channel
            expected += first_in(model, message.channel)
        message.topic = topic
        is_lost = was_public and not model.is_public(message)
        expected += _moved(model, message, followers, readers, lost_by_public=is_lost)
    return expected


def toggles_mark(old: str, new: str) -> bool:
    """Whether one of the names says that the topic is resolved, and the other does not."""
    return old.startswith(RESOLVED) != new.startswith(RESOLVED)


def is_resolving(old: str, new: str) -> bool:
    """Whether the topic's new name only says that it is resolved, or no longer."""
    return new == RESOLVED + old or old == RESOLVED + new


def _moved(
    model: Model,
    message: Message,
    followers: frozenset[int],
    readers: frozenset[int],
    *,
    lost_by_public: bool,
) -> list[ExpectedEvent]:
    """Events for readers before and after a move: it changes for some, and goes for others."""
    after = model.readers(message)
    number = message.number
    return [
        ExpectedEvent(
            kind="update_message",
            key=("update_message", number, None),
            must=(followers | model.followers(message)) & after,
            may=after,
        ),
        ExpectedEvent(
            kind="delete_message",
            key=("delete_message", number),
            must=followers - after,
            may=readers - after,
            lost_to=readers - after if lost_by_public else NO_USERS,
            # A user who may read it there without a subscription gets no more events of it.
            lost_perhaps_to=readers & after if lost_by_public else NO_USERS,
        ),
        # Users who may read it again get events that it is unread, or starred.
        ExpectedEvent(
            kind="update_message_flags",
            key=("update_message_flags", "remove", "read", number),
            must=NO_USERS,
            may=after,
        ),
        ExpectedEvent(
            kind="update_message_flags",
            key=("update_message_flags", "add", "starred", number),
            must=(after - readers) & message.starred,
            may=after,
        ),
    ]
