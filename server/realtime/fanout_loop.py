"""What goes round among the live queues of a realm: one thing after another, and others between."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from server.events.base import Audience
from server.realtime.audience import LiveUser, LiveUsers
from server.runtime.scheduler import CooperativeScheduler
from storage.ids import ChannelId, Position

USERS_A_STEP: Final = 8

Tell = Callable[[LiveUser], None]


class FanoutLoop:
    """Tells each user of an audience, in turns: there may be tens of thousands of them.

    FanoutLoop end in the order in which they were begun, and so did all that are no longer here.
    """

    def __init__(self, users: LiveUsers, turns: CooperativeScheduler) -> None:
        self._users = users
        self._turns = turns
        self._under_way: deque[tuple[Iterator[LiveUser], Tell, Position]] = deque()
        self._everybody: dict[ChannelId | None, Sequence[LiveUser]] = {}
        """Who was asked for, by channel, since users have changed: rounds under way share it."""
        self._version = users.version

    def begin(self, audience: Audience, tell: Tell, position: Position) -> None:
        """Tell everybody whom the audience may name: `tell` looks whether it does.

        Positions never fall from one round to the next.
        """
        others = self._users.named_beside_channel(audience)
        users = chain(self._of_channel(audience), others)
        if not self._under_way:
            self._turns.add(self._step)
        self._under_way.append((users, tell, position))

    def looked_before(self, position: Position) -> Position:
        """Up to where everybody has been told everything, if the log ends at this position."""
        return Position(self._under_way[0][2] - 1) if self._under_way else position

    def clear(self) -> None:
        """Whatever goes round is of no use any more."""
        self._under_way.clear()

    def _step(self) -> None:
        try:
            for _ in range(USERS_A_STEP if self._under_way else 0):
                users, tell, _ = self._under_way[0]
                user = next(users, None)
                if user is None:
                    self._under_way.popleft()
                    break
                tell(user)
        finally:
            if self._under_way:
                self._turns.add(self._step)
            else:
                self._everybody.clear()

    def _of_channel(self, audience: Audience) -> Sequence[LiveUser]:
        if not audience.everyone and audience.channel_id is None:
            return ()
        if self._version != self._users.version:
            self._version = self._users.version
            self._everybody.clear()
        key = None if audience.everyone else audience.channel_id
        known = self._everybody.get(key)
        if known is None:
            known = self._everybody[key] = tuple(self._users.in_channel(key).values())
        return known
