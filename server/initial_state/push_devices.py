"""Register's `push_devices`: those with encrypted notifications."""

from typing import Any, TypedDict

from server.events.push_devices import ShownDevice
from server.initial_state.base import Snapshot, StateSection
from storage import push_devices


class PushDeviceFields(TypedDict):
    push_devices: dict[str, ShownDevice]
    """By the account's id, a 64-bit number as text."""


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await push_devices.of_user(
        snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
    )
    shown = {str(row.account_id): ShownDevice.of(row) for row in rows if row.account_id is not None}
    return {"push_devices": shown}


SECTION = StateSection("push_device", fetch, (PushDeviceFields,))
