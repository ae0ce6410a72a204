"""Events of user status."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType
from typing_extensions import override

from server.events.base import ClientView, Event
from storage.ids import Position, UserId
from storage.user_status import UserStatusRow


class ShownStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A status in its wire form; unset fields are left out."""

    away: bool = False
    status_text: str = ""
    emoji_name: str = ""
    emoji_code: str = ""
    reaction_type: str = ""

    @classmethod
    def of(cls, row: UserStatusRow) -> "ShownStatus":
        return cls(
            away=row.away,
            status_text=row.status_text,
            emoji_name=row.emoji_name,
            emoji_code=row.emoji_code,
            reaction_type=row.reaction_type,
        )


class UserStatusChanged(Event, frozen=True, kw_only=True):
    """A changed status: missing fields are unchanged, empty ones are cleared."""

    kind: ClassVar[str] = "user_status"
    wire_type: ClassVar[str] = "user_status"

    type: Literal["user_status"] = "user_status"
    user_id: UserId
    away: bool | UnsetType = UNSET
    status_text: str | UnsetType = UNSET
    emoji_name: str | UnsetType = UNSET
    emoji_code: str | UnsetType = UNSET
    reaction_type: str | UnsetType = UNSET


class IntroducedStatus(ShownStatus, frozen=True, kw_only=True, omit_defaults=True):
    user_id: UserId


class IntroducedStatusWire(IntroducedStatus, frozen=True, kw_only=True, omit_defaults=True):
    """The status of a user new to the client: missing fields are empty."""

    type: Literal["user_status"]


class StatusesIntroduced(Event, frozen=True, kw_only=True):
    """Statuses of people that the audience has not known before."""

    kind: ClassVar[str] = "user_status/introduced"
    wire_type: ClassVar[str] = "user_status"
    wires: ClassVar[tuple[type, ...]] = (IntroducedStatusWire,)

    statuses: list[IntroducedStatus]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return [{"type": "user_status", **msgspec.to_builtins(status)} for status in self.statuses]
