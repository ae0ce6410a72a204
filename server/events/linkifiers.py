"""Events of linkifiers and playgrounds."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec
from typing_extensions import override

from server.events.base import ClientView, Event
from server.realm_cache import LINKIFIERS, Touch
from storage.ids import LinkifierId, PlaygroundId, Position
from storage.linkifiers import LinkifierRow
from storage.playgrounds import PlaygroundRow


class ShownLinkifier(msgspec.Struct, frozen=True, kw_only=True):
    id: LinkifierId
    pattern: str
    url_template: str
    example_input: str | None = None
    reverse_template: str | None = None
    alternative_url_templates: tuple[str, ...] = ()

    @classmethod
    def of(cls, row: LinkifierRow) -> "ShownLinkifier":
        return cls(
            id=row.linkifier_id,
            pattern=row.pattern,
            url_template=row.url_template,
            example_input=row.example_input,
            reverse_template=row.reverse_template,
            alternative_url_templates=row.alternative_url_templates,
        )


class ShownPlayground(msgspec.Struct, frozen=True, kw_only=True):
    id: PlaygroundId
    name: str
    pygments_language: str
    url_template: str

    @classmethod
    def of(cls, row: PlaygroundRow) -> "ShownPlayground":
        return cls(
            id=row.playground_id,
            name=row.name,
            pygments_language=row.pygments_language,
            url_template=row.url_template,
        )


class LinkifiersChanged(Event, frozen=True, kw_only=True):
    """All linkifiers of the realm, in order; not for clients that do not support templates."""

    kind: ClassVar[str] = "realm_linkifiers"
    wire_type: ClassVar[str] = "realm_linkifiers"
    varies_by: ClassVar[tuple[str, ...]] = ("linkifier_url_template",)

    type: Literal["realm_linkifiers"] = "realm_linkifiers"
    realm_linkifiers: list[ShownLinkifier]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return (self,) if view.linkifier_url_template else ()

    @override
    def touches(self) -> Sequence[Touch]:
        return (LINKIFIERS,)


class PlaygroundsChanged(Event, frozen=True, kw_only=True):
    """All playgrounds of the realm."""

    kind: ClassVar[str] = "realm_playgrounds"
    wire_type: ClassVar[str] = "realm_playgrounds"

    type: Literal["realm_playgrounds"] = "realm_playgrounds"
    realm_playgrounds: list[ShownPlayground]
