"""Events of uploaded files, delivered to the owner only."""

from typing import ClassVar, Literal

import msgspec

from server.events.base import Event
from storage.attachments import ShownAttachment
from storage.ids import AttachmentId


class AttachmentShown(Event, frozen=True, kw_only=True):
    """A file is new, or has other messages."""

    kind: ClassVar[str] = "attachment"
    wire_type: ClassVar[str] = "attachment"

    type: Literal["attachment"] = "attachment"
    op: Literal["add", "update"]
    attachment: ShownAttachment
    upload_space_used: int
    """Bytes used by the whole realm."""


class GoneAttachment(msgspec.Struct, frozen=True):
    id: AttachmentId


class AttachmentRemoved(Event, frozen=True, kw_only=True):
    kind: ClassVar[str] = "attachment_removed"
    wire_type: ClassVar[str] = "attachment"

    type: Literal["attachment"] = "attachment"
    op: Literal["remove"] = "remove"
    attachment: GoneAttachment
    upload_space_used: int
