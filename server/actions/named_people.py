"""Events of permissions that name deactivated or reactivated users."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from server.actions.channel_audiences import audiences_allowed_to_see
from server.actions.locked_realm import LockedRealm
from server.domain.access import GroupGraph
from server.domain.channels import setting_of
from server.domain.permission_settings import CHANNEL_PERMISSIONS, REALM_PERMISSIONS
from server.events.base import EVERYONE, MAX_WIRE_EVENTS, Audience, decode_audience
from server.events.channels import ChannelsUpdated, ChannelUpdated
from server.events.groups import GroupChanged, permissions_of
from server.events.realm import RealmSettingsChanged
from server.runtime.grouping import grouped
from server.transactions import Tx
from storage import channels, groups
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import UserId


async def append_permission_events(
    tx: Tx,
    connection: Connection,
    context: LockedRealm,
    user_ids: Collection[UserId],
    *,
    active: bool,
) -> None:
    """Append each permission that names one of these users, as it is from now on.

    They have just become active, or inactive; the context may be from before that.
    """
    there = replace(context.graph, gone=context.graph.gone - set(user_ids))
    away = replace(context.graph, gone=context.graph.gone | set(user_ids))
    before, after = (away, there) if active else (there, away)
    _append_realm_events(tx, context, before, after)
    await _append_group_events(tx, connection, before, after)
    named = await channels.naming_people(connection, tx.realm_id, user_ids)
    await _append_channel_events(tx, connection, context, _updates(named, before, after))


def _append_realm_events(
    tx: Tx, context: LockedRealm, before: GroupGraph, after: GroupGraph
) -> None:
    data: dict[str, Any] = {}
    for name in REALM_PERMISSIONS:
        setting = context.settings.permission(name, after)
        if setting != context.settings.permission(name, before):
            data[name] = setting.as_json()
    if data:
        tx.append(RealmSettingsChanged(data=data), EVERYONE)


async def _append_group_events(
    tx: Tx, connection: Connection, before: GroupGraph, after: GroupGraph
) -> None:
    for row in await groups.all_of_realm(connection, tx.realm_id):
        was, now = permissions_of(row, before), permissions_of(row, after)
        data = {name: value for name, value in now.items() if value != was[name]}
        if data:
            event = GroupChanged(group_id=row.group_id, data=data, deactivated=row.deactivated)
            tx.append(event, EVERYONE)


def _updates(
    named: Collection[ChannelRow], before: GroupGraph, after: GroupGraph
) -> Iterator[tuple[ChannelRow, ChannelUpdated]]:
    for channel in named:
        for name in CHANNEL_PERMISSIONS:
            setting = setting_of(channel, name, after)
            if setting != setting_of(channel, name, before):
                yield (
                    channel,
                    ChannelUpdated(
                        stream_id=channel.channel_id,
                        name=channel.name,
                        property=name,
                        value=setting.as_json(),
                        archived=channel.is_archived,
                    ),
                )


async def _append_channel_events(
    tx: Tx,
    connection: Connection,
    context: LockedRealm,
    updates: Iterator[tuple[ChannelRow, ChannelUpdated]],
) -> None:
    """Append changed channels, grouped by audience: a user may have created hundreds."""
    changed = list(updates)
    concerned = {channel.channel_id: channel for channel, _ in changed}
    audiences = await audiences_allowed_to_see(connection, tx.realm_id, context, concerned.values())
    together = grouped(
        (audiences[channel.channel_id].encode(), update) for channel, update in changed
    )
    for encoded, alike in together.items():
        audience: Audience = decode_audience(encoded)
        for start in range(0, len(alike), MAX_WIRE_EVENTS):
            some = alike[start : start + MAX_WIRE_EVENTS]
            tx.append(ChannelsUpdated(updates=some), audience)
