"""Draw users, channels and messages from the state of a model."""

import random
from collections.abc import Sequence

from testkit.leaks.model import Channel, Model, User
from testkit.leaks.operations import NO_NAMES, Named


class Draws:
    """Random choices for one organization."""

    def __init__(self, rng: random.Random, realm: int, model: Model) -> None:
        self.rng = rng
        self.realm = realm
        self.model = model
        self.place: int | None = None
        """The channel in which everything happens, for a while."""

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
        """A user who may read the message; now and then any user."""
        readers = sorted(self.model.readers(self.model.messages[message]))
        if readers and self.rng.random() < 0.8:
            return self.rng.choice(readers)
        return self.user().number

    def names(self, author: int) -> Named:
        """The users that the author mentions: mostly none."""
        if self.rng.random() < 0.6:
            return NO_NAMES
        user, model = self.model.users[author], self.model
        known = [u.number for u in model.active() if model.knows(user, u)]
        return Named(
            people=self.some(known, 2) if self.rng.random() < 0.6 else (),
            groups=self.some(list(model.groups), 1) if self.rng.random() < 0.5 else (),
            everyone=self.rng.random() < 0.15,
        )

    def author_of(self, message: int) -> int:
        """The sender; now and then another user."""
        sender = self.model.messages[message].sender
        has_account = sender in self.model.users
        return sender if has_account and self.rng.random() < 0.8 else self.reader_of(message)

    def target(self, actor: int) -> int:
        """The target of a move: as a rule a channel that the actor is in, so that they may."""
        own = [number for number in self.model.channels if self.model.is_in(actor, number)]
        if not own or self.rng.random() < 0.3:
            return self.channel().number
        return self.rng.choice(own)
