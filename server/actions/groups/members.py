"""Add and remove members and subgroups."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass

from server.actions.groups.change import IS_DEACTIVATED
from server.actions.groups.standing import (
    check_people,
    check_subgroups,
    conclude,
    publish_with_access,
    stand_on_group,
)
from server.actions.locked_realm import LockedRealm
from server.domain.access import GroupSetting
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.domain.groups import may_add, may_remove
from server.events.base import EVERYONE, NO_AUDIENCE, Entry, Event
from server.events.groups import (
    MembersAdded,
    MembersRemoved,
    SubgroupsAdded,
    SubgroupsRemoved,
)
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import groups
from storage.database import Connection
from storage.groups import GroupRow
from storage.ids import GroupId, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersChange:
    """Members and subgroups to add and to remove; each once."""

    add: Sequence[UserId] = ()
    delete: Sequence[UserId] = ()
    add_subgroups: Sequence[GroupId] = ()
    delete_subgroups: Sequence[GroupId] = ()


async def change_members(
    tx: Tx, actor: Actor, group_id: GroupId, change: MembersChange
) -> str | None:
    """Make all changes, or none; publish them, with the access that users gain or lose.

    Returns the id of an ACCESS_CHANGE to be finished, or None. Raises BadRequestError if the actor
    may not; for users and groups that are unknown or deactivated, are members already or not at
    all; and if a group would contain itself.
    """
    if change.add_subgroups or change.delete_subgroups:
        tx.must_be_exact()  # every user within may see other channels, which takes long
    context, row = await stand_on_group(tx, actor, group_id, {*change.add, *change.delete})
    _check_may(context, actor, row, change)
    if row.deactivated:
        raise BadRequestError(IS_DEACTIVATED)
    _check_members(context, row, change)
    _check_subgroups(context, row, change)

    await _keep(tx, await tx.changing(), group_id, change)

    def publish() -> Entry:
        entries = [tx.append(event, EVERYONE) for event in _events(context, group_id, change)]
        entry = entries[0] if entries else tx.append(Tick(), NO_AUDIENCE)
        after = {name: list(ids) for name, ids in asdict(change).items() if ids}
        conclude(tx, actor, entry, "group_members_changed", group_id, before={}, after=after)
        return entry

    concerned = GroupSetting(
        direct_members=(*change.add, *change.delete),
        direct_subgroups=(*change.add_subgroups, *change.delete_subgroups),
    )
    return await publish_with_access(tx, context, group_id, concerned, publish)


def _events(context: LockedRealm, group_id: GroupId, change: MembersChange) -> Iterator[Event]:
    if change.add:
        yield MembersAdded(group_id=group_id, user_ids=tuple(change.add))
    # Deactivated users are shown in no group, so their removal is not published.
    if leaving := tuple(u for u in change.delete if context.people[u].is_active):
        yield MembersRemoved(group_id=group_id, user_ids=leaving)
    if nested := tuple(change.add_subgroups):
        yield SubgroupsAdded(group_id=group_id, direct_subgroup_ids=nested)
    if nested := tuple(change.delete_subgroups):
        yield SubgroupsRemoved(group_id=group_id, direct_subgroup_ids=nested)


def _check_may(context: LockedRealm, actor: Actor, row: GroupRow, change: MembersChange) -> None:
    standing, themselves = context.standing(actor.user_id), {actor.user_id}
    coming = set(change.add) == themselves and not change.add_subgroups
    going = set(change.delete) == themselves and not change.delete_subgroups
    adds, removes = change.add or change.add_subgroups, change.delete or change.delete_subgroups
    if (adds and not may_add(standing, row, only_themselves=coming)) or (
        removes and not may_remove(standing, row, only_themselves=going)
    ):
        raise BadRequestError(_("Insufficient permission"))


def _check_members(context: LockedRealm, row: GroupRow, change: MembersChange) -> None:
    check_people(context, change.add)
    members = set(row.member_ids)
    for user_id in change.add:
        if user_id in members:
            raise BadRequestError(
                _("User {user_id} is already a member of this group", user_id=user_id)
            )
    _check_leaving(change.delete, members, "There is no user '{}' in this user group")


def _check_subgroups(context: LockedRealm, row: GroupRow, change: MembersChange) -> None:
    check_subgroups(context.graph, change.add_subgroups)
    around = context.graph.around(row.group_id)
    for group_id in change.add_subgroups:
        if group_id in row.subgroup_ids:
            raise BadRequestError(
                _("User group {group_id} is already a subgroup of this group.", group_id=group_id)
            )
        if group_id in around:
            raise BadRequestError(
                _(
                    "User group {group_id} is already a subgroup of one of the passed subgroups.",
                    group_id=row.group_id,
                )
            )
    _check_leaving(
        change.delete_subgroups,
        set(row.subgroup_ids),
        "User group {} is not a subgroup of this group.",
    )


def _check_leaving(ids: Sequence[int], there: Collection[int], refusal: str) -> None:
    for each in ids:
        if each not in there:
            raise BadRequestError(refusal.format(each))


async def _keep(tx: Tx, connection: Connection, group_id: GroupId, change: MembersChange) -> None:
    realm_id = tx.realm_id
    if change.add:
        await groups.add_members(connection, realm_id, group_id, change.add)
    if change.delete:
        await groups.remove_members(connection, realm_id, group_id, change.delete)
    if change.add_subgroups:
        await groups.add_subgroups(connection, realm_id, group_id, change.add_subgroups)
    if change.delete_subgroups:
        await groups.remove_subgroups(connection, realm_id, group_id, change.delete_subgroups)
