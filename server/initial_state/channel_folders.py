"""Register's channel folders: all of them, archived ones too, in order."""

from typing import Any, TypedDict

from server.events.channel_folders import ShownFolder
from server.initial_state.base import Snapshot, StateSection
from storage import channel_folders


class ChannelFolderFields(TypedDict):
    channel_folders: list[ShownFolder]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await channel_folders.of_realm(snapshot.connection, snapshot.realm_id)
    return {"channel_folders": [ShownFolder.of(row) for row in rows]}


SECTION = StateSection("channel_folders", fetch, (ChannelFolderFields,))
