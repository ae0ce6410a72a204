"""Events of channel folders."""

from typing import ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from server.events.base import Event
from storage.channel_folders import FolderRow
from storage.ids import FolderId


class ShownFolder(msgspec.Struct, frozen=True, kw_only=True):
    id: FolderId
    name: str
    description: str
    rendered_description: str
    creator_id: int | None
    date_created: int | None
    is_archived: bool
    order: int

    @classmethod
    def of(cls, row: FolderRow) -> "ShownFolder":
        return cls(
            id=row.folder_id,
            name=row.name,
            description=row.description,
            rendered_description=row.rendered_description,
            creator_id=row.creator_id,
            date_created=int(row.created_at.timestamp()),
            is_archived=row.is_archived,
            order=row.sort_order,
        )


class FolderChange(msgspec.Struct, frozen=True, kw_only=True):
    """Changed fields of a folder."""

    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    rendered_description: str | UnsetType = UNSET
    is_archived: bool | UnsetType = UNSET


class _OfFolders(Event, frozen=True, kw_only=True):
    """Base of events with the wire type `channel_folder`."""

    wire_type: ClassVar[str] = "channel_folder"

    type: Literal["channel_folder"] = "channel_folder"


class FolderAdded(_OfFolders, frozen=True, kw_only=True):
    kind: ClassVar[str] = "channel_folder/add"

    op: Literal["add"] = "add"
    channel_folder: ShownFolder


class FolderChanged(_OfFolders, frozen=True, kw_only=True):
    kind: ClassVar[str] = "channel_folder/update"

    op: Literal["update"] = "update"
    channel_folder_id: FolderId
    data: FolderChange


class FoldersReordered(_OfFolders, frozen=True, kw_only=True):
    """The new order of all folders, archived ones included, by id."""

    kind: ClassVar[str] = "channel_folder/reorder"

    op: Literal["reorder"] = "reorder"
    order: list[FolderId]
