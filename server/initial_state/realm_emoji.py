"""Register's custom emoji of the realm."""

from typing import Any, Final, TypedDict

from server.events.realm_emoji import ShownEmoji, shown
from server.initial_state.base import Snapshot, StateSection
from storage import realm_emoji


class RealmEmojiFields(TypedDict):
    realm_emoji: dict[str, ShownEmoji]
    """By id."""


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await realm_emoji.of_realm(snapshot.connection, snapshot.realm_id)
    return {"realm_emoji": shown(rows)}


SECTION: Final = StateSection("realm_emoji", fetch, (RealmEmojiFields,))
