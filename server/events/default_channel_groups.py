"""Event of default channel groups."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import msgspec

from server.events.base import Event
from storage.default_channel_groups import ChannelGroupRow
from storage.ids import ChannelGroupId, ChannelId


class ShownChannelGroup(msgspec.Struct, frozen=True, kw_only=True):
    id: ChannelGroupId
    name: str
    description: str
    streams: list[ChannelId]

    @classmethod
    def of(cls, row: ChannelGroupRow) -> "ShownChannelGroup":
        return cls(
            id=row.group_id,
            name=row.name,
            description=row.description,
            streams=row.channel_ids,
        )


def shown_groups(rows: Sequence[ChannelGroupRow]) -> list[ShownChannelGroup]:
    return [ShownChannelGroup.of(row) for row in rows]


class DefaultChannelGroupsChanged(Event, frozen=True, kw_only=True):
    """The new list of all groups."""

    kind: ClassVar[str] = "default_stream_groups"
    wire_type: ClassVar[str] = "default_stream_groups"

    type: Literal["default_stream_groups"] = "default_stream_groups"
    default_stream_groups: list[ShownChannelGroup]
