"""Groups are made, renamed, filled and emptied; everyone keeps up, and who may not, does not."""

import asyncio

import pytest
import pytest_asyncio

from server.actions.groups.change import GroupChange, change_group, deactivate_group
from server.actions.groups.create import NewGroup, create_group
from server.actions.groups.members import MembersChange, change_members
from server.domain.access import GUEST, SYSTEM_GROUPS, GroupSetting
from server.domain.errors import BadRequestError, ExpectationMismatchError
from server.domain.group_settings import PermissionChange
from storage import audit_log, groups
from storage.ids import GroupId, UserId
from testkit.factories import new_realm, user_ids

pytestmark = pytest.mark.asyncio


class Club:
    """Changes groups as a user of the hall."""

    def __init__(self, hall, role_groups):
        self.hall, self.roles = hall, role_groups

    async def create(self, actor, name="cooks", members=(), subgroups=(), **permissions):
        new = NewGroup(
            name=name,
            description="Who cooks",
            member_ids=user_ids(members),
            subgroup_ids=subgroups,
            permissions={setting: setting_of(value) for setting, value in permissions.items()},
        )
        now = self.hall.stage.clock.now()
        return await self.hall.stage.run(create_group, self.hall.actor(actor), new, now=now)

    async def edit(self, actor, group_id, *, old=None, name=None, reactivate=False, **permissions):
        change = GroupChange(
            name=name,
            reactivate=reactivate,
            permissions={
                setting: PermissionChange(
                    setting_of(value), None if old is None else setting_of(old)
                )
                for setting, value in permissions.items()
            },
        )
        return await self.hall.stage.run(change_group, self.hall.actor(actor), group_id, change)

    async def members(self, actor, group_id, **change):
        wanted = MembersChange(
            add=user_ids(change.get("add", ())),
            delete=user_ids(change.get("delete", ())),
            add_subgroups=change.get("add_subgroups", ()),
            delete_subgroups=change.get("delete_subgroups", ()),
        )
        return await self.hall.stage.run(change_members, self.hall.actor(actor), group_id, wanted)

    async def close(self, actor, group_id):
        return await self.hall.stage.run(deactivate_group, self.hall.actor(actor), group_id)

    async def row(self, group_id):
        row = await groups.by_id(self.hall.make.connection, self.hall.make.realm_id, group_id)
        assert row is not None
        return row

    async def audit(self):
        rows = await audit_log.newest(self.hall.make.connection, self.hall.make.realm_id, limit=9)
        return [(r.actor_id, r.action, r.subject_id, r.after) for r in rows]


def setting_of(value):
    if isinstance(value, list):
        return GroupSetting(direct_members=tuple(sorted(user_ids(value))))
    return value if isinstance(value, GroupSetting) else GroupSetting(group_id=value)


@pytest_asyncio.fixture
async def club(hall):
    return Club(hall, await hall.make.role_groups())


async def test_everyone_hears_of_a_new_group(hall, club, witnesses):
    bakers = await hall.make.group("bakers")
    found = []

    async def change():
        found.append(
            await club.create(
                hall.member,
                "  Cooks ",
                members=[hall.other, hall.guest],
                subgroups=[bakers, club.roles["role:moderators"]],
                can_mention_group=bakers,
            )
        )

    seen = await witnesses.watch(change, hall.everyone)

    assert {e["op"] for w in seen for e in w.events} == {"add"}
    row = await club.row(found[0])
    assert (row.name, row.creator_id) == ("Cooks", hall.member.user_id)
    assert row.member_ids == user_ids([hall.other, hall.guest])
    assert row.created_at == hall.stage.clock.now()
    [(actor, action, subject, after)] = await club.audit()
    assert (actor, action, subject) == (hall.member.user_id, "group_created", found[0])
    assert after["members"] == row.member_ids
    assert after["can_mention_group"] == bakers


async def test_who_may_make_groups_the_organization_says(hall, club):
    guest_bot = await hall.make.user(bot_type=1, bot_owner=hall.owner, role=GUEST)
    for refused in (hall.guest, guest_bot):
        with pytest.raises(BadRequestError):
            await club.create(refused)
    await hall.make.change_settings(can_create_groups=club.roles["role:administrators"])
    with pytest.raises(BadRequestError, match="Insufficient permission"):
        await club.create(hall.member)
    await club.create(hall.admin)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "x" * 101,
        "@cooks",
        "role:cooks",
        "user:7",
        "stream:x",
        "channel:x",
        "a\nb",
        "a\ufdd0",
    ],
)
async def test_names_that_cannot_be_are_refused(hall, club, name):
    kept = await club.create(hall.owner, "kept")
    with pytest.raises(BadRequestError, match=r"User group name|Invalid character"):
        await club.create(hall.owner, name)
    with pytest.raises(BadRequestError, match=r"User group name|Invalid character"):
        await club.edit(hall.owner, kept, name=name)


