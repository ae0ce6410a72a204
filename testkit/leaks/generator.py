"""Generate random histories: each operation is drawn from the state of the model."""

from collections.abc import Callable
from dataclasses import replace

from testkit.leaks.changes import (
    TypeEdit,
)
from testkit.leaks.membership import (
    Archive,
    ChangePrivacy,
    Create,
    Privacy,
    Subscribe,
    Unsubscribe,
)
from testkit.leaks.message_draws import FOUNDER, MessageOperations
from testkit.leaks.model import (
    ADMINISTRATOR,
    GUEST,
    MEMBER,
    MODERATOR,
    OWNER,
    Grant,
)
from testkit.leaks.moves import Move, toggles_mark
from testkit.leaks.operations import (
    NUMBERS_EACH,
    Flag,
    Operation,
)
from testkit.leaks.people import ChangeGroup, ChangeRole, Deactivate, LetSpectators
from testkit.leaks.together import Drawn, Together

PRIVATE = Privacy(is_private=True)
PROTECTED = Privacy(is_private=True, is_protected=True)
PUBLIC = Privacy()
WEB_PUBLIC = Privacy(is_web_public=True)
PRIVACIES = (PUBLIC, WEB_PUBLIC, PRIVATE, PROTECTED, PROTECTED)
GRANTS = ("can_subscribe_group", "can_add_subscribers_group", "can_administer_channel_group")
LAST_ONE_COUNTS = (ChangePrivacy, ChangeRole, Move)
ROLES = (OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST, GUEST)


class HistoryGenerator(MessageOperations):
    """Draws operations for one organization."""

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
    HistoryGenerator.bulk_move: 4,
    HistoryGenerator.bulk_delete: 1.5,
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
"""Operations performed at the same time as another, with their weights."""
