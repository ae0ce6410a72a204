"""Generate random histories: each operation is drawn from the state of the model."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from testkit.leaks.changes import (
    Delete,
    DeleteTopic,
    Edit,
    MarkRead,
    SetPolicy,
    TypeEdit,
    Vote,
)
from testkit.leaks.membership import (
    Archive,
    ChangePrivacy,
    Create,
    Privacy,
    Subscribe,
    Unsubscribe,
)
from testkit.leaks.model import (
    ADMINISTRATOR,
    GUEST,
    MEMBER,
    MODERATOR,
    OWNER,
    Channel,
    Grant,
    Model,
    User,
)
from testkit.leaks.moves import RESOLVED, Move, toggles_mark
from testkit.leaks.operations import (
    NO_NAMES,
    NUMBERS_EACH,
    Flag,
    Named,
    Operation,
    React,
    Send,
    Type,
)
from testkit.leaks.people import ChangeGroup, ChangeRole, Deactivate, LetSpectators
from testkit.leaks.together import Drawn, Together

PRIVATE = Privacy(is_private=True)
PROTECTED = Privacy(is_private=True, is_protected=True)
PUBLIC = Privacy()
WEB_PUBLIC = Privacy(is_web_public=True)
PRIVACIES = (PUBLIC, WEB_PUBLIC, PRIVATE, PROTECTED, PROTECTED)
TOPICS = ("plans", "lunch", "Ümlaut", "")
EMOJI = ("thumbs_up", "heart")
GRANTS = ("can_subscribe_group", "can_add_subscribers_group", "can_administer_channel_group")
FOUNDER = 0
LAST_ONE_COUNTS = (ChangePrivacy, ChangeRole, Move)
ROLES = (OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST, GUEST)


class HistoryGenerator:
    """Draws operations for one organization."""

    def __init__(self, rng: random.Random, realm: int, model: Model) -> None:
        self.rng = rng
        self.realm = realm
        self.model = model
        self.place: int | None = None
        """The channel in which everything happens, for a while."""

    def draw(self, number: int) -> Drawn:
        """The next operation, which fits what is there."""
        first = len(PRIVACIES)
        if len(self.model.channels) < first:
            return self.create(number, PRIVACIES[len(self.model.channels)])
        while True:
            [invent] = self.rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
            operation = invent(self, number)
            if operation is not None and operation.fits(self.model):
                return operation

    def together(self, number: int) -> Together | None:
        """Two operations of different people in the same channel, at the same time."""
        self.place = self.channel().number
        try:
            first = self._beside_another(number)
            second = self._beside_another(number + NUMBERS_EACH // 2)
        finally:
            self.place = None
        if first is None or second is None or first.actor == second.actor:
            return None
        if isinstance(first, LAST_ONE_COUNTS) and type(first) is type(second):
            return None  # no event says which was the last
        return Together(
            number=number, realm=self.realm, actor=first.actor, first=first, second=second
        )

    def _beside_another(self, number: int) -> Operation | None:
        [invent] = self.rng.choices(list(_BESIDE), list(_BESIDE.values()))
        operation = invent(self, number)
        if isinstance(operation, TypeEdit | Create):
            return None  # delivered at most once, and with an unknown name
        if isinstance(operation, ChangePrivacy | Archive):
            return replace(operation, is_announced=False)  # what the bot says comes when it comes
        if isinstance(operation, Move):
            operation = replace(operation, notifies_old=False, notifies_new=False)
            here = self.model.messages[operation.message].topic
            if toggles_mark(here, operation.topic):
                return None  # what the bot says comes when it comes
        return operation

    # ------------------------------------------------------------ drawing

    def user(self) -> User:
        return self.rng.choice(list(self.model.active()))

    def channel(self) -> Channel:
        if self.place is not None:
            return self.model.channels[self.place]
        return self.rng.choice(list(self.model.channels.values()))

    def message(self) -> int | None:
        """A message, rather one of the latest, or one that not all who are there may read."""
        numbers = [n for n, m in self.model.messages.items() if self.place in (None, m.channel)]
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
        actor = FOUNDER if privacy.is_web_public else self.rng.choice(members)
        grants = {}
        if self.rng.random() < 0.5:
            name = self.rng.choice(GRANTS)
            people = frozenset(self.some(self.active(), 2)) if self.rng.random() < 0.5 else ()
            groups = frozenset({self.rng.choice(list(self.model.groups))})
            grants[name] = Grant(frozenset(people), groups)
        if self.rng.random() < 0.25:
            senders = frozenset(self.some(self.active(), 4))
            groups = frozenset({self.rng.choice(list(self.model.groups))})
            grants["can_send_message_group"] = Grant(senders, groups)
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
            names=self.names(actor),
        )

    def send_directly(self, number: int) -> Operation:
        people, actor = self.some(self.active(), 3), self.user().number
        names = self.names(actor)
        return Send(number=number, realm=self.realm, actor=actor, people=people, names=names)

    def names(self, author: int) -> Named:
        """The users that the author mentions: mostly none."""
        if self.rng.random() < 0.6:
            return NO_NAMES
        user, model = self.model.users[author], self.model
        known = [u.number for u in model.active() if model.knows(user, u)]
        return Named(
            people=self.some(known, 2) if self.rng.random() < 0.6 else (),
            groups=self.some(list(model.groups), 1) if self.rng.random() < 0.5 else (),
            everybody=self.rng.random() < 0.15,
        )

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
        names = self.names(actor)
        return Edit(number=number, realm=self.realm, actor=actor, message=message, names=names)

    def _author_of(self, message: int) -> int:
        """The sender; now and then another user."""
        sender = self.model.messages[message].sender
        has_account = sender in self.model.users
        return sender if has_account and self.rng.random() < 0.8 else self.reader_of(message)

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
            channel=self._target(actor) if self.rng.random() < 0.7 else None,
            mode=self.rng.choice(["change_one", "change_later", "change_all"]),
            notifies_old=self.rng.random() < 0.3,
            notifies_new=self.rng.random() < 0.3,
        )

    def _target(self, actor: int) -> int:
        """Where to move something: as a rule a channel that the actor is in, so that they may."""
        own = [number for number in self.model.channels if self.model.is_in(actor, number)]
        if not own or self.rng.random() < 0.3:
            return self.channel().number
        return self.rng.choice(own)

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
        actor = FOUNDER if self.rng.random() < 0.4 else leaving
        return Unsubscribe(
            number=number, realm=self.realm, actor=actor, channel=channel, people=(leaving,)
        )

    def leave_or_return(self, number: int) -> Operation | None:
        """A user with a star or a policy in a private channel loses access, or regains it.

        Now and then they star a message first.
        """
        stored = [
            (user, channel) for (user, channel, _), policy in self.model.policies.items() if policy
        ]
        stored += [
            (user, message.channel)
            for message in self.model.messages.values()
            if message.channel is not None
            for user in sorted(message.starred)
        ]
        here = [
            (user, channel)
            for user, channel in stored
            if self.model.channels[channel].is_private
            and self.place in (None, channel)
            and self.model.users[user].is_active
        ]
        lost = [
            (user, channel)
            for user, channel in here
            if not self.model.reads(self.model.users[user], self.model.channels[channel])
        ]
        if not here or self.rng.random() < 0.3:
            return self._star_in_private(number)
        user, channel = self.rng.choice(lost if lost and self.rng.random() < 0.6 else here)
        there = sorted(self.model.subscribers(channel))
        kind = Unsubscribe if user in there else Subscribe
        if kind is Subscribe and not there:
            return None
        actor = user if kind is Unsubscribe else self.rng.choice(there)
        return kind(number=number, realm=self.realm, actor=actor, channel=channel, people=(user,))

    def _star_in_private(self, number: int) -> Operation | None:
        messages = [
            message
            for message in self.model.messages.values()
            if message.channel is not None and self.model.channels[message.channel].is_private
        ]
        if not messages:
            return None
        message = self.rng.choice(messages).number
        actor = self.reader_of(message)
        return Flag(
            number=number,
            realm=self.realm,
            actor=actor,
            messages=(message,),
            flag="starred",
            op="add",
        )

    def change_privacy(self, number: int) -> Operation:
        actor = self.rng.choice([FOUNDER, FOUNDER, self.user().number])
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
            actor=FOUNDER,
            channel=channel.number,
            archived=not channel.is_archived,
        )

    def change_group(self, number: int) -> Operation:
        group = self.rng.choice(list(self.model.groups))
        user = self.user().number
        return ChangeGroup(
            number=number,
            realm=self.realm,
            actor=FOUNDER,
            group=group,
            user=user,
            joins=user not in self.model.groups[group].people,
        )

    def change_role(self, number: int) -> Operation | None:
        changing = [u.number for u in self.model.active() if u.number != FOUNDER and not u.is_bot]
        if not changing:
            return None
        return ChangeRole(
            number=number,
            realm=self.realm,
            actor=self.user().number if self.rng.random() < 0.3 else FOUNDER,
            user=self.rng.choice(changing),
            role=self.rng.choice(ROLES),
        )

    def let_spectators(self, number: int) -> Operation:
        actor = self.rng.choice([FOUNDER, self.user().number])
        return LetSpectators(
            number=number, realm=self.realm, actor=actor, may_look=self.rng.random() < 0.7
        )

    def deactivate(self, number: int) -> Operation | None:
        leaving = [n for n in self.active() if n != FOUNDER]
        if len(leaving) < 3:
            return None
        return Deactivate(
            number=number, realm=self.realm, actor=FOUNDER, user=self.rng.choice(leaving)
        )


_WEIGHTS: dict[Callable[[HistoryGenerator, int], Drawn | None], float] = {
    HistoryGenerator.send: 28,
    HistoryGenerator.send_directly: 8,
    HistoryGenerator.react: 9,
    HistoryGenerator.flag: 8,
    HistoryGenerator.type: 4,
    HistoryGenerator.subscribe: 12,
    HistoryGenerator.unsubscribe: 10,
    HistoryGenerator.leave_or_return: 10,
    HistoryGenerator.change_privacy: 3,
    HistoryGenerator.archive: 1.5,
    HistoryGenerator.edit: 4,
    HistoryGenerator.move: 7,
    HistoryGenerator.delete: 3,
    HistoryGenerator.mark_read: 3,
    HistoryGenerator.vote: 3,
    HistoryGenerator.resolve: 2.5,
    HistoryGenerator.set_policy: 6,
    HistoryGenerator.change_role: 2.5,
    HistoryGenerator.let_spectators: 0.7,
    HistoryGenerator.change_group: 4,
    HistoryGenerator.create: 1,
    HistoryGenerator.deactivate: 0.6,
    HistoryGenerator.together: 5,
}
_BESIDE: dict[Callable[[HistoryGenerator, int], Operation | None], float] = {
    HistoryGenerator.send: 10,
    HistoryGenerator.react: 3,
    HistoryGenerator.subscribe: 8,
    HistoryGenerator.unsubscribe: 8,
    HistoryGenerator.leave_or_return: 3,
    HistoryGenerator.change_privacy: 4,
    HistoryGenerator.archive: 1,
    HistoryGenerator.edit: 3,
    HistoryGenerator.move: 4,
    HistoryGenerator.delete: 3,
    HistoryGenerator.change_group: 4,
    HistoryGenerator.change_role: 2,
}
"""What is done at the same time as something else."""
