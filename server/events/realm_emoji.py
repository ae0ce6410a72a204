"""Event of custom emoji."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypedDict

import msgspec
from typing_extensions import override

from server.domain.emoji import picture_url
from server.events.base import ClientView, Event
from server.realm_cache import EMOJI, Touch
from storage.ids import Position, UserId
from storage.realm_emoji import EmojiRow


class ShownEmoji(msgspec.Struct, frozen=True, kw_only=True):
    """An emoji in its wire form."""

    id: str
    name: str
    source_url: str
    still_url: str | None
    deactivated: bool
    author_id: UserId

    @classmethod
    def of(cls, row: EmojiRow) -> "ShownEmoji":
        return cls(
            id=str(row.emoji_id),
            name=row.name,
            source_url=picture_url(row.blob_key),
            still_url=None if row.still_key is None else picture_url(row.still_key),
            deactivated=row.deactivated,
            author_id=row.author_id,
        )


def shown(rows: Sequence[EmojiRow]) -> dict[str, ShownEmoji]:
    """Return all of them, by id."""
    return {str(row.emoji_id): ShownEmoji.of(row) for row in rows}


class RealmEmojiWire(TypedDict):
    """All custom emoji by id, for clients without `individual_emoji_changes`."""

    type: Literal["realm_emoji"]
    op: Literal["update"]
    realm_emoji: dict[str, ShownEmoji]


class EmojiAddedWire(TypedDict):
    """A new custom emoji."""

    type: Literal["realm_emoji"]
    op: Literal["add"]
    emoji: ShownEmoji


class EmojiChange(TypedDict):
    deactivated: bool


class EmojiChangedWire(TypedDict):
    """A changed custom emoji."""

    type: Literal["realm_emoji"]
    op: Literal["update_one"]
    emoji_id: str
    data: EmojiChange


class RealmEmojiChanged(Event, frozen=True, kw_only=True):
    """A changed emoji; most clients get the list of all."""

    kind: ClassVar[str] = "realm_emoji"
    wire_type: ClassVar[str] = "realm_emoji"
    varies_by: ClassVar[tuple[str, ...]] = ("individual_emoji_changes",)
    wires: ClassVar[tuple[type, ...]] = (RealmEmojiWire, EmojiAddedWire, EmojiChangedWire)

    changed_id: str
    is_new: bool
    realm_emoji: dict[str, ShownEmoji]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if not view.individual_emoji_changes:
            body: dict[str, Any] = {"op": "update", "realm_emoji": self.realm_emoji}
        elif self.is_new:
            body = {"op": "add", "emoji": self.realm_emoji[self.changed_id]}
        else:
            deactivated = self.realm_emoji[self.changed_id].deactivated
            data = {"deactivated": deactivated}
            body = {"op": "update_one", "emoji_id": self.changed_id, "data": data}
        return ({"type": "realm_emoji", **body},)

    @override
    def touches(self) -> Sequence[Touch]:
        return (EMOJI,)
