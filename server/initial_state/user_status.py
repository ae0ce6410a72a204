"""Register's `user_status`."""

from typing import Any, TypedDict

from server.events.user_status import ShownStatus
from server.initial_state import people
from server.initial_state.base import Snapshot, StateSection
from storage import user_status
from storage.ids import UserId


class UserStatusFields(TypedDict):
    user_status: dict[UserId, ShownStatus]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    if snapshot.actor.is_spectator:
        return {"user_status": {}}
    known = await people.known(snapshot)
    rows = await user_status.of_realm(snapshot.connection, snapshot.realm_id)
    return {
        "user_status": {
            str(row.user_id): ShownStatus.of(row)
            for row in rows
            if known is None or row.user_id in known
        }
    }


SECTION = StateSection("user_status", fetch, (UserStatusFields,))
