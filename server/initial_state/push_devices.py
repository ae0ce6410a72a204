"""Register's `push_devices`: those with encrypted notifications."""

from typing import Any

from server.events.push_devices import ShownDevice
from server.initial_state.base import Snapshot, StateSection
from storage import push_devices


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await push_devices.of_user(
        snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
    )
    shown = {str(row.account_id): ShownDevice.of(row) for row in rows if row.account_id is not None}
    return {"push_devices": shown}


SECTION = StateSection("push_device", fetch)
