"""Register's `devices`: those that clients of the user have registered."""

from typing import Any, TypedDict

from server.events.client_devices import ShownClientDevice
from server.initial_state.base import Snapshot, StateSection
from storage import push_devices


class ClientDeviceFields(TypedDict):
    devices: dict[str, ShownClientDevice]
    """By id."""


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await push_devices.of_user(
        snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
    )
    clients = [row.client for row in rows if row.client is not None]
    return {"devices": {str(each.device_id): ShownClientDevice.of(each) for each in clients}}


SECTION = StateSection("device", fetch, (ClientDeviceFields,))
