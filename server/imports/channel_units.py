"""Channels of an import into a realm in use, created and joined in bounded writes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Final

from server.actions.channels.create import publish_created
from server.actions.locked_realm import LockedRealm, lock_realm_context
from server.actions.subscriptions.membership import MembershipChange, join
from server.domain.access import NOBODY_GROUP, GroupSetting, GroupValue
from server.domain.channel_creation import default_permissions
from server.domain.channels import (
    COLORS,
    MAX_NAME_LENGTH,
)
from server.domain.markdown import render_description
from server.domain.names import composed
from server.domain.permission_settings import CHANNEL_PERMISSIONS
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import marked
from server.imports.descriptions import imported_description
from server.imports.founding import valid_channel_name
from server.imports.groups import possible_settings, without_groups
from server.imports.records import Channel, PermissionRecord
from server.imports.report import ImportReport
from server.imports.survey import Survey
from server.transactions import Tx
from storage import (
    channels,
    conversations,
    import_joining,
    import_keys,
    imported_people,
    subscriptions,
)
from storage.channels import ChannelRow, NewChannel
from storage.database import Connection
from storage.ids import ChannelId, UserId
from storage.imports import ImportRow

MEMBERS_IN_WRITE: Final = 50
"""Subscriptions in a write."""
MAX_NAMED_PEOPLE: Final = 3
CLOSED: Final = (
    "can_add_subscribers_group",
    "can_administer_channel_group",
    "can_send_message_group",
)
"""Permissions that are withdrawn in a channel of direct messages."""


@dataclass(frozen=True, slots=True)
class ChannelUnit:
    """Some members of a channel, or of a direct conversation that may become one.

    The first unit of a channel creates it, under all of its keys.
    """

    keys: Sequence[str]
    channel: Channel | None
    """None: a direct conversation."""
    members: Sequence[UserId]
    """Of this unit."""
    creator_id: UserId | None = None
    is_first: bool = True
    permissions: Mapping[str, PermissionRecord] = field(default_factory=dict)
    """Without groups of the file: those are not added to a realm in use."""
    people: Mapping[str, UserId] = field(default_factory=dict)
    """Of the permissions, by their keys."""


def channel_units(found: Survey, people: Mapping[str, UserId]) -> list[ChannelUnit]:
    """Return all units, always in the same order."""
    units: list[ChannelUnit] = []
    groups = {group.key: group for group in found.groups}
    seen: set[str] = set()
    for channel in found.channels:
        if channel.key in seen:
            continue
        seen.add(channel.key)
        members = sorted({people[key] for key in channel.members if key in people})
        creator_id = people.get(channel.creator or "")
        for start in range(0, max(1, len(members)), MEMBERS_IN_WRITE):
            some = members[start : start + MEMBERS_IN_WRITE]
            is_first = start == 0
            unit = ChannelUnit([channel.key], channel, some, creator_id, is_first)
            if is_first and channel.permissions:
                permissions = without_groups(channel.permissions, groups)
                unit = replace(unit, permissions=permissions, people=people)
            units.append(unit)
    conversations_of: dict[tuple[UserId, ...], list[str]] = {}
    for each in found.conversations:
        members = sorted({people[key] for key in each.members if key in people})
        keys = conversations_of.setdefault(tuple(members), [])
        if each.key not in keys:
            keys.append(each.key)
    units += [ChannelUnit(keys, None, ids) for ids, keys in conversations_of.items() if ids]
    return units


def has_protected_history(channel: Channel) -> bool:
    """Return whether members may read only what came since they joined."""
    return channel.is_private and channel.since is not None


async def add_channel_unit(tx: Tx, row: ImportRow, unit: ChannelUnit, report: ImportReport) -> None:
    """Create the unit's channel, if it is the first, and subscribe its members.

    A direct conversation becomes a channel only if these people have one here that has messages: no
    conversation mixes messages with ids and dates that disagree.
    """
    tx.must_be_exact()
    if unit.channel is None:
        connection = await tx.connection()
        if not await conversations.dm_group_has_messages(connection, tx.realm_id, unit.members):
            return
    context = await lock_realm_context(tx, unit.members, names_change=True)
    if unit.is_first:
        channel = await _create(tx, row, context, unit, report)
    else:
        ids = await import_keys.ids_of(
            await tx.connection(), tx.realm_id, row.import_id, "channel", unit.keys
        )
        locked = await tx.lock(channels.locking(tx.realm_id, [ChannelId(ids[unit.keys[0]])]))
        channel = locked[0]
    await _subscribe(tx, context, channel, unit, report)


async def _subscribe(
    tx: Tx, context: LockedRealm, channel: ChannelRow, unit: ChannelUnit, report: ImportReport
) -> None:
    rows = await subscriptions.in_channels(
        await tx.connection(),
        tx.realm_id,
        user_ids=list(unit.members),
        channel_ids=[channel.channel_id],
    )
    there = {row.user_id for row in rows if row.active}
    members = {i: context.people[i] for i in unit.members if i not in there}
    active = {i: person for i, person in members.items() if person.is_active}
    change = MembershipChange(
        channels={channel.channel_id: channel},
        people=active,
        pairs=[(user_id, channel.channel_id) for user_id in active],
        past={(row.user_id, row.channel_id): row for row in rows},
        chooses_colors=False,
    )
    await join(tx, context, change)
    inactive = [user_id for user_id in members if user_id not in active]
    if inactive:
        entry = tx.append(Tick(), NO_AUDIENCE)
        color = COLORS[channel.channel_id % len(COLORS)]
        tx.at_position(
            entry,
            import_joining.subscribe_deactivated(tx.realm_id, channel.channel_id, inactive, color),
        )
    report.count(marked("subscriptions"), len(members))


async def _create(
    tx: Tx, row: ImportRow, context: LockedRealm, unit: ChannelUnit, report: ImportReport
) -> ChannelRow:
    """Create and publish the channel, under a name that no other has."""
    connection = await tx.changing()
    now = context.graph.clock.now()
    channel = unit.channel or _read_only(context, row, unit)
    name = await _named(tx, row, channel, report, holds_direct=unit.channel is None)
    description = imported_description(channel, report)
    created = await channels.insert(
        connection,
        tx.realm_id,
        NewChannel(
            name=name,
            description=description,
            rendered_description=render_description(description),
            creator_id=unit.creator_id,
            created_at=min(channel.created_at or now, now),
            invite_only=channel.is_private,
            history_public_to_subscribers=not has_protected_history(channel),
            topics_policy=channel.topics_policy,
            message_retention_days=channel.retention_days,
            permissions=_permissions(context, unit, report),
        ),
    )
    if channel.is_archived:
        await imported_people.archive_channels(connection, tx.realm_id, [created.channel_id])
        created = replace(created, is_archived=True)
    keys = dict.fromkeys(unit.keys, created.channel_id)
    await connection.run(import_keys.keep(tx.realm_id, row.import_id, "channel", keys))
    await publish_created(tx, context, unit.creator_id, [created])
    report.count(marked("channels"))
    return created


def _read_only(context: LockedRealm, row: ImportRow, unit: ChannelUnit) -> Channel:
    """Return the channel that holds the direct messages of people with messages here."""
    return Channel(
        key=unit.keys[0],
        name=_name_of_people(context, unit.members),
        members=(),
        description=f"Direct messages from {row.source}, to be read: write new ones directly.",
        is_private=True,
    )


async def _named(
    tx: Tx, row: ImportRow, channel: Channel, report: ImportReport, *, holds_direct: bool
) -> str:
    """Return the name under which the channel comes, and report what changes with it."""
    connection = await tx.connection()
    wanted = channel.name if holds_direct else valid_channel_name(channel)
    name = await _free_name(connection, tx, wanted, row.source, is_marked=holds_direct)
    if holds_direct:
        reason = marked(
            "direct conversations are read-only channels, since the people have messages here"
        )
        report.remark(reason, name)
        return name
    if name != channel.name:
        report.remark(marked("names of channels were changed to free and valid ones"), name)
    if channel.is_web_public:
        report.remark(marked("channels were open to the web there, and are public here"), name)
    if channel.is_default:
        reason = marked(
            "default channels are none here, where newcomers join the organization's own"
        )
        report.remark(reason, name)
    return name


def _permissions(
    context: LockedRealm, unit: ChannelUnit, report: ImportReport
) -> dict[str, GroupValue]:
    """Return the permissions of the channel as they are stored."""
    permissions = default_permissions(context.graph.ids_by_name, unit.creator_id)
    if unit.channel is None:
        withdrawn = GroupSetting(group_id=context.graph.ids_by_name[NOBODY_GROUP])
        permissions |= dict.fromkeys(CLOSED, withdrawn)
    stored = {key: value.as_json() for key, value in permissions.items()}
    return stored | possible_settings(
        CHANNEL_PERMISSIONS,
        unit.permissions,
        {name: group_id for group_id, name in context.graph.system_names.items()},
        unit.people,
        context.graph,
        report,
    )


def _name_of_people(context: LockedRealm, members: Iterable[UserId]) -> str:
    names = [context.people[user_id].full_name for user_id in members]
    shown = names[:MAX_NAMED_PEOPLE]
    if more := len(names) - len(shown):
        shown.append(f"{more} more")
    return composed(", ".join(shown))


async def _free_name(
    connection: Connection, tx: Tx, base: str, source: str, *, is_marked: bool
) -> str:
    """Return the name, marked with the program that it comes from if it is taken or is to be."""
    marked = (
        _with_end(base, f" ({source})" if number == 1 else f" ({source} {number})")
        for number in count(1)
    )
    for name in marked if is_marked else chain([base], marked):
        [named] = await channels.named(connection, tx.realm_id, [name])
        if named.channel_id is None:
            return name
    raise AssertionError("numbers do not end")


def _with_end(base: str, end: str) -> str:
    return base[: MAX_NAME_LENGTH - len(end)].rstrip() + end
