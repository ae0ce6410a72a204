"""Draw operations on messages and conversations."""

from testkit.leaks.bulk import BulkDelete, BulkMove
from testkit.leaks.changes import (
    Delete,
    DeleteTopic,
    Edit,
    MarkRead,
    SetPolicy,
    TypeEdit,
    Vote,
)
from testkit.leaks.draws import Draws
from testkit.leaks.moves import RESOLVED, Move
from testkit.leaks.operations import Flag, Operation, React, Send, Type

TOPICS = ("plans", "lunch", "Ümlaut", "")
EMOJI = ("thumbs_up", "heart")
FOUNDER = 0


class MessageOperations(Draws):
    """Draws operations on messages; None where the model has nothing for one."""

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
            names=self.names(actor),
        )

    def send_directly(self, number: int) -> Operation:
        people, actor = self.some(self.active(), 3), self.user().number
        names = self.names(actor)
        return Send(number=number, realm=self.realm, actor=actor, people=people, names=names)

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
        actor = self.author_of(message)
        if self.rng.random() < 0.25:
            op = self.rng.choice(["start", "stop"])
            return TypeEdit(number=number, realm=self.realm, actor=actor, message=message, op=op)
        names = self.names(actor)
        return Edit(number=number, realm=self.realm, actor=actor, message=message, names=names)

    def move(self, number: int) -> Operation | None:
        message = self.message()
        if message is None:
            return None
        actor = FOUNDER if self.rng.random() < 0.3 else self.reader_of(message)
        return Move(
            number=number,
            realm=self.realm,
            actor=actor,
            message=message,
            topic=self.rng.choice(TOPICS),
            channel=self.target(actor) if self.rng.random() < 0.7 else None,
            mode=self.rng.choice(["change_one", "change_later", "change_all"]),
            notifies_old=self.rng.random() < 0.3,
            notifies_new=self.rng.random() < 0.3,
        )

    def resolve(self, number: int) -> Operation | None:
        """Resolve the topic of a message, or take it up again."""
        message = self.message()
        if message is None or self.model.messages[message].channel is None:
            return None
        topic = self.model.messages[message].topic
        if not topic:
            return None  # the topic without a name has no other with a mark before it
        is_resolved = topic.startswith(RESOLVED)
        return Move(
            number=number,
            realm=self.realm,
            actor=self.reader_of(message),
            message=message,
            topic=topic.removeprefix(RESOLVED) if is_resolved else RESOLVED + topic,
            mode="change_all",
        )

    def delete(self, number: int) -> Operation | None:
        message = self.message()
        if message is None:
            return None
        if self.rng.random() < 0.15:
            return DeleteTopic(
                number=number,
                realm=self.realm,
                actor=self.rng.choice([FOUNDER, self.user().number]),
                channel=self.channel().number,
                topic=self.rng.choice(TOPICS),
            )
        actor = self.author_of(message)
        return Delete(number=number, realm=self.realm, actor=actor, message=message)

    def bulk_delete(self, number: int) -> Operation | None:
        first = self.message()
        if first is None:
            return None
        actor = FOUNDER if self.rng.random() < 0.4 else self.author_of(first)
        own = [n for n, m in self.model.messages.items() if actor in (FOUNDER, m.sender)]
        others = self.rng.sample(own, self.rng.randint(0, min(3, len(own))))
        messages = tuple(sorted({first, *others}))
        return BulkDelete(number=number, realm=self.realm, actor=actor, messages=messages)

    def bulk_move(self, number: int) -> Operation | None:
        first = self.message()
        place = None if first is None else self.model.messages[first].channel
        if first is None or place is None:
            return None
        actor = FOUNDER if self.rng.random() < 0.3 else self.reader_of(first)
        user = self.model.users[actor]
        there = [
            n
            for n, m in self.model.messages.items()
            if m.channel == place and self.model.may_read(user, m)
        ]
        messages = {first, *self.rng.sample(there, self.rng.randint(0, min(4, len(there))))}
        if any(self.model.messages[n].topic.startswith(RESOLVED) for n in messages):
            return None  # the bot says that a topic is unresolved
        return BulkMove(
            number=number,
            realm=self.realm,
            actor=actor,
            messages=tuple(sorted(messages)),
            topic=self.rng.choice(TOPICS),
            channel=self.target(actor) if self.rng.random() < 0.6 else place,
        )

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

    def set_policy(self, number: int) -> Operation:
        channel = self.channel()
        readers = [user.number for user in self.model.active() if self.model.reads(user, channel)]
        may_read = bool(readers) and self.rng.random() < 0.7
        return SetPolicy(
            number=number,
            realm=self.realm,
            actor=self.rng.choice(readers) if may_read else self.user().number,
            channel=channel.number,
            topic=self.rng.choice(TOPICS),
            policy=self.rng.choice([0, 1, 2, 3, 3]),
        )
