"""User groups over HTTP."""

import pytest

from server.domain.access import GUEST, MODERATOR, OWNER, SYSTEM_GROUPS
from testkit.factories import new_realm, user_ids

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


async def test_a_group_is_made_and_shown_to_all(log_in, make):
    cook, baker = await make.user(), await make.user()
    client, guest = await log_in(cook), await log_in(role=GUEST)
    queue = await guest.register(
        event_types=["user_group"], fetch_event_types=["realm_user_groups"]
    )

    group_id = (
        await client.post(
            "/user_groups/create",
            name="cooks",
            description="Who cooks",
            members=user_ids([baker]),
            subgroups=[],
            can_join_group={"direct_members": [baker.user_id], "direct_subgroups": []},
        )
    )["group_id"]

    told = (await queue.until("user_group", "add"))["group"]
    listed = (await client.get("/user_groups"))["user_groups"]
    assert told in listed
    own = {"direct_members": [cook.user_id], "direct_subgroups": []}
    roles = await make.role_groups()
    assert (told["id"], told["members"], told["creator_id"]) == (
        group_id,
        [baker.user_id],
        cook.user_id,
    )
    assert told["can_manage_group"] == told["can_add_members_group"] == own
    assert told["can_join_group"]["direct_members"] == [baker.user_id]
    assert told["can_leave_group"] == told["can_mention_group"] == roles["role:everyone"]
    assert told["can_remove_members_group"] == roles["role:nobody"]


async def test_what_is_missing_or_wrong_is_refused_by_name(log_in):
    client = await log_in()
    fields = {"name": "cooks", "description": "", "members": []}
    for missing in fields:
        given = {name: value for name, value in fields.items() if name != missing}
        answer = await client.call("POST", "/user_groups/create", **given)
        assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] == missing
    wrong = {"members": "x", "subgroups": [True], "can_join_group": {"direct_members": []}}
    for name, value in wrong.items():
        answer = await client.call("POST", "/user_groups/create", **fields | {name: value})
        assert answer.status == 400
    group_id = (await client.post("/user_groups/create", **fields))["group_id"]
    path = f"/user_groups/{group_id}"
    (await client.call("PATCH", path)).refused()
    (await client.call("PATCH", path, can_join_group=1)).refused("REQUEST_VARIABLE_INVALID")
    (await client.call("PATCH", path, description="x" * 1025)).refused()
    (await client.call("POST", f"{path}/members")).refused()
    (await client.call("POST", f"{path}/members", add=[])).refused()
    (await client.call("POST", f"{path}/subgroups")).refused()
    (await client.call("GET", f"{path}/members/999999999")).refused()


async def test_a_group_changes_closes_and_opens_again(log_in, make):
    client, roles = await log_in(role=OWNER), await make.role_groups()
    made = await client.post("/user_groups/create", name="cooks", description="", members=[])
    path = f"/user_groups/{made['group_id']}"
    nobody, everyone = roles["role:nobody"], roles["role:everyone"]

    await client.patch(path, name="Chefs", can_mention_group={"new": nobody, "old": everyone})
    again = await client.call("PATCH", path, can_mention_group={"new": everyone, "old": everyone})
    again.refused("EXPECTATION_MISMATCH")
    await client.post(f"{path}/deactivate")
    (await client.call("POST", f"{path}/deactivate")).refused()
    (await client.call("PATCH", path, deactivated=True, name="x")).succeeded()
    shown = (await client.get("/user_groups", include_deactivated_groups=True))["user_groups"]
    assert {g["id"]: (g["name"], g["deactivated"]) for g in shown}[made["group_id"]] == ("x", True)
    await client.patch(path, deactivated=False)
    shown = (await client.get("/user_groups"))["user_groups"]
    assert {g["id"]: g["can_mention_group"] for g in shown}[made["group_id"]] == nobody
    await client.delete(path)
    assert made["group_id"] not in [
        g["id"] for g in (await client.get("/user_groups"))["user_groups"]
    ]


async def test_a_group_in_use_says_where(log_in):
    client = await log_in(role=OWNER)
    made = await client.post("/user_groups/create", name="cooks", description="", members=[])
    group_id = made["group_id"]
    await client.patch("/realm", can_create_groups={"new": group_id})

    refused = await client.call("POST", f"/user_groups/{group_id}/deactivate")

    body = refused.refused("CANNOT_DEACTIVATE_GROUP_IN_USE")
    assert body["objections"] == [{"type": "realm", "settings": ["can_create_groups"]}]


async def test_people_and_groups_come_and_go(log_in, make):
    cook, baker, guest = await make.user(), await make.user(), await make.user(role=GUEST)
    client = await log_in(cook)
    queue = await client.register(event_types=["user_group"])
    inner = await make.group("inner", members=[guest, await make.user(is_active=False)])
    fields = {"description": "", "members": []}
    cooks = (await client.post("/user_groups/create", name="cooks", **fields))["group_id"]

    twice = [baker.user_id, baker.user_id, cook.user_id]
    await client.post(f"/user_groups/{cooks}/members", add=twice)
    leaving = [cook.user_id]
    await client.post(f"/user_groups/{cooks}/members", delete=leaving, add_subgroups=[inner])
    await client.post(f"/user_groups/{cooks}/subgroups", delete=[inner])
    await client.post(f"/user_groups/{cooks}/subgroups", add=[inner])

    told: list[str] = []
    while len(told) < 6:
        told += [event["op"] for event in await queue.poll()]
    assert told == [
        "add",
        "add_members",
        "remove_members",
        "add_subgroups",
        "remove_subgroups",
        "add_subgroups",
    ]
    all_members = sorted([baker.user_id, guest.user_id])
    assert (await client.get(f"/user_groups/{cooks}/members"))["members"] == all_members
    direct = await client.get(f"/user_groups/{cooks}/members", direct_member_only=True)
    assert direct["members"] == [baker.user_id]
    for person, direct_only, expected in (
        (guest, False, True),
        (guest, True, False),
        (baker, True, True),
        (cook, False, False),
    ):
        answer = await client.get(
            f"/user_groups/{cooks}/members/{person.user_id}", direct_member_only=direct_only
        )
        assert answer["is_user_group_member"] is expected


