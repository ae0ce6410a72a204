"""Events of saved snippets, delivered to their owner only."""

from typing import ClassVar, Literal

import msgspec

from server.events.base import Event
from storage.ids import SavedSnippetId
from storage.saved_snippets import SavedSnippetRow


class ShownSnippet(msgspec.Struct, frozen=True, kw_only=True):
    """A snippet in its wire form."""

    id: SavedSnippetId
    title: str
    content: str
    date_created: int

    @classmethod
    def of(cls, row: SavedSnippetRow) -> "ShownSnippet":
        return cls(
            id=row.saved_snippet_id,
            title=row.title,
            content=row.content,
            date_created=int(row.created_at.timestamp()),
        )


class SnippetEvent(Event, frozen=True, kw_only=True):
    """Base of snippet events."""

    wire_type: ClassVar[str] = "saved_snippets"

    type: Literal["saved_snippets"] = "saved_snippets"


class SnippetAdded(SnippetEvent, frozen=True, kw_only=True):
    kind: ClassVar[str] = "saved_snippets/add"

    op: Literal["add"] = "add"
    saved_snippet: ShownSnippet


class SnippetUpdated(SnippetEvent, frozen=True, kw_only=True):
    kind: ClassVar[str] = "saved_snippets/update"

    op: Literal["update"] = "update"
    saved_snippet: ShownSnippet


class SnippetRemoved(SnippetEvent, frozen=True, kw_only=True):
    kind: ClassVar[str] = "saved_snippets/remove"

    op: Literal["remove"] = "remove"
    saved_snippet_id: SavedSnippetId
