"""Events of navigation views, delivered to their user only."""

from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from server.events.base import Event
from storage.navigation_views import NavigationViewRow


class ShownView(msgspec.Struct, frozen=True, kw_only=True):
    """A view in its wire form; views named by the client have no name here."""

    fragment: str
    is_pinned: bool
    name: str | UnsetType = UNSET

    @classmethod
    def of(cls, row: NavigationViewRow) -> "ShownView":
        name = UNSET if row.name is None else row.name
        return cls(fragment=row.fragment, is_pinned=row.is_pinned, name=name)


class _OfViews(Event, frozen=True, kw_only=True):
    """Base of events with the wire type `navigation_view`."""

    wire_type: ClassVar[str] = "navigation_view"

    type: Literal["navigation_view"] = "navigation_view"


class NavigationViewAdded(_OfViews, frozen=True, kw_only=True):
    kind: ClassVar[str] = "navigation_view/add"

    op: Literal["add"] = "add"
    navigation_view: ShownView


class NavigationViewChanged(_OfViews, frozen=True, kw_only=True):
    kind: ClassVar[str] = "navigation_view/update"

    op: Literal["update"] = "update"
    fragment: str
    data: dict[str, Any]
    """The changed fields."""


class NavigationViewRemoved(_OfViews, frozen=True, kw_only=True):
    kind: ClassVar[str] = "navigation_view/remove"

    op: Literal["remove"] = "remove"
    fragment: str
