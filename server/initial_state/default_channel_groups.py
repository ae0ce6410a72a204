"""Register's default channel groups; empty for guests, who cannot join channels themselves."""

from typing import Any, TypedDict

from server.events.default_channel_groups import ShownChannelGroup, shown_groups
from server.initial_state.base import Snapshot, StateSection
from storage import default_channel_groups


class DefaultChannelGroupFields(TypedDict):
    realm_default_stream_groups: list[ShownChannelGroup]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    if snapshot.actor.is_guest:
        return {"realm_default_stream_groups": []}
    rows = await default_channel_groups.of_realm(snapshot.connection, snapshot.realm_id)
    return {"realm_default_stream_groups": shown_groups(rows)}


SECTION = StateSection("default_stream_groups", fetch, (DefaultChannelGroupFields,))
