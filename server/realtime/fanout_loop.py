"""Deliver entries to the live queues of a realm, in order and in small time slices."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from server.events.base import Audience
from server.realtime.audience import LiveUser, LiveUsers
from server.runtime.scheduler import CooperativeScheduler
from storage.ids import ChannelId, Position

USERS_PER_STEP: Final = 8

Deliver = Callable[[LiveUser], None]


class FanoutLoop:
    """Call a function for each user of an audience, in time slices: there may be ten thousands.

    Deliveries complete in the order in which they were started.
    """

    def __init__(self, users: LiveUsers, scheduler: CooperativeScheduler) -> None:
        self._users = users
        self._scheduler = scheduler
        self._pending: deque[tuple[Iterator[LiveUser], Deliver, Position]] = deque()
        self._users_by_channel: dict[ChannelId | None, Sequence[LiveUser]] = {}
        """Cache for pending deliveries, valid for one version of `users`."""
        self._version = users.version

    def begin(self, audience: Audience, deliver: Deliver, position: Position) -> None:
        """Start a delivery to a superset of the audience: `deliver` checks each user.

        `position` never decreases from one call to the next.
        """
        others = self._users.named_outside_channel(audience)
        users = chain(self._of_channel(audience), others)
        if not self._pending:
            self._scheduler.add(self._step)
        self._pending.append((users, deliver, position))

    def completed_up_to(self, position: Position) -> Position:
        """Position up to which deliveries are complete, if the log ends at `position`."""
        return Position(self._pending[0][2] - 1) if self._pending else position

    def clear(self) -> None:
        """Drop all pending deliveries."""
        self._pending.clear()

    def _step(self) -> None:
        try:
            for _ in range(USERS_PER_STEP if self._pending else 0):
                users, deliver, _ = self._pending[0]
                user = next(users, None)
                if user is None:
                    self._pending.popleft()
                    break
                deliver(user)
        finally:
            if self._pending:
                self._scheduler.add(self._step)
            else:
                self._users_by_channel.clear()

    def _of_channel(self, audience: Audience) -> Sequence[LiveUser]:
        if not audience.everyone and audience.channel_id is None:
            return ()
        if self._version != self._users.version:
            self._version = self._users.version
            self._users_by_channel.clear()
        key = None if audience.everyone else audience.channel_id
        known = self._users_by_channel.get(key)
        if known is None:
            known = self._users_by_channel[key] = tuple(self._users.in_channel(key).values())
        return known
