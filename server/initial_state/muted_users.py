"""Register's `muted_users`."""

from typing import Any, TypedDict

from server.events.muted_users import MutedUser
from server.initial_state.base import Snapshot, StateSection
from storage import muted_users


class MutedUserFields(TypedDict):
    muted_users: list[MutedUser]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await muted_users.of_user(snapshot.connection, snapshot.realm_id, snapshot.actor.user_id)
    return {
        "muted_users": [
            {"id": row.muted_user_id, "timestamp": int(row.muted_at.timestamp())} for row in rows
        ]
    }


SECTION = StateSection("muted_users", fetch, (MutedUserFields,))
