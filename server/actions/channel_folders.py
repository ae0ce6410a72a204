"""Manage channel folders, as an administrator."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

from server.actions import audit
from server.actions.locked_realm import lock_as_administrator
from server.domain.actor import Actor
from server.domain.channel_folders import MAX_FOLDERS, checked_description, checked_name
from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.markdown import render_description
from server.domain.names import fold_name
from server.events.base import EVERYONE
from server.events.channel_folders import (
    FolderAdded,
    FolderChange,
    FolderChanged,
    FoldersReordered,
    ShownFolder,
)
from server.i18n import _
from server.transactions import Tx
from storage import channel_folders
from storage.channel_folders import FolderRow
from storage.database import Connection
from storage.ids import FolderId, RealmId

_CHANGEABLE: Final = ("name", "description", "is_archived")


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderWish:
    """Requested changes of a folder; None leaves a field as it is."""

    name: str | None = None
    description: str | None = None
    is_archived: bool | None = None


async def add_folder(
    tx: Tx, actor: Actor, name: str, description: str, *, now: datetime
) -> FolderId:
    """Create a folder at the end; publish it to all. Raises BadRequestError."""
    name, description = checked_name(name), checked_description(description)
    there = await _held(tx, actor)
    if len(there) >= MAX_FOLDERS:
        raise BadRequestError(_("Too many channel folders (limit: {limit})", limit=MAX_FOLDERS))
    _check_free(name, there)
    row = await channel_folders.insert(
        await tx.changing(),
        tx.realm_id,
        name=name,
        description=description,
        rendered_description=render_description(description),
        creator_id=actor.user_id,
        created_at=now,
    )
    event = FolderAdded(channel_folder=ShownFolder.of(row))
    audit.append_recorded(
        tx,
        actor.user_id,
        "channel_folder_added",
        event,
        EVERYONE,
        before={},
        after=_facts(row),
        subject_id=row.folder_id,
    )
    return row.folder_id


async def change_folder(tx: Tx, actor: Actor, folder_id: FolderId, wish: FolderWish) -> None:
    """Rename, describe, archive or unarchive a folder; publish it to all.

    Its channels stay in it. Raises BadRequestError.
    """
    there = await _held(tx, actor)
    old = next((row for row in there if row.folder_id == folder_id), None)
    if old is None:
        raise BadRequestError(_("Invalid channel folder ID"))
    new = _changed(old, wish)
    if new == old:
        return
    if not new.is_archived:
        _check_free(new.name, [row for row in there if row != old])
    await channel_folders.update(await tx.changing(), tx.realm_id, new)
    changes = audit.differences(_facts(old), _facts(new))
    data = audit.after(changes)
    if "description" in data:
        data["rendered_description"] = new.rendered_description
    event = FolderChanged(channel_folder_id=folder_id, data=FolderChange(**data))
    entry = tx.append(event, EVERYONE)
    audit.record_each(tx, entry, actor.user_id, "channel_folder_changed", {folder_id: changes})


async def check_folder(connection: Connection, realm_id: RealmId, folder_id: int | None) -> None:
    """Raise BadRequestError unless a channel may be put there: an active folder, or none.

    The caller has locked the realm's row, so the folder does not change.
    """
    if folder_id is None:
        return
    row = await channel_folders.by_id(connection, realm_id, FolderId(folder_id))
    if row is None or row.is_archived:
        raise BadRequestError(_("Invalid channel folder ID"))


def _changed(old: FolderRow, wish: FolderWish) -> FolderRow:
    new = old
    if wish.name is not None:
        new = replace(new, name=checked_name(wish.name))
    if wish.description is not None:
        description = checked_description(wish.description)
        if description != old.description:
            rendered = render_description(description)
            new = replace(new, description=description, rendered_description=rendered)
    if wish.is_archived is not None:
        new = replace(new, is_archived=wish.is_archived)
    return new


async def order_folders(tx: Tx, actor: Actor, folder_ids: Sequence[FolderId]) -> None:
    """Set the order of all folders, archived ones included; publish it to all.

    Raises InvalidParameterError unless each is named once.
    """
    there = [row.folder_id for row in await _held(tx, actor)]
    if sorted(there) != sorted(folder_ids):
        raise InvalidParameterError("order", _("Invalid order: it must name each folder once."))
    if there == list(folder_ids):
        return
    await channel_folders.update_order(await tx.changing(), tx.realm_id, folder_ids)
    event = FoldersReordered(order=list(folder_ids))
    before, after = {"order": there}, {"order": list(folder_ids)}
    audit.append_recorded(
        tx,
        actor.user_id,
        "channel_folders_ordered",
        event,
        EVERYONE,
        before=before,
        after=after,
    )


async def _held(tx: Tx, actor: Actor) -> list[FolderRow]:
    """Lock and return all folders, for an administrator."""
    await lock_as_administrator(tx, actor)
    return await channel_folders.of_realm(await tx.connection(), tx.realm_id)


def _check_free(name: str, others: Sequence[FolderRow]) -> None:
    taken = {fold_name(row.name) for row in others if not row.is_archived}
    if fold_name(name) in taken:
        raise InvalidParameterError("name", _("There is a channel folder of this name already."))


def _facts(row: FolderRow) -> dict[str, Any]:
    facts = asdict(row)
    return {name: facts[name] for name in _CHANGEABLE}
