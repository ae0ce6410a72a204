"""Somebody's navigation views change; only they are told."""

from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from server.events.base import Event
from storage.navigation_views import NavigationViewRow


class ShownView(msgspec.Struct, frozen=True, kw_only=True):
    """A view as clients are told of it; those with a name of the client's own have none here."""

    fragment: str
    is_pinned: bool
    name: str | UnsetType = UNSET

    @classmethod
    def of(cls, row: NavigationViewRow) -> "ShownView":
        name = UNSET if row.name is None else row.name
        return cls(fragment=row.fragment, is_pinned=row.is_pinned, name=name)


class _OfViews(Event, frozen=True, kw_only=True):
    """Events that clients know as `navigation_view`."""

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
    """What is new about it."""


class NavigationViewRemoved(_OfViews, frozen=True, kw_only=True):
    kind: ClassVar[str] = "navigation_view/remove"

    op: Literal["remove"] = "remove"
    fragment: str
