"""Random histories: each operation is drawn from what is there by the model."""

import random
from collections.abc import Callable, Sequence

from benchmarks.leaks.changes import Delete, DeleteTopic, Edit, MarkRead, Move, TypeEdit, Vote
from benchmarks.leaks.membership import (
    Archive,
    ChangePrivacy,
    Create,
    Privacy,
    Subscribe,
    Unsubscribe,
)
from benchmarks.leaks.model import Channel, Grant, Model, User
from benchmarks.leaks.operations import Flag, Operation, React, Send, Type
from benchmarks.leaks.people import ChangeGroup, Deactivate

PRIVATE = Privacy(is_private=True)
PROTECTED = Privacy(is_private=True, is_protected=True)
PUBLIC = Privacy()
WEB_PUBLIC = Privacy(is_web_public=True)
PRIVACIES = (PUBLIC, WEB_PUBLIC, PRIVATE, PROTECTED, PROTECTED)
TOPICS = ("plans", "lunch", "Ümlaut", "")
EMOJI = ("thumbs_up", "heart")
GRANTS = ("can_subscribe_group", "can_add_subscribers_group", "can_administer_channel_group")
OWNER = 0


class Inventor:
    """Draws operations for one organization."""

    def __init__(self, rng: random.Random, realm: int, model: Model) -> None:
        self.rng = rng
        self.realm = realm
        self.model = model

    def draw(self, number: int) -> Operation:
        """The next operation, which fits what is there."""
        first = len(PRIVACIES)
        if len(self.model.channels) < first:
            return self.create(number, PRIVACIES[len(self.model.channels)])
        while True:
            [invent] = self.rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
            operation = invent(self, number)
            if operation is not None and operation.fits(self.model):
                return operation

    # ------------------------------------------------------------ drawing

    def user(self) -> User:
        return self.rng.choice(list(self.model.active()))

    def channel(self) -> Channel:
        return self.rng.choice(list(self.model.channels.values()))

    def message(self) -> int | None:
        """A message, rather one of the latest, or one that not all who are there may read."""
        numbers = list(self.model.messages)
        if not numbers:
            return None
        hidden = [n for n in numbers if self._is_hidden_from_some(n)]
        if hidden and self.rng.random() < 0.3:
            return self.rng.choice(hidden)
        return self.rng.choice(numbers[-8:] if self.rng.random() < 0.5 else numbers)

    def _is_hidden_from_some(self, number: int) -> bool:
        message = self.model.messages[number]
        if message.channel is None:
            return False
        return not self.model.subscribers(message.channel) <= self.model.readers(message)

    def some(self, people: Sequence[int], most: int) -> tuple[int, ...]:
        return tuple(sorted(self.rng.sample(people, self.rng.randint(1, min(most, len(people))))))

    def active(self) -> list[int]:
        return [user.number for user in self.model.active()]

    def reader_of(self, message: int) -> int:
        """Somebody who may read the message; now and then anybody."""
        readers = sorted(self.model.readers(self.model.messages[message]))
        if readers and self.rng.random() < 0.8:
            return self.rng.choice(readers)
        return self.user().number

    # ------------------------------------------------------------ operations

    def create(self, number: int, privacy: Privacy | None = None) -> Operation:
        privacy = privacy or self.rng.choice(PRIVACIES)
        members = [u.number for u in self.model.active() if not u.is_guest and not u.is_bot]
        actor = OWNER if privacy.is_web_public else self.rng.choice(members)
        grants = {}
        if self.rng.random() < 0.5:
            name = self.rng.choice(GRANTS)
            people = frozenset(self.some(self.active(), 2)) if self.rng.random() < 0.5 else ()
            groups = frozenset({self.rng.choice(list(self.model.groups))})
            grants[name] = Grant(frozenset(people), groups)
        return Create(
            number=number,
            realm=self.realm,
            actor=actor,
            privacy=privacy,
            subscribers=self.some(self.active(), 6),
            grants=grants,
        )

    def send(self, number: int) -> Operation:
        channel = self.channel()
        there = sorted(self.model.subscribers(channel.number))
        actor = self.rng.choice(there) if there and self.rng.random() < 0.85 else self.user().number
        return Send(
            number=number,
            realm=self.realm,
            actor=actor,
            channel=channel.number,
            topic=self.rng.choice(TOPICS),
            is_poll=self.rng.random() < 0.1,
        )

    def send_directly(self, number: int) -> Operation:
        people = self.some(self.active(), 3)
        return Send(number=number, realm=self.realm, actor=self.user().number, people=people)

    def react(self, number: int) -> Operation | None:
        message = self.message()
        if message is None:
            return None
        reactions = sorted(self.model.messages[message].reactions)
        if reactions and self.rng.random() < 0.4:
            actor, emoji = self.rng.choice(reactions)
            return React(
                number=number,
                realm=self.realm,
                actor=actor,
                message=message,
                emoji=emoji,
                op="remove",
            )
        actor, emoji = self.reader_of(message), self.rng.choice(EMOJI)
        return React(number=number, realm=self.realm, actor=actor, message=message, emoji=emoji)

    def edit(self, number: int) -> Operation | None:
        message = self.message()
        if message is None:
            return None
        actor = self._author_of(message)
        if self.rng.random() < 0.25:
            op = self.rng.choice(["start", "stop"])
            return TypeEdit(number=number, realm=self.realm, actor=actor, message=message, op=op)
        return Edit(number=number, realm=self.realm, actor=actor, message=message)

    def _author_of(self, message: int) -> int:
        """Who sent it; now and then somebody else."""
        sender = self.model.messages[message].sender
        return sender if self.rng.random() < 0.8 else self.reader_of(message)

    def move(self, number: int) -> Operation | None:
        message = self.message()
        if message is None:
            return None
        return Move(
            number=number,
            realm=self.realm,
            actor=OWNER if self.rng.random() < 0.3 else self.reader_of(message),
            message=message,
            topic=self.rng.choice(TOPICS),
            channel=self.channel().number if self.rng.random() < 0.7 else None,
            mode=self.rng.choice(["change_one", "change_later", "change_all"]),
        )

    def delete(self, number: int) -> Operation | None:
        message = self.message()
        if message is None:
            return None
        if self.rng.random() < 0.15:
            return DeleteTopic(
                number=number,
                realm=self.realm,
                actor=self.rng.choice([OWNER, self.user().number]),
                channel=self.channel().number,
                topic=self.rng.choice(TOPICS),
            )
        actor = self._author_of(message)
        return Delete(number=number, realm=self.realm, actor=actor, message=message)

    def mark_read(self, number: int) -> Operation:
        channel = self.channel().number if self.rng.random() < 0.7 else None
        topic = None
        if channel is not None and self.rng.random() < 0.5:
            topic = self.rng.choice(TOPICS)
        return MarkRead(
            number=number, realm=self.realm, actor=self.user().number, channel=channel, topic=topic
        )

    def vote(self, number: int) -> Operation | None:
        polls = [n for n, m in self.model.messages.items() if m.is_poll]
        if not polls:
            return None
        message = self.rng.choice(polls)
        actor = self.reader_of(message)
        return Vote(number=number, realm=self.realm, actor=actor, message=message)

    def flag(self, number: int) -> Operation | None:
        if not self.model.messages:
            return None
        messages = self.some(list(self.model.messages), 5)
        flag, op = self.rng.choice(
            [("starred", "add"), ("starred", "remove"), ("read", "add"), ("read", "remove")]
        )
        return Flag(
            number=number,
            realm=self.realm,
            actor=self.user().number,
            messages=messages,
            flag=flag,
            op=op,
        )

    def type(self, number: int) -> Operation:
        op = self.rng.choice(["start", "stop"])
        actor = self.user().number
        if self.rng.random() < 0.4:
            people = self.some(self.active(), 3)
            return Type(number=number, realm=self.realm, actor=actor, op=op, people=people)
        return Type(
            number=number,
            realm=self.realm,
            actor=actor,
            op=op,
            channel=self.channel().number,
            topic="plans",
        )

    def subscribe(self, number: int) -> Operation:
        channel = self.channel().number
        there = sorted(self.model.subscribers(channel))
        actor = self.rng.choice(there) if there and self.rng.random() < 0.5 else self.user().number
        others = self.rng.random() < 0.5
        people = self.some(self.active(), 3) if others else (actor,)
        return Subscribe(
            number=number, realm=self.realm, actor=actor, channel=channel, people=people
        )

    def unsubscribe(self, number: int) -> Operation | None:
        channel = self.channel().number
        there = sorted(self.model.subscribers(channel))
        if not there:
            return None
        leaving = self.rng.choice(there)
        actor = OWNER if self.rng.random() < 0.4 else leaving
        return Unsubscribe(
            number=number, realm=self.realm, actor=actor, channel=channel, people=(leaving,)
        )

    def change_privacy(self, number: int) -> Operation:
        actor = self.rng.choice([OWNER, OWNER, self.user().number])
        return ChangePrivacy(
            number=number,
            realm=self.realm,
            actor=actor,
            channel=self.channel().number,
            privacy=self.rng.choice(PRIVACIES),
        )

    def archive(self, number: int) -> Operation:
        channel = self.channel()
        return Archive(
            number=number,
            realm=self.realm,
            actor=OWNER,
            channel=channel.number,
            archived=not channel.is_archived,
        )

    def change_group(self, number: int) -> Operation:
        group = self.rng.choice(list(self.model.groups))
        user = self.user().number
        return ChangeGroup(
            number=number,
            realm=self.realm,
            actor=OWNER,
            group=group,
            user=user,
            joins=user not in self.model.groups[group].people,
        )

    def deactivate(self, number: int) -> Operation | None:
        leaving = [n for n in self.active() if n != OWNER]
        if len(leaving) < 3:
            return None
        return Deactivate(
            number=number, realm=self.realm, actor=OWNER, user=self.rng.choice(leaving)
        )


_WEIGHTS: dict[Callable[[Inventor, int], Operation | None], float] = {
    Inventor.send: 28,
    Inventor.send_directly: 8,
    Inventor.react: 9,
    Inventor.flag: 8,
    Inventor.type: 4,
    Inventor.subscribe: 12,
    Inventor.unsubscribe: 10,
    Inventor.change_privacy: 3,
    Inventor.archive: 1.5,
    Inventor.edit: 4,
    Inventor.move: 7,
    Inventor.delete: 3,
    Inventor.mark_read: 3,
    Inventor.vote: 3,
    Inventor.change_group: 4,
    Inventor.create: 1,
    Inventor.deactivate: 0.6,
}
