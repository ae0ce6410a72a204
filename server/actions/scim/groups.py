"""Create, change and deactivate user groups as a directory says."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from server.actions.groups.change import GroupChange, change_group, deactivate_group
from server.actions.groups.create import NewGroup, create_group
from server.actions.groups.members import MembersChange, change_members
from server.actions.locked_realm import lock_as_owner, locked_realm_of
from server.domain.actor import Actor
from server.domain.groups import checked_group_name, is_name_taken
from server.domain.names import fold_name
from server.domain.scim import GroupTakenError, StateChangedError
from server.i18n import _
from server.transactions import Tx
from storage import groups, scim, users
from storage.groups import GroupRow
from storage.ids import GroupId, UserId
from storage.scim import ScimGroupRow


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedGroup:
    """A group as the directory wants it."""

    name: str
    external_id: str | None
    member_ids: Sequence[UserId]
    """All its people; bots and subgroups, which the directory does not see, stay."""


async def create_group_of_directory(
    tx: Tx, actor: Actor, wanted: WantedGroup, *, now: datetime
) -> tuple[GroupId, list[str]]:
    """Create the group, or reactivate a deactivated one of this name.

    Returns its id, and the ids of ACCESS_CHANGEs to be finished. Raises GroupTakenError, and
    BadRequestError for what is wrong with it.
    """
    tx.must_be_exact()
    realm = await lock_as_owner(tx, actor)
    connection = await tx.connection()
    name = checked_group_name(wanted.name)
    context = await locked_realm_of(tx, realm, [])
    if not is_name_taken(name, context.graph):
        new = NewGroup(name=name, member_ids=wanted.member_ids)
        group_id = await create_group(tx, actor, new, now=now)
        await _put(tx, group_id, wanted, now)
        return group_id, []
    for row in await groups.all_of_realm(connection, tx.realm_id):
        if fold_name(row.name) == fold_name(name) and row.deactivated:
            work = [await change_group(tx, actor, row.group_id, GroupChange(reactivate=True))]
            work += await _change(tx, actor, row, wanted)
            await _put(tx, row.group_id, wanted, now)
            return row.group_id, [each for each in work if each is not None]
    raise GroupTakenError(_("User group '{name}' already exists.", name=name))


async def change_group_of_directory(
    tx: Tx, actor: Actor, known: GroupRow, wanted: WantedGroup, *, now: datetime
) -> list[str]:
    """Change the group to what is wanted; return the ids of ACCESS_CHANGEs to be finished.

    Raises StateChangedError if it is not as it was known, GroupTakenError, and BadRequestError.
    """
    tx.must_be_exact()
    await _lock_known(tx, actor, known)
    work = await _change(tx, actor, known, wanted)
    await _put(tx, known.group_id, wanted, now)
    return [each for each in work if each is not None]


async def delete_group_of_directory(tx: Tx, actor: Actor, known: GroupRow) -> list[str]:
    """Deactivate the group; return the ids of ACCESS_CHANGEs to be finished.

    Raises StateChangedError, and GroupInUseError if something depends on the group.
    """
    tx.must_be_exact()
    await _lock_known(tx, actor, known)
    work_id = await deactivate_group(tx, actor, known.group_id)
    return [] if work_id is None else [work_id]


async def _lock_known(tx: Tx, actor: Actor, known: GroupRow) -> None:
    await lock_as_owner(tx, actor)
    if await groups.by_id(await tx.connection(), tx.realm_id, known.group_id) != known:
        raise StateChangedError("The group was changed since it was read.")


async def _change(tx: Tx, actor: Actor, row: GroupRow, wanted: WantedGroup) -> list[str | None]:
    """Rename the group and change its people, as far as they differ."""
    work: list[str | None] = []
    if checked_group_name(wanted.name) != row.name:
        realm = await lock_as_owner(tx, actor)
        graph = (await locked_realm_of(tx, realm, [])).graph
        if is_name_taken(wanted.name, graph, by_others_than=row.group_id):
            raise GroupTakenError(_("User group '{name}' already exists.", name=wanted.name))
        work.append(await change_group(tx, actor, row.group_id, GroupChange(name=wanted.name)))
    found = await users.by_ids(await tx.connection(), tx.realm_id, row.member_ids)
    people = {each.user_id for each in found if each.bot_type is None}
    change = MembersChange(
        add=sorted(set(wanted.member_ids) - people),
        delete=sorted(people - set(wanted.member_ids)),
    )
    if change.add or change.delete:
        work.append(await change_members(tx, actor, row.group_id, change))
    return work


async def _put(tx: Tx, group_id: GroupId, wanted: WantedGroup, now: datetime) -> None:
    said = ScimGroupRow(group_id=group_id, external_id=wanted.external_id, modified_at=now)
    await scim.put_group(await tx.changing(), tx.realm_id, said)
