"""Events of users who connect or lose an account at a service for calls."""

from typing import ClassVar, Literal

from server.events.base import Event


class HasWebexToken(Event, frozen=True, kw_only=True):
    """Whether the user can create Webex calls, delivered to this user."""

    kind: ClassVar[str] = "has_webex_token"
    wire_type: ClassVar[str] = "has_webex_token"

    type: Literal["has_webex_token"] = "has_webex_token"
    value: bool


class HasZoomToken(Event, frozen=True, kw_only=True):
    """Whether the user can create Zoom calls, delivered to this user."""

    kind: ClassVar[str] = "has_zoom_token"
    wire_type: ClassVar[str] = "has_zoom_token"

    type: Literal["has_zoom_token"] = "has_zoom_token"
    value: bool
