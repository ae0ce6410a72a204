"""Create user groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from server.actions.groups.standing import (
    active_ids,
    check_people,
    check_subgroups,
    conclude,
)
from server.actions.locked_realm import PEOPLE_IN_BATCH, LockedRealm, lock_context
from server.domain.access import GroupSetting
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.domain.group_settings import checked_setting
from server.domain.groups import (
    checked_group_description,
    checked_group_name,
    default_permissions,
    is_name_taken,
)
from server.domain.permission_settings import GROUP_PERMISSIONS
from server.events.base import EVERYONE
from server.events.groups import GroupAdded, shown_group
from server.i18n import _
from server.transactions import Tx
from storage import groups
from storage.groups import GroupRow
from storage.ids import GroupId, Position, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGroup:
    """A group to be created."""

    name: str
    description: str = ""
    member_ids: Sequence[UserId] = ()
    subgroup_ids: Sequence[GroupId] = ()
    permissions: Mapping[str, GroupSetting] = field(default_factory=dict)
    """Requested permissions; the others get their defaults."""


async def create_group(tx: Tx, actor: Actor, new: NewGroup, *, now: datetime) -> GroupId:
    """Create the group with these members and subgroups; publish it to all.

    Raises BadRequestError if the actor may not, for an invalid or taken name, and for users, groups
    and permissions that it cannot have.
    """
    name = checked_group_name(new.name)
    description = checked_group_description(new.description)
    members, subgroups = sorted(set(new.member_ids)), sorted(set(new.subgroup_ids))
    named = {user_id for value in new.permissions.values() for user_id in value.direct_members}
    if len(members) + len(named) > PEOPLE_IN_BATCH:
        tx.must_be_exact()
    context = await lock_context(tx, actor, {*members, *named}, names_change=True)
    _check_may(context, actor)
    check_people(context, members)
    check_subgroups(context.graph, subgroups)
    if is_name_taken(name, context.graph):
        raise BadRequestError(_("User group '{name}' already exists.", name=name))
    permissions = _permissions(context, actor, new.permissions)

    kept = {setting: value.as_json() for setting, value in permissions.items()}
    row = GroupRow(
        group_id=GroupId(0),
        name=name,
        description=description,
        is_system_group=False,
        deactivated=False,
        creator_id=actor.user_id,
        created_at=now,
        permissions=kept,
        member_ids=members,
        subgroup_ids=subgroups,
        changed_at=Position(0),
    )
    row = await groups.insert(await tx.changing(), tx.realm_id, row)
    added = GroupAdded(group=shown_group(row, context.graph, members))
    after = {"name": name, "description": description, "members": members, "subgroups": subgroups}
    entry = tx.append(added, EVERYONE)
    conclude(tx, actor, entry, "group_created", row.group_id, before={}, after=after | kept)
    return row.group_id


def _check_may(context: LockedRealm, actor: Actor) -> None:
    if not context.standing(actor.user_id).realm_permits("can_create_groups"):
        raise BadRequestError(_("Insufficient permission"))


def _permissions(
    context: LockedRealm, actor: Actor, wanted: Mapping[str, GroupSetting]
) -> dict[str, GroupSetting]:
    """Return all permissions of the new group. Raises BadRequestError."""
    active = active_ids(context)
    return default_permissions(context.graph, actor.user_id) | {
        name: checked_setting(name, GROUP_PERMISSIONS[name], value, context.graph, active)
        for name, value in wanted.items()
    }
