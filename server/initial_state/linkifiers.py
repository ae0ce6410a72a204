"""Register's linkifiers and playgrounds."""

from typing import Any, Final, TypedDict

from server.events.linkifiers import ShownLinkifier, ShownPlayground
from server.initial_state.base import Snapshot, StateSection
from storage import linkifiers, playgrounds


class LinkifierFields(TypedDict):
    realm_linkifiers: list[ShownLinkifier]


class PlaygroundFields(TypedDict):
    realm_playgrounds: list[ShownPlayground]


class LegacyLinkifierFields(TypedDict):
    realm_filters: list[tuple[str, str, int]]


async def fetch_linkifiers(snapshot: Snapshot) -> dict[str, Any]:
    if not snapshot.view.linkifier_url_template:
        return {"realm_linkifiers": []}
    rows = await linkifiers.of_realm(snapshot.connection, snapshot.realm_id)
    return {"realm_linkifiers": [ShownLinkifier.of(row) for row in rows]}


async def fetch_playgrounds(snapshot: Snapshot) -> dict[str, Any]:
    rows = await playgrounds.of_realm(snapshot.connection, snapshot.realm_id)
    return {"realm_playgrounds": [ShownPlayground.of(row) for row in rows]}


async def fetch_filters(_: Snapshot) -> dict[str, Any]:
    """Return an empty list: the older form of linkifiers is not supported."""
    return {"realm_filters": []}


SECTIONS: Final = (
    StateSection("realm_linkifiers", fetch_linkifiers, (LinkifierFields,)),
    StateSection("realm_filters", fetch_filters, (LegacyLinkifierFields,)),
    StateSection("realm_playgrounds", fetch_playgrounds, (PlaygroundFields,)),
)
