"""Register's `muted_users`."""

from typing import Any

from server.initial_state.base import Snapshot, StateSection
from storage import muted_users


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await muted_users.of_user(snapshot.connection, snapshot.realm_id, snapshot.actor.user_id)
    return {
        "muted_users": [
            {"id": row.muted_user_id, "timestamp": int(row.muted_at.timestamp())} for row in rows
        ]
    }


SECTION = StateSection("muted_users", fetch)