async def test_role_groups_have_members_and_subgroups_too(log_in, make):
    owner, member, guest = [await make.user(role=role) for role in (OWNER, 400, GUEST)]
    roles = await make.role_groups()
    client = await log_in(guest)

    async def members(name, **fields):
        path = f"/user_groups/{roles[name]}/members"
        return (await client.get(path, **fields))["members"]

    assert await members("role:members") == user_ids([owner, member])
    assert await members("role:members", direct_member_only=True) == [member.user_id]
    assert await members("role:everyone") == user_ids([owner, member, guest])
    assert await members("role:nobody") == []
    group_id = roles["role:members"]
    direct = await client.get(f"/user_groups/{group_id}/subgroups", direct_subgroup_only=True)
    assert direct["subgroups"] == [roles["role:fullmembers"]]
    below = ("role:fullmembers", "role:moderators", "role:administrators", "role:owners")
    found = await client.get(f"/user_groups/{group_id}/subgroups")
    assert found["subgroups"] == sorted(roles[name] for name in below)


async def test_groups_of_other_organizations_are_not_there(log_in, make):
    elsewhere = await new_realm(make.connection)
    group, person = await elsewhere.group("theirs"), await elsewhere.user()
    client = await log_in(role=OWNER)
    for method, path, fields in (
        ("PATCH", "", {"name": "ours"}),
        ("DELETE", "", {}),
        ("POST", "/deactivate", {}),
        ("GET", "/members", {}),
        ("POST", "/members", {"add": [person.user_id]}),
        ("GET", f"/members/{person.user_id}", {}),
        ("GET", "/subgroups", {}),
        ("POST", "/subgroups", {"add": [group]}),
    ):
        (await client.call(method, f"/user_groups/{group}{path}", **fields)).refused()
    roles = await make.role_groups()
    path = f"/user_groups/{roles['role:owners']}/members/{person.user_id}"
    (await client.call("GET", path)).refused()


async def test_who_leaves_a_group_loses_at_once_what_it_permits(log_in, make):
    cook = await log_in()
    owner = await log_in(role=OWNER)
    fields = {"description": "", "members": [cook.user.user_id]}
    group_id = (await owner.post("/user_groups/create", name="cooks", **fields))["group_id"]
    channel = await make.channel(subscribers=[cook.user], can_send_message_group=group_id)
    message = {"type": "channel", "to": channel.channel_id, "topic": "t", "content": "hello"}

    await cook.post("/messages", **message)
    await owner.post(f"/user_groups/{group_id}/members", delete=[cook.user.user_id])
    (await cook.call("POST", "/messages", **message)).refused()
    await owner.post(f"/user_groups/{group_id}/members", add=[cook.user.user_id])
    await cook.post("/messages", **message)


async def test_only_who_may_mentions_a_group(log_in, make):
    """While it is deactivated, its name stays a pill and mentions no one."""
    moderator, member = await log_in(role=MODERATOR), await log_in()
    roles = await make.role_groups()
    reader = await make.user()
    channel = await make.channel(subscribers=[moderator.user, member.user, reader])
    fields = {"description": "", "members": [reader.user_id]}
    made = await moderator.post(
        "/user_groups/create",
        name="cooks",
        can_mention_group=roles["role:moderators"],
        **fields,
    )
    client = await log_in(reader)
    queue = await client.register(event_types=["message"], apply_markdown=True)

    message = {"type": "channel", "to": channel.channel_id, "topic": "t", "content": "@*cooks*"}

    async def mentions(client):
        await client.post("/messages", **message)
        event = await queue.until("message")
        content = event["message"]["content"]
        assert "user-group-mention" in content
        is_loud = "user-group-mention silent" not in content
        assert is_loud == ("mentioned" in event["flags"])
        return is_loud

    assert await mentions(moderator)
    (await member.call("POST", "/messages", **message)).refused()
    await moderator.post(f"/user_groups/{made['group_id']}/deactivate")
    assert not await mentions(moderator)


async def test_a_setting_that_takes_role_groups_only_says_so(log_in, make):
    client = await log_in(role=OWNER)
    group_id = await make.group("cooks")
    for value in (group_id, {"direct_members": [client.user.user_id], "direct_subgroups": []}):
        refused = await client.call("PATCH", "/realm", can_access_all_users_group={"new": value})
        body = refused.refused("SYSTEM_GROUP_REQUIRED")
        assert body["setting_name"] == "can_access_all_users_group"


async def test_guests_ask_only_about_people_whom_they_may_know(log_in, make):
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    guest, stranger = await log_in(role=GUEST), await make.user("Stranger")
    path = f"/user_groups/{groups['role:members']}/members"

    (await guest.call("GET", f"{path}/{stranger.user_id}")).refused()
    (await guest.call("GET", f"{path}/{guest.user.user_id}")).succeeded()
