"""Files of a user are there, are in other messages, or are gone; only their owner is told."""

from typing import Any, ClassVar, Literal

import msgspec

from server.events.base import Event
from storage.ids import AttachmentId


class AttachmentShown(Event, frozen=True, kw_only=True):
    """A file is new, or other messages hold it (also written by `append_attachment_entries`)."""

    kind: ClassVar[str] = "attachment"
    wire_type: ClassVar[str] = "attachment"

    type: Literal["attachment"] = "attachment"
    op: Literal["add", "update"]
    attachment: dict[str, Any]
    """As `shown_attachment` gives it."""
    upload_space_used: int
    """By the whole organization, in bytes."""


class GoneAttachment(msgspec.Struct, frozen=True):
    id: AttachmentId


class AttachmentRemoved(Event, frozen=True, kw_only=True):
    kind: ClassVar[str] = "attachment_removed"
    wire_type: ClassVar[str] = "attachment"

    type: Literal["attachment"] = "attachment"
    op: Literal["remove"] = "remove"
    attachment: GoneAttachment
    upload_space_used: int
