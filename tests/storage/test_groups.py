"""User groups as rows."""

import pytest

from server.domain.access import SYSTEM_GROUP_NESTING, SYSTEM_GROUPS
from storage import groups
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


async def test_role_groups_are_in_order_each_within_the_next(make_here: Make):
    rows = await groups.all_of_realm(make_here.connection, make_here.realm_id)

    assert [row.name for row in rows] == list(SYSTEM_GROUPS)
    names = {row.group_id: row.name for row in rows}
    nested = {row.name: [names[i] for i in row.subgroup_ids] for row in rows}
    assert nested == {
        name: [SYSTEM_GROUP_NESTING[name]] if name in SYSTEM_GROUP_NESTING else []
        for name in SYSTEM_GROUPS
    }


async def test_role_groups_are_found_by_name_and_others_not(make_here: Make):
    await make_here.group("cooks")

    ids = await groups.system_ids(make_here.connection, make_here.realm_id)

    assert sorted(ids, key=ids.__getitem__) == list(SYSTEM_GROUPS)


async def test_a_group_comes_with_its_members_and_subgroups(make_here: Make):
    cook, baker = await make_here.users(2)
    bakers = await make_here.group(members=[baker])
    cooks = await make_here.group("cooks", members=[baker, cook], subgroups=[bakers])

    rows = await groups.all_of_realm(make_here.connection, make_here.realm_id)

    [row] = [row for row in rows if row.group_id == cooks]
    assert row.member_ids == [cook.user_id, baker.user_id]
    assert (row.subgroup_ids, row.is_system_group, row.deactivated) == ([bakers], False, False)


async def test_memberships_are_those_of_the_people_asked_about(make_here: Make):
    cook, baker, _ = people = await make_here.users(3)
    cooks = await make_here.group(members=people)
    bakers = await make_here.group(members=[baker])

    found = await groups.memberships(
        make_here.connection, make_here.realm_id, [cook.user_id, baker.user_id]
    )

    assert found == {cooks: (cook.user_id, baker.user_id), bakers: (baker.user_id,)}
