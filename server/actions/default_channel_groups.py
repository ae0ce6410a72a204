"""Manage default channel groups, as an administrator."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

from server.actions import audit
from server.actions.locked_realm import lock_as_administrator
from server.domain.actor import Actor
from server.domain.default_channel_groups import (
    MAX_CHANNELS,
    MAX_GROUPS,
    checked_group_description,
    checked_group_name,
    may_be_in_a_group,
)
from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.names import fold_name
from server.events.base import MEMBERS
from server.events.default_channel_groups import DefaultChannelGroupsChanged, shown_groups
from server.i18n import _
from server.transactions import Tx
from storage import channels, default_channel_groups
from storage.channels import ChannelRow
from storage.database import Connection
from storage.default_channel_groups import ChannelGroupRow
from storage.ids import ChannelGroupId, ChannelId, RealmId, UserId


async def add_group(
    tx: Tx, actor: Actor, name: str, description: str, channel_names: Sequence[str]
) -> None:
    """Create a group; publish it to all but guests. Raises a DomainError."""
    name = checked_group_name(name, parameter="group_name")
    description = checked_group_description(description, parameter="description")
    there = await _held(tx, actor)
    if len(there) >= MAX_GROUPS:
        raise BadRequestError(
            _("Too many default channel groups (limit: {limit})", limit=MAX_GROUPS)
        )
    _check_free(name, there, parameter="group_name")
    ids = [row.channel_id for row in await _channels(tx, channel_names)]
    group_id = await default_channel_groups.new_id(await tx.connection())
    await _keep(tx, actor, None, ChannelGroupRow(group_id, name, description, sorted(set(ids))))


async def change_group(
    tx: Tx, actor: Actor, group_id: ChannelGroupId, name: str | None, description: str | None
) -> None:
    """Rename or describe a group; None leaves a field as it is. Raises a DomainError."""
    there = await _held(tx, actor)
    new = old = _found(group_id, there)
    if name is not None:
        new = replace(new, name=checked_group_name(name, parameter="new_group_name"))
        others = [row for row in there if row != old]
        _check_free(new.name, others, parameter="new_group_name")
    if description is not None:
        checked = checked_group_description(description, parameter="new_description")
        new = replace(new, description=checked)
    await _keep(tx, actor, old, new)


async def add_channels(
    tx: Tx, actor: Actor, group_id: ChannelGroupId, channel_names: Sequence[str]
) -> None:
    """Add all of these channels to the group, or none. Raises a DomainError."""
    old = _found(group_id, await _held(tx, actor))
    found = await _channels(tx, channel_names)
    for row in found:
        if row.channel_id in old.channel_ids:
            raise InvalidParameterError(
                "stream_names", _("'{name}' is in the group already.", name=row.name)
            )
    ids = {*old.channel_ids, *(row.channel_id for row in found)}
    await _keep(tx, actor, old, replace(old, channel_ids=sorted(ids)))


async def remove_channels(
    tx: Tx, actor: Actor, group_id: ChannelGroupId, channel_names: Sequence[str]
) -> None:
    """Remove all of these channels from the group, or none. Raises a DomainError."""
    old = _found(group_id, await _held(tx, actor))
    named = await channels.named(await tx.connection(), tx.realm_id, channel_names)
    for each in named:
        if each.channel_id not in old.channel_ids:
            raise InvalidParameterError(
                "stream_names", _("'{name}' is not in the group.", name=each.name)
            )
    gone = {each.channel_id for each in named}
    left = [channel_id for channel_id in old.channel_ids if channel_id not in gone]
    await _keep(tx, actor, old, replace(old, channel_ids=left))


async def remove_group(tx: Tx, actor: Actor, group_id: ChannelGroupId) -> None:
    """Delete the group; its channels stay. Raises BadRequestError."""
    old = _found(group_id, await _held(tx, actor))
    await default_channel_groups.delete(await tx.changing(), tx.realm_id, group_id)
    await _append_groups_event(tx, actor.user_id, old, None)


async def leave_groups(tx: Tx, actor_id: UserId, channel_id: ChannelId) -> None:
    """Remove a channel that is archived or becomes a default channel from all groups.

    The caller has locked the realm's row exclusively.
    """
    for old in await default_channel_groups.of_realm(await tx.connection(), tx.realm_id):
        if channel_id in old.channel_ids:
            left = [each for each in old.channel_ids if each != channel_id]
            new = replace(old, channel_ids=left)
            await default_channel_groups.put(await tx.changing(), tx.realm_id, new)
            await _append_groups_event(tx, actor_id, old, new)


async def chosen_channels(
    connection: Connection, realm_id: RealmId, choices: Sequence[Collection[ChannelGroupId]]
) -> list[set[ChannelId]]:
    """Return the channels of the groups in each of these choices. Raises BadRequestError."""
    there = await default_channel_groups.of_realm(connection, realm_id) if any(choices) else []
    return [
        {channel_id for group_id in chosen for channel_id in _found(group_id, there).channel_ids}
        for chosen in choices
    ]


async def _held(tx: Tx, actor: Actor) -> list[ChannelGroupRow]:
    """Lock and return all groups, for an administrator.

    All channels are locked with them: archiving one or making it a default locks the realm's row
    exclusively.
    """
    await lock_as_administrator(tx, actor)
    return await default_channel_groups.of_realm(await tx.connection(), tx.realm_id)


def _found(group_id: ChannelGroupId, there: Collection[ChannelGroupRow]) -> ChannelGroupRow:
    for row in there:
        if row.group_id == group_id:
            return row
    raise BadRequestError(
        _("Default channel group with id '{group_id}' does not exist.", group_id=group_id)
    )


def _check_free(name: str, others: Collection[ChannelGroupRow], *, parameter: str) -> None:
    if fold_name(name) in {fold_name(row.name) for row in others}:
        raise InvalidParameterError(
            parameter, _("Default channel group '{name}' already exists", name=name)
        )


async def _channels(tx: Tx, names: Sequence[str]) -> list[ChannelRow]:
    """Return the channels of these names, if all of them may be in a group."""
    connection = await tx.connection()
    named = await channels.named(connection, tx.realm_id, names)
    ids = [each.channel_id for each in named if each.channel_id is not None]
    rows = {row.channel_id: row for row in await channels.by_ids(connection, tx.realm_id, ids)}
    for each in named:
        row = None if each.channel_id is None else rows[each.channel_id]
        if row is not None and row.is_default:
            raise InvalidParameterError(
                "stream_names",
                _("'{name}' is a default channel: every new user joins it.", name=row.name),
            )
        if row is None or not may_be_in_a_group(row):
            raise InvalidParameterError(
                "stream_names", _("There is no public channel named '{name}'.", name=each.name)
            )
    return list(rows.values())


async def _keep(tx: Tx, actor: Actor, old: ChannelGroupRow | None, new: ChannelGroupRow) -> None:
    if new == old:
        return
    if len(new.channel_ids) > MAX_CHANNELS:
        raise InvalidParameterError(
            "stream_names",
            _("Too many channels in a default channel group (limit: {limit})", limit=MAX_CHANNELS),
        )
    await default_channel_groups.put(await tx.changing(), tx.realm_id, new)
    await _append_groups_event(tx, actor.user_id, old, new)


async def _append_groups_event(
    tx: Tx, actor_id: UserId, old: ChannelGroupRow | None, new: ChannelGroupRow | None
) -> None:
    now = await default_channel_groups.of_realm(await tx.changing(), tx.realm_id)
    entry = tx.append(DefaultChannelGroupsChanged(default_stream_groups=shown_groups(now)), MEMBERS)
    was: dict[str, Any] = {} if old is None else asdict(old)
    is_now: dict[str, Any] = {} if new is None else asdict(new)
    audit.record(
        tx,
        entry,
        actor_id,
        "default_channel_group_changed",
        subject_id=(was or is_now)["group_id"],
        before={name: each for name, each in was.items() if is_now.get(name) != each},
        after={name: each for name, each in is_now.items() if was.get(name) != each},
    )
