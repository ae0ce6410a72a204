"""Change, deactivate and reactivate groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from server.actions import audit
from server.actions.groups.standing import (
    active_ids,
    conclude,
    publish_with_access,
    stand_on_group,
)
from server.actions.locked_realm import LockedRealm
from server.domain.access import GroupSetting
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, GroupInUseError
from server.domain.group_settings import PermissionChange, changed_settings, named_in
from server.domain.groups import (
    checked_group_description,
    checked_group_name,
    group_permission,
    is_name_taken,
    manages,
    within,
)
from server.domain.permission_settings import GROUP_PERMISSIONS, REALM_PERMISSIONS
from server.events.base import EVERYONE, Entry
from server.events.groups import GroupChanged, UserGroup, permissions_of, shown_group
from server.i18n import _
from server.transactions import Tx
from storage import channels, groups, subscriptions, users
from storage.channels import ChannelRow
from storage.database import Connection
from storage.groups import GroupRow
from storage.ids import ChannelId, GroupId

IS_DEACTIVATED = _("User group is deactivated.")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """Requested changes of a group; None leaves a field as it is."""

    name: str | None = None
    description: str | None = None
    permissions: Mapping[str, PermissionChange] = field(default_factory=dict)
    reactivate: bool = False


async def change_group(tx: Tx, actor: Actor, group_id: GroupId, change: GroupChange) -> str | None:
    """Make all changes, or none; unchanged values are not published.

    A deactivated group may be renamed, described and reactivated. Returns the id of an
    ACCESS_CHANGE to be finished, or None. Raises BadRequestError, ExpectationMismatchError.
    """
    if change.reactivate:
        tx.must_be_exact()  # every user within may see other channels, which takes long
    context, row = await stand_on_group(tx, actor, group_id, named_in(change.permissions))
    _check_manages(context, actor, row)
    if row.deactivated and change.permissions and not change.reactivate:
        raise BadRequestError(IS_DEACTIVATED)
    return await _become(tx, actor, context, row, _changed(context, row, change))


async def deactivate_group(tx: Tx, actor: Actor, group_id: GroupId) -> str | None:
    """Deactivate the group.

    Returns the id of an ACCESS_CHANGE to be finished, or None. Raises BadRequestError, and
    GroupInUseError if another group, a setting of the realm or of a channel, or a permission of
    another group uses it.
    """
    tx.must_be_exact()  # as when it is reactivated
    context, row = await stand_on_group(tx, actor, group_id)
    _check_manages(context, actor, row)
    if row.deactivated:
        raise BadRequestError(IS_DEACTIVATED)
    objections = await _objections(tx, await tx.connection(), context, actor, group_id)
    if objections:
        raise GroupInUseError(objections)

    return await _become(tx, actor, context, row, replace(row, deactivated=True))


async def _become(
    tx: Tx, actor: Actor, context: LockedRealm, row: GroupRow, new: GroupRow
) -> str | None:
    """Update the group and publish it, unless it is unchanged."""
    changes = audit.differences(_facts(context, row), _facts(context, new))
    if not changes:
        return None
    is_turned = row.deactivated != new.deactivated
    connection = await tx.changing()
    await groups.update(connection, tx.realm_id, new)
    event = GroupChanged(
        group_id=row.group_id,
        data=audit.after(changes),
        deactivated=row.deactivated and new.deactivated,
        group=await _shown(tx, connection, context, new) if is_turned and row.deactivated else None,
    )

    def publish() -> Entry:
        entry = tx.append(event, EVERYONE)
        before, after = audit.before(changes), audit.after(changes)
        conclude(tx, actor, entry, "group_changed", row.group_id, before=before, after=after)
        return entry

    if not is_turned:
        publish()
        return None
    # Channels may use it, archived ones also while it is deactivated.
    return await publish_with_access(tx, context, row.group_id, within(row), publish)


def _check_manages(context: LockedRealm, actor: Actor, row: GroupRow) -> None:
    if not manages(context.standing(actor.user_id), row):
        raise BadRequestError(_("Insufficient permission"))


def _changed(context: LockedRealm, row: GroupRow, change: GroupChange) -> GroupRow:
    """Return the changed group. Raises BadRequestError, ExpectationMismatchError."""
    graph = context.graph
    name, description = row.name, row.description
    if change.name is not None:
        name = checked_group_name(change.name)
        if is_name_taken(name, graph, by_others_than=row.group_id):
            raise BadRequestError(_("User group '{name}' already exists.", name=name))
    if change.description is not None:
        description = checked_group_description(change.description)
    permissions = changed_settings(
        change.permissions,
        GROUP_PERMISSIONS,
        lambda setting: group_permission(row, setting, graph),
        graph,
        active_ids(context),
    )
    return replace(
        row,
        name=name,
        description=description,
        permissions=row.permissions | permissions,
        deactivated=row.deactivated and not change.reactivate,
    )


def _facts(context: LockedRealm, row: GroupRow) -> dict[str, Any]:
    """Return all fields of a group that can be changed, in wire form."""
    facts: dict[str, Any] = {
        name: getattr(row, name) for name in ("name", "description", "deactivated")
    }
    return facts | permissions_of(row, context.graph)


async def _shown(tx: Tx, connection: Connection, context: LockedRealm, row: GroupRow) -> UserGroup:
    people = await users.by_ids(connection, tx.realm_id, row.member_ids)
    members = [person.user_id for person in people if person.is_active]
    return shown_group(row, context.graph, members)


async def _objections(
    tx: Tx, connection: Connection, context: LockedRealm, actor: Actor, group_id: GroupId
) -> list[dict[str, Any]]:
    """Return what uses the group and prevents its deactivation, except its own permissions.

    For a channel that the actor may not know only the settings are returned.
    """
    graph, settings = context.graph, context.settings
    found: list[dict[str, Any]] = []
    above = [g for g, nested in graph.subgroups.items() if group_id in nested]
    supergroups = sorted(g for g in above if g not in graph.deactivated)
    if supergroups:
        found.append({"type": "subgroup", "supergroup_ids": supergroups})
    found += await _objections_of_channels(tx, connection, context, actor, group_id)
    for other, permissions in graph.permissions.items():
        naming = _naming(group_id, permissions)
        if naming and other != group_id and other not in graph.deactivated:
            found.append({"type": "user_group", "group_id": other, "settings": naming})
    naming = [
        name for name in REALM_PERMISSIONS if group_id in settings.permission(name, graph).group_ids
    ]
    if naming:
        found.append({"type": "realm", "settings": naming})
    return found


async def _objections_of_channels(
    tx: Tx, connection: Connection, context: LockedRealm, actor: Actor, group_id: GroupId
) -> list[dict[str, Any]]:
    rows = [
        (row, naming)
        for row in await channels.naming(connection, tx.realm_id, [group_id])
        if not row.is_archived and (naming := _naming(group_id, row.permissions))
    ]
    own = await subscriptions.in_channels(
        connection,
        tx.realm_id,
        user_ids=[actor.user_id],
        channel_ids=[row.channel_id for row, _ in rows],
    )
    is_in = {row.channel_id for row in own if row.active}
    standing = context.standing(actor.user_id)

    def name_of(row: ChannelRow) -> dict[str, ChannelId]:
        seen = standing.sees(row, subscribed=row.channel_id in is_in)
        return {"channel_id": row.channel_id} if seen else {}

    return [{"type": "channel", **name_of(row), "settings": naming} for row, naming in rows]


def _naming(group_id: GroupId, permissions: Mapping[str, Any]) -> Sequence[str]:
    """Return those of the permissions that name the group, sorted."""
    return sorted(
        name
        for name, value in permissions.items()
        if group_id in GroupSetting.parse(value).group_ids
    )
