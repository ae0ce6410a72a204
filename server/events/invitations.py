"""Event of changed invitations: clients that show them fetch the list again."""

from typing import ClassVar, Literal

from server.events.base import Event


class InvitationsChanged(Event, frozen=True, kw_only=True):
    kind: ClassVar[str] = "invitations"
    wire_type: ClassVar[str] = "invites_changed"

    type: Literal["invites_changed"] = "invites_changed"
