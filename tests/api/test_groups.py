"""GET /user_groups."""

import pytest

from server.domain.access import GUEST, OWNER, SYSTEM_GROUPS

pytestmark = pytest.mark.asyncio


async def test_role_groups_have_the_people_of_their_role_as_members(log_in, make):
    owner, guest = await make.user(role=OWNER), await make.user(role=GUEST)
    member, gone = await make.user(), await make.user(is_active=False)

    groups = (await (await log_in(member)).get("/user_groups"))["user_groups"]

    members = {g["name"]: g["members"] for g in groups}
    assert list(members) == list(SYSTEM_GROUPS)
    assert {name: ids for name, ids in members.items() if ids} == {
        "role:owners": [owner.user_id],
        "role:members": [member.user_id],
        "role:fullmembers": [member.user_id],
        "role:everyone": [guest.user_id],
    }
    assert gone.user_id not in {i for ids in members.values() for i in ids}


async def test_each_role_group_is_nested_in_the_next(log_in):
    groups = (await (await log_in()).get("/user_groups"))["user_groups"]

    names = {g["id"]: g["name"] for g in groups}
    nested = {g["name"]: [names[i] for i in g["direct_subgroup_ids"]] for g in groups}
    assert nested == {
        "role:nobody": [],
        "role:owners": [],
        "role:administrators": ["role:owners"],
        "role:moderators": ["role:administrators"],
        "role:fullmembers": ["role:moderators"],
        "role:members": ["role:fullmembers"],
        "role:everyone": ["role:members"],
        "role:internet": ["role:everyone"],
    }


async def test_a_group_names_its_members_who_are_still_there(log_in, make):
    cook, gone = await make.user(), await make.user(is_active=False)
    group_id = await make.group("cooks", members=[cook, gone])

    groups = (await (await log_in(cook)).get("/user_groups"))["user_groups"]

    [cooks] = [g for g in groups if g["id"] == group_id]
    assert (cooks["name"], cooks["members"], cooks["is_system_group"]) == (
        "cooks",
        [cook.user_id],
        False,
    )


async def test_deactivated_groups_come_when_asked_for(log_in, make):
    group_id = await make.group("old", deactivated=True)
    client = await log_in()

    plain = await client.get("/user_groups")
    whole = await client.get("/user_groups", include_deactivated_groups=True)

    assert group_id not in {g["id"] for g in plain["user_groups"]}
    assert group_id in {g["id"] for g in whole["user_groups"] if g["deactivated"]}