async def test_a_name_is_given_once_whatever_its_case_and_also_of_a_deactivated_group(hall, club):
    kept = await club.create(hall.owner, "Cooks")
    other = await club.create(hall.owner, "x" * 100)
    await club.close(hall.owner, kept)
    for name in ("cooks", "COOKS ", "Cooks"):
        with pytest.raises(BadRequestError, match="already exists"):
            await club.create(hall.member, name)
        with pytest.raises(BadRequestError, match="already exists"):
            await club.edit(hall.owner, other, name=name)
    await club.edit(hall.owner, kept, name="COOKS")
    assert (await club.row(kept)).name == "COOKS"


async def test_only_active_people_of_the_organization_are_in_groups(hall, club):
    gone = await hall.make.user(is_active=False)
    system = await hall.make.notification_bot()
    elsewhere = await (await new_realm(hall.make.connection)).user()
    group = await club.create(hall.owner)
    for unfit in (gone, system, elsewhere):
        with pytest.raises(BadRequestError, match="Invalid user ID"):
            await club.create(hall.owner, "others", members=[hall.other, unfit])
        with pytest.raises(BadRequestError, match="Invalid user ID"):
            await club.members(hall.owner, group, add=[hall.other, unfit])
    assert (await club.row(group)).member_ids == []


async def test_only_active_groups_of_the_organization_are_nested(hall, club):
    gone = await hall.make.group("gone", deactivated=True)
    elsewhere = await (await new_realm(hall.make.connection)).group()
    group = await club.create(hall.owner)
    for unfit in (gone, elsewhere, GroupId(10**9)):
        with pytest.raises(BadRequestError, match="Invalid user group"):
            await club.create(hall.owner, "others", subgroups=[unfit])
        with pytest.raises(BadRequestError, match="Invalid user group"):
            await club.members(hall.owner, group, add_subgroups=[unfit])
        with pytest.raises(BadRequestError, match="Invalid user group"):
            await club.edit(hall.owner, group, can_manage_group=unfit)
    assert (await club.row(group)).subgroup_ids == []


async def test_everything_about_a_group_changes_and_everyone_hears(hall, club, witnesses):
    group = await club.create(hall.member)
    permissions = {
        "can_add_members_group": group,
        "can_join_group": club.roles["role:members"],
        "can_leave_group": club.roles["role:nobody"],
        "can_manage_group": [hall.member, hall.other],
        "can_mention_group": club.roles["role:moderators"],
        "can_remove_members_group": [hall.guest],
    }

    seen = await witnesses.watch(
        lambda: club.edit(hall.member, group, name="Chefs", **permissions), hall.everyone
    )

    [event] = {json_of(e) for w in seen for e in w.events}
    assert '"name": "Chefs"' in event
    assert (await club.row(group)).permissions.keys() == permissions.keys()
    _, action, subject, after = (await club.audit())[0]
    assert (action, subject, after["name"]) == ("group_changed", group, "Chefs")
    assert len(after) == 1 + len(permissions)


def json_of(event):
    return str({**event, "id": 0}).replace("'", '"')


async def test_what_is_so_already_is_no_change(hall, club):
    group = await club.create(hall.member)
    everyone = club.roles["role:everyone"]
    await club.edit(hall.member, group, name="cooks", can_mention_group=everyone)
    assert hall.stage.happened == []
    assert [action for _, action, _, _ in await club.audit()] == ["group_created"]


async def test_a_permission_changes_from_what_the_client_knows(hall, club):
    group = await club.create(hall.member)
    with pytest.raises(ExpectationMismatchError):
        await club.edit(hall.member, group, can_manage_group=[hall.other], old=[hall.other])
    await club.edit(hall.member, group, can_manage_group=[hall.other], old=[hall.member])
    with pytest.raises(BadRequestError, match="Insufficient permission"):
        await club.edit(hall.member, group, can_manage_group=[hall.member])


async def test_permissions_are_for_those_whom_their_rules_allow(hall, club):
    group = await club.create(hall.member)
    for name in ("can_add_members_group", "can_join_group", "can_manage_group"):
        with pytest.raises(BadRequestError, match="cannot be set to"):
            await club.edit(hall.member, group, **{name: club.roles["role:everyone"]})
    for name in ("can_leave_group", "can_mention_group"):
        with pytest.raises(BadRequestError, match="cannot be set to"):
            await club.edit(hall.member, group, **{name: club.roles["role:internet"]})
        await club.edit(hall.member, group, **{name: club.roles["role:nobody"]})


