"""Register's custom emoji of the realm."""

from typing import Any, Final

from server.events.realm_emoji import shown
from server.initial_state.base import Snapshot, StateSection
from storage import realm_emoji


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await realm_emoji.of_realm(snapshot.connection, snapshot.realm_id)
    return {"realm_emoji": shown(rows)}


SECTION: Final = StateSection("realm_emoji", fetch)
