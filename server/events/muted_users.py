"""Event of changed muted users, delivered to the muting user only."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypedDict

import msgspec
from typing_extensions import override

from server.events.base import ClientView, Event
from storage.ids import Position, UserId


class MutedUser(msgspec.Struct, frozen=True):
    """A muted user, and the time of muting."""

    id: UserId
    timestamp: int


class MutedUsersWire(TypedDict):
    """All muted users."""

    type: Literal["muted_users"]
    muted_users: list[MutedUser]


class MutedUsersChanged(Event, frozen=True, kw_only=True):
    """Appended by storage (append_muted_users), which determines who is muted at its position."""

    kind: ClassVar[str] = "muted_users"
    wire_type: ClassVar[str] = "muted_users"
    wires: ClassVar[tuple[type, ...]] = (MutedUsersWire,)

    user_id: UserId
    muted_user_id: UserId
    """The user who has just been muted or unmuted."""
    is_muted: bool
    muted_users: tuple[MutedUser, ...]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return [{"type": "muted_users", "muted_users": self.muted_users}]

    @override
    def muting(self) -> tuple[UserId, UserId, bool]:
        return self.user_id, self.muted_user_id, self.is_muted