async def test_a_deactivated_user_is_named_no_more_and_cannot_be(hall, club):
    group = await club.create(hall.owner, can_manage_group=[hall.member, hall.other])
    await hall.make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(id)s", id=hall.member.user_id
    )
    with pytest.raises(BadRequestError, match="Invalid user ID"):
        await club.edit(hall.owner, group, can_manage_group=[hall.member, hall.admin])
    known = [hall.member, hall.other]
    with pytest.raises(ExpectationMismatchError):
        await club.edit(hall.owner, group, old=known, can_manage_group=[hall.admin])
    await club.edit(hall.owner, group, old=[hall.other], can_manage_group=[])
    assert (await club.row(group)).permissions["can_manage_group"] == club.roles["role:nobody"]


async def test_deactivated_users_do_not_count_as_holders_of_a_permission(hall, club):
    group = await club.create(hall.owner, can_manage_group=[hall.member])
    await hall.make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(id)s", id=hall.member.user_id
    )
    await club.edit(hall.owner, group, old=[], can_manage_group=[hall.other])
    kept = (await club.row(group)).permissions["can_manage_group"]
    assert kept["direct_members"] == [hall.other.user_id]


async def test_role_groups_stay_as_they_are(hall, club):
    own = await club.create(hall.owner)
    for name in SYSTEM_GROUPS:
        group = club.roles[name]
        for change in (
            lambda group: club.edit(hall.owner, group, name="mine"),
            lambda group: club.edit(hall.owner, group, can_mention_group=own),
            lambda group: club.members(hall.owner, group, add=[hall.other]),
            lambda group: club.members(hall.owner, group, delete=[hall.owner]),
            lambda group: club.members(hall.owner, group, add_subgroups=[own]),
            lambda group: club.close(hall.owner, group),
        ):
            with pytest.raises(BadRequestError, match="Insufficient permission"):
                await change(group)
    with pytest.raises(BadRequestError, match="Invalid user group"):
        await club.close(hall.owner, GroupId(10**9))


async def test_people_come_and_go_and_everyone_hears(hall, club, witnesses):
    group = await club.create(hall.member, members=[hall.other])

    seen = await witnesses.watch(
        lambda: club.members(
            hall.member, group, add=[hall.guest, hall.member], delete=[hall.other]
        ),
        hall.everyone,
    )

    assert [e["op"] for e in seen[0].events] == ["add_members", "remove_members"]
    assert (await club.row(group)).member_ids == user_ids([hall.member, hall.guest])
    _, action, subject, after = (await club.audit())[0]
    assert (action, subject) == ("group_members_changed", group)
    assert after == {
        "add": user_ids([hall.guest, hall.member]),
        "delete": user_ids([hall.other]),
    }


async def test_groups_are_nested_and_taken_out_and_everyone_hears(hall, club, witnesses):
    bakers = await club.create(hall.other, "bakers", members=[hall.guest])
    group = await club.create(hall.member)
    members = club.roles["role:members"]

    await witnesses.watch(
        lambda: club.members(hall.member, group, add_subgroups=[bakers, members]), hall.everyone
    )
    assert (await club.row(group)).subgroup_ids == sorted([bakers, members])
    await witnesses.watch(
        lambda: club.members(hall.member, group, delete_subgroups=[members]), hall.everyone
    )
    assert (await club.row(group)).subgroup_ids == [bakers]


async def test_joining_twice_or_leaving_as_a_non_member_is_refused(hall, club):
    bakers = await club.create(hall.member, "bakers")
    group = await club.create(hall.member, members=[hall.other], subgroups=[bakers])
    for change in (
        {"add": [hall.other]},
        {"delete": [hall.guest]},
        {"add": [hall.guest], "delete": [hall.guest]},
        {"add_subgroups": [bakers]},
        {"delete_subgroups": [club.roles["role:members"]]},
    ):
        with pytest.raises(BadRequestError):
            await club.members(hall.member, group, **change)
    row = await club.row(group)
    assert (row.member_ids, row.subgroup_ids) == ([hall.other.user_id], [bakers])


async def test_a_deactivated_member_is_removed_without_an_event(hall, club, witnesses):
    group = await club.create(hall.member, members=[hall.other])
    await hall.make.connection.execute(
        "UPDATE users SET is_active = false, changed_at = 1 WHERE user_id = %(id)s",
        id=hall.other.user_id,
    )
    rest = [hall.owner, hall.member, hall.guest]
    seen = await witnesses.watch(
        lambda: club.members(hall.member, group, delete=[hall.other]), rest
    )
    assert [w.events for w in seen] == [[]] * len(seen)
    assert (await club.row(group)).member_ids == []


