"""Events of drafts, delivered to the owner only."""

from typing import ClassVar, Literal

import msgspec

from server.events.base import Event
from storage.drafts import DraftRow
from storage.ids import DraftId


class ShownDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A draft in its wire form."""

    id: DraftId
    type: str
    to: list[int]
    topic: str
    content: str
    timestamp: int

    @classmethod
    def of(cls, row: DraftRow) -> "ShownDraft":
        return cls(
            id=row.draft_id,
            type=row.type,
            to=row.to_ids,
            topic=row.topic,
            content=row.content,
            timestamp=int(row.edited_at.timestamp()),
        )


class DraftsEvent(Event, frozen=True, kw_only=True):
    """Base of draft events."""

    wire_type: ClassVar[str] = "drafts"

    type: Literal["drafts"] = "drafts"


class DraftsAdded(DraftsEvent, frozen=True, kw_only=True):
    kind: ClassVar[str] = "drafts/add"

    op: Literal["add"] = "add"
    drafts: list[ShownDraft]


class DraftUpdated(DraftsEvent, frozen=True, kw_only=True):
    kind: ClassVar[str] = "drafts/update"

    op: Literal["update"] = "update"
    draft: ShownDraft


class DraftRemoved(DraftsEvent, frozen=True, kw_only=True):
    kind: ClassVar[str] = "drafts/remove"

    op: Literal["remove"] = "remove"
    draft_id: DraftId
