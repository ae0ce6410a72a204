"""Register's `alert_words`: the user's own."""

from typing import Any, TypedDict

from server.initial_state.base import Snapshot, StateSection
from storage import alert_words


class AlertWordFields(TypedDict):
    alert_words: list[str]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    words = await alert_words.of_user(
        snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
    )
    return {"alert_words": words}


SECTION = StateSection("alert_words", fetch, (AlertWordFields,))