async def test_no_group_is_within_itself(hall, club):
    inner = await club.create(hall.member, "inner")
    middle = await club.create(hall.member, "middle", subgroups=[inner])
    outer = await club.create(hall.member, "outer", subgroups=[middle])
    for group, nested in ((inner, outer), (inner, middle), (middle, outer), (inner, inner)):
        with pytest.raises(BadRequestError, match="already a subgroup"):
            await club.members(hall.member, group, add_subgroups=[nested])


async def test_a_circle_is_not_closed_by_way_of_a_deactivated_group(hall, club):
    inner = await hall.make.group("inner")
    middle = await hall.make.group("middle", subgroups=[inner], deactivated=True)
    outer = await hall.make.group("outer", subgroups=[middle])
    with pytest.raises(BadRequestError, match="already a subgroup"):
        await club.members(hall.owner, inner, add_subgroups=[outer])


async def test_two_who_nest_two_groups_in_each_other_do_not_both_succeed(hall, club):
    one, other = [await club.create(hall.member, name) for name in ("one", "other")]
    answers = await asyncio.gather(
        club.members(hall.member, one, add_subgroups=[other]),
        club.members(hall.owner, other, add_subgroups=[one]),
        return_exceptions=True,
    )
    assert sorted(type(each).__name__ for each in answers) == ["BadRequestError", "NoneType"]


async def test_two_who_make_a_group_of_one_name_do_not_both_succeed(hall, club):
    answers = await asyncio.gather(
        *(club.create(hall.member, name) for name in ("cooks", "Cooks", "COOKS")),
        return_exceptions=True,
    )
    assert [isinstance(each, BadRequestError) for each in answers].count(False) == 1


async def test_who_may_change_who_is_in_a_group_its_permissions_say(hall, club):
    role = club.roles.get
    adder, remover, manager = [await hall.make.user(name) for name in ("Add", "Del", "All")]
    group = await club.create(
        hall.owner,
        members=[hall.member],
        can_add_members_group=[adder],
        can_remove_members_group=[remover],
        can_manage_group=[manager],
        can_join_group=role("role:nobody"),
        can_leave_group=role("role:nobody"),
    )

    async def may(actor, **change):
        try:
            await club.members(actor, group, **change)
        except BadRequestError as refusal:
            return refusal.message != "Insufficient permission"
        return True

    for actor, adds, removes in (
        (adder, True, False),
        (remover, False, True),
        (manager, True, True),
        (hall.owner, True, True),
        (hall.admin, False, False),
        (hall.member, False, False),
        (hall.guest, False, False),
    ):
        assert await may(actor, add=[hall.other]) is adds
        if not adds:
            await club.members(hall.owner, group, add=[hall.other])
        assert await may(actor, delete=[hall.other]) is removes
        if not removes:
            await club.members(hall.owner, group, delete=[hall.other])
    assert not await may(hall.member, delete=[hall.member])
    assert not await may(hall.other, add=[hall.other])


async def test_people_join_and_leave_by_themselves_where_they_may(hall, club):
    group = await club.create(hall.owner, can_join_group=club.roles["role:members"])
    await club.members(hall.member, group, add=[hall.member])
    for refused in (
        lambda: club.members(hall.guest, group, add=[hall.guest]),
        lambda: club.members(hall.other, group, add=[hall.other, hall.guest]),
        lambda: club.members(hall.other, group, delete=[hall.member]),
        lambda: club.members(
            hall.other, group, add=[hall.other], add_subgroups=[club.roles["role:owners"]]
        ),
    ):
        with pytest.raises(BadRequestError, match="Insufficient permission"):
            await refused()
    await club.members(hall.owner, group, add=[hall.guest])
    await club.members(hall.guest, group, delete=[hall.guest])
    await club.members(hall.member, group, delete=[hall.member])
    assert (await club.row(group)).member_ids == []


async def test_guests_do_not_manage_though_a_group_says_so(hall, club):
    group = await club.create(
        hall.owner, can_manage_group=[hall.guest], can_add_members_group=[hall.guest]
    )
    for refused in (
        lambda: club.edit(hall.guest, group, name="mine"),
        lambda: club.members(hall.guest, group, add=[hall.other]),
        lambda: club.close(hall.guest, group),
    ):
        with pytest.raises(BadRequestError, match="Insufficient permission"):
            await refused()


async def test_many_people_join_at_once(hall, club, witnesses):
    many = await hall.make.users(200)
    group = await club.create(hall.owner)
    await witnesses.watch(
        lambda: club.members(hall.owner, group, add=many), [hall.member, hall.guest]
    )
    assert len((await club.row(group)).member_ids) == len(many)
    assert {UserId(row.user_id) for row in many} == set((await club.row(group)).member_ids)
