"""Directories manage accounts and groups by SCIM 2.0: the sequences of Okta and Entra, and more."""

import asyncio
from dataclasses import replace

import pytest
import pytest_asyncio

from server.domain.access import MEMBER, MODERATOR, OWNER
from server.domain.bots import GENERIC
from storage import groups, users
from storage.ids import GroupId, UserId
from testkit.clients.scim import (
    ENTERPRISE_SCHEMA,
    GROUP_SCHEMA,
    PATCH_SCHEMA,
    USER_SCHEMA,
    admit_directory,
)
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def owner(log_in, make):
    return await log_in(await make.user("Olga", role=OWNER))


@pytest_asyncio.fixture
async def directory(owner):
    return await admit_directory(owner)


async def row_of(make, user):
    [row] = await users.by_ids(make.connection, make.realm_id, [UserId(int(user["id"]))])
    return row


def okta_user(**more):
    return {
        "schemas": [USER_SCHEMA],
        "userName": "ada@okta.example",
        "name": {"givenName": "Ada", "familyName": "Lovelace"},
        "emails": [{"primary": True, "value": "ada@okta.example", "type": "work"}],
        "displayName": "Ada Lovelace",
        "locale": "en-US",
        "externalId": "00ujl29u0le5T6Aj10h7",
        "groups": [],
        "password": "1mz050nq",
        "active": True,
        **more,
    }


async def test_okta_provisions_people_and_pushes_groups(directory, owner, make):
    call = directory.call
    listed = await call("GET", "/Users?startIndex=1&count=2")
    assert (listed["totalResults"], listed["startIndex"]) == (1, 1)
    unmanaged = listed["Resources"][0]
    assert unmanaged["userName"] == owner.email
    assert unmanaged["roles"] == [{"value": "owner", "primary": True}]

    look = '/Users?filter=userName eq "ada@okta.example"&startIndex=1&count=100'
    assert await directory.found(look) == []
    queue = await owner.register(event_types=["realm_user", "user_group"])
    ada = await call("POST", "/Users", okta_user(), status=201)
    assert "password" not in ada
    row = await row_of(make, ada)
    assert (row.full_name, row.email, row.role) == ("Ada Lovelace", "ada@okta.example", MEMBER)
    assert [each["id"] for each in await directory.found(look)] == [ada["id"]]
    event = (await queue.poll())[0]
    assert (event["op"], event["person"]["full_name"]) == ("add", "Ada Lovelace")

    path = f"/Users/{ada['id']}"
    assert await call("GET", path) == ada
    king = {"givenName": "Ada", "familyName": "King"}
    changed = okta_user(name=king, displayName="Ada King", roles=[{"value": "Moderator"}])
    ada = await call("PUT", path, changed)
    assert (ada["name"]["familyName"], ada["displayName"]) == ("King", "Ada King")
    assert ada["roles"] == [{"value": "moderator", "primary": True}]
    row = await row_of(make, ada)
    assert (row.full_name, row.role) == ("Ada King", MODERATOR)

    await directory.patch(path, {"op": "replace", "value": {"active": False}})
    assert not (await row_of(make, ada)).is_active
    assert (await call("GET", path))["active"] is False
    await directory.patch(path, {"op": "replace", "value": {"active": True}})
    assert (await row_of(make, ada)).is_active

    assert await directory.found('/Groups?filter=displayName eq "Analysts"') == []
    group = {"schemas": [GROUP_SCHEMA], "displayName": "Analysts", "members": []}
    analysts = await call("POST", "/Groups", group, status=201)
    path = f"/Groups/{analysts['id']}"
    member = {"value": ada["id"], "display": "ada@okta.example"}
    await directory.patch(path, {"op": "add", "path": "members", "value": [member]}, status=204)
    assert [each["value"] for each in (await call("GET", path))["members"]] == [ada["id"]]
    assert (await call("GET", f"/Users/{ada['id']}"))["groups"][0]["display"] == "Analysts"
    named = {"id": analysts["id"], "displayName": "Mathematicians"}
    await directory.patch(path, {"op": "replace", "value": named}, status=204)
    gone = {"op": "remove", "path": f'members[value eq "{ada["id"]}"]'}
    await directory.patch(path, gone, status=204)
    analysts = await call("GET", path)
    assert (analysts["displayName"], analysts.get("members")) == ("Mathematicians", None)
    both = [{"value": ada["id"]}, {"value": unmanaged["id"]}]
    whole = {"schemas": [GROUP_SCHEMA], "displayName": "Mathematicians", "members": both}
    assert len((await call("PUT", path, whole))["members"]) == 2
    found = await groups.by_id(make.connection, make.realm_id, GroupId(int(analysts["id"])))
    assert found is not None
    assert sorted(found.member_ids) == sorted(int(each["value"]) for each in both)
    await call("DELETE", path, status=204)
    await directory.refused("GET", path, status=404)
    again = await call("POST", "/Groups", {**group, "displayName": "mathematicians"}, status=201)
    assert (again["id"], again.get("members")) == (analysts["id"], None)


ENTRA_USER = {
    "schemas": [USER_SCHEMA, ENTERPRISE_SCHEMA],
    "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
    "userName": "grace@entra.example",
    "active": True,
    "displayName": "Grace Hopper",
    "emails": [{"primary": True, "type": "work", "value": "grace@entra.example"}],
    "meta": {"resourceType": "User"},
    "name": {"formatted": "Grace Hopper", "familyName": "Hopper", "givenName": "Grace"},
    "roles": [],
    "title": "Rear admiral",
    ENTERPRISE_SCHEMA: {"department": "Navy", "employeeNumber": "1"},
}


async def test_entra_provisions_people(directory, owner, make):
    call = directory.call
    unknown = '/Users?filter=userName eq "3d2a5dd1-6d0f-4e0e-8f0e-000000000000"'
    assert (await call("GET", unknown))["totalResults"] == 0
    grace = await call("POST", "/Users", ENTRA_USER, status=201)
    path = f"/Users/{grace['id']}"
    assert (await call("GET", path))["externalId"] == ENTRA_USER["externalId"]
    [found] = await directory.found(f'/Users?filter=externalId eq "{ENTRA_USER["externalId"]}"')
    assert found["id"] == grace["id"]
    by_mail = '/Users?filter=emails[type eq "work"].value eq "Grace@Entra.example"'
    assert [each["id"] for each in await directory.found(by_mail)] == [grace["id"]]

    work = 'emails[type eq "work"].value'
    grace = await directory.patch(
        path,
        {"op": "Replace", "path": work, "value": "hopper@entra.example"},
        {"op": "Replace", "path": "name.familyName", "value": "Murray"},
        {"op": "Add", "path": "displayName", "value": "Grace Murray"},
        {"op": "Add", "path": 'roles[primary eq "True"].value', "value": "Guest"},
        {"op": "Add", "path": f"{ENTERPRISE_SCHEMA}:department", "value": "Computing"},
    )
    row = await row_of(make, grace)
    assert (row.email, row.full_name) == ("hopper@entra.example", "Grace Murray")
    assert grace["roles"] == [{"value": "guest", "primary": True}]
    member = {"op": "Replace", "path": 'roles[primary eq "True"].value', "value": "member"}
    await directory.patch(path, member)

    await directory.patch(path, {"op": "Replace", "path": "active", "value": "False"})
    assert not (await row_of(make, grace)).is_active
    # The address of a deactivated account is changed when it is active again.
    await directory.patch(path, {"op": "Replace", "path": work, "value": "g@entra.example"})
    assert (await call("GET", path))["emails"][0]["value"] == "g@entra.example"
    await directory.patch(path, {"op": "Replace", "path": "active", "value": "True"})
    row = await row_of(make, grace)
    assert (row.is_active, row.email, row.role) == (True, "g@entra.example", MEMBER)

    await call("DELETE", path, status=204)
    assert not (await row_of(make, grace)).is_active
    await directory.refused("GET", path, status=404)
    assert await directory.found(by_mail) == []
    # The person comes back with the same account.
    again = ENTRA_USER | {"userName": "g@entra.example", "emails": []}
    back = await call("POST", "/Users", again, status=201)
    assert (back["id"], back["active"]) == (grace["id"], True)
    assert back["displayName"] == "Grace Hopper"


async def test_entra_provisions_groups(directory):
    call = directory.call
    grace = await call("POST", "/Users", ENTRA_USER, status=201)
    group = {
        "schemas": [GROUP_SCHEMA],
        "externalId": "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
        "displayName": "Sailors",
        "meta": {"resourceType": "Group"},
    }
    sailors = await call("POST", "/Groups", group, status=201)
    path = f"/Groups/{sailors['id']}"
    entry = {"$ref": None, "value": grace["id"]}
    await directory.patch(path, {"op": "Add", "path": "members", "value": [entry]}, status=204)
    without = await call("GET", f"{path}?excludedAttributes=members")
    assert "members" not in without
    look = '/Groups?excludedAttributes=members&filter=displayName eq "Sailors"'
    [found] = await directory.found(look)
    assert (found["externalId"], "members" in found) == (group["externalId"], False)
    with_member = f'/Groups?filter=id eq "{sailors["id"]}" and members eq "{grace["id"]}"'
    assert len(await directory.found(with_member)) == 1
    gone = {"op": "Remove", "path": "members", "value": [entry]}
    await directory.patch(path, gone, status=204)
    assert await directory.found(with_member) == []


async def test_requests_without_a_token_are_refused(directory, owner):
    for token in (None, "plyscim_wrong"):
        stranger = replace(directory, token=token)
        answer = await stranger.send("GET", "/Users")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        await stranger.refused("GET", "/ServiceProviderConfig", status=401)
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        assert (await owner.send(method, "/scim/v2/Users/1", prefix="")).status == 401
    basic = {"Authorization": "Basic b2xnYTp4"}
    await replace(directory, headers=basic).refused("GET", "/Users", status=401)


async def test_malformed_requests_are_refused(directory):
    refused = directory.refused
    for path in ("/Users?filter=userName xx 3", "/Users?filter=(((", "/Users?filter=nosuch eq 1"):
        await refused("GET", path, status=400, kind="invalidFilter")
    for text in ("\\u0000", "\\ud800"):
        assert await directory.found(f'/Users?filter=userName eq "{text}"') == []
    await directory.call("GET", f"/Users?startIndex={10**30}")
    long = " or ".join(["userName pr"] * 400)
    await refused("GET", f"/Users?filter={long}", status=400, kind="invalidFilter")
    await refused("POST", "/Users/.search", {"filter": long}, status=413)
    await refused("GET", "/Users?sortBy=userName", status=501)
    await refused("POST", "/Bulk", {"Operations": []}, status=501)
    await refused("GET", "/Me", status=501)
    await refused("GET", "/Nothing", status=404)
    for user_id in ("0", "x", str(2**70), "-1"):
        await refused("GET", f"/Users/{user_id}", status=404)
    await refused("POST", "/Users", b"{", status=400, kind="invalidSyntax")
    odd = {"userName": "odd"}, {"roles": [{"value": "emperor"}]}, {"displayName": "x" * 1000}
    for wrong in (*odd, {"userName": None}, {"userName": "a\0b@x.example"}):
        body = okta_user(emails=[]) | wrong
        await refused("POST", "/Users", body, status=400, kind="invalidValue")


async def test_what_is_taken_or_unknown_is_refused(directory, owner, make):
    refused = directory.refused
    ada = await directory.call("POST", "/Users", okta_user(nickName="unknown"), status=201)
    await refused("POST", "/Users", okta_user(), status=409, kind="uniqueness")
    other = okta_user(userName="other@okta.example", emails=[])
    await refused("POST", "/Users", other, status=409, kind="uniqueness")
    taken = okta_user(userName=owner.email, externalId="x", emails=[])
    await refused("POST", "/Users", taken, status=409, kind="uniqueness")
    bot = await make.user("Robot", bot_type=GENERIC)
    await refused("GET", f"/Users/{bot.user_id}", status=404)

    group = {"schemas": [GROUP_SCHEMA], "displayName": "G", "members": [{"value": "99999999"}]}
    await refused("POST", "/Groups", group, status=400, kind="invalidValue")
    group |= {"members": []}
    await directory.call("POST", "/Groups", group, status=201)
    await refused("POST", "/Groups", group | {"displayName": "g"}, status=409, kind="uniqueness")
    system = group | {"displayName": "role:x"}
    await refused("POST", "/Groups", system, status=400, kind="invalidValue")
    ids = await groups.system_ids(make.connection, make.realm_id)
    await refused("GET", f"/Groups/{ids['role:owners']}", status=404)

    path = f"/Users/{ada['id']}"
    many = [{"op": "replace", "path": "active", "value": True}] * 101
    await refused("PATCH", path, {"schemas": [PATCH_SCHEMA], "Operations": many}, status=413)
    stale = await directory.send("PUT", path, okta_user(), {"If-Match": 'W/"old"'})
    assert stale.status == 412
    same = await directory.send("GET", path, headers={"If-None-Match": ada["meta"]["version"]})
    assert same.status == 304
    wide = await directory.call("GET", "/Users?count=1000000000000&attributes=userName")
    assert wide["itemsPerPage"] == wide["totalResults"]
    assert set(wide["Resources"][0]) == {"schemas", "id", "userName", "meta"} - {"meta"}


async def test_the_only_owner_stays_in_the_role_and_active(directory, owner):
    refused = directory.refused
    olga = f"/Users/{owner.user.user_id}"
    closed = {"op": "replace", "path": "active", "value": False}
    patch = {"schemas": [PATCH_SCHEMA], "Operations": [closed]}
    words = await refused("PATCH", olga, patch, status=403)
    assert words == "Cannot deactivate the only organization owner"
    await refused("DELETE", olga, status=403)
    demoted = {"op": "replace", "path": "roles", "value": [{"value": "member"}]}
    await refused("PATCH", olga, {**patch, "Operations": [demoted]}, status=403)


async def test_tokens_are_of_one_organization_and_its_owners(
    directory, owner, log_in, connect, make, server
):
    ada = await directory.call("POST", "/Users", okta_user(), status=201)
    there = await new_realm(make.connection)
    stranger = await connect(server, there.realm_id, await there.user("Xenia", role=OWNER))
    await replace(directory, client=stranger).refused("GET", "/Users", status=401)
    beyond = await admit_directory(stranger)
    await beyond.refused("GET", f"/Users/{ada['id']}", status=404)
    member = await log_in(await make.user("Mia"))
    (await member.call("POST", "/realm/scim/tokens", name="x")).refused("BAD_REQUEST")
    [token] = (await owner.get("/realm/scim/tokens"))["tokens"]
    assert directory.token.startswith(token["hint"])
    assert token["last_used_at"]
    await owner.delete(f"/realm/scim/tokens/{token['id']}")
    await directory.refused("GET", "/Users", status=401)


async def test_many_accounts_are_closed_only_if_an_owner_allows_it(directory, owner, log_in, make):
    await make.notification_bot()
    people = [
        await directory.call(
            "POST",
            "/Users",
            {"schemas": [USER_SCHEMA], "userName": f"p{n}@x.example", "displayName": name},
            status=201,
        )
        for n, name in enumerate(("李小龙", "Ђорђе", "محمد", "Élodie  Ünal", "😀 **x**|1"))
    ]
    assert [each["displayName"] for each in people[:4]] == [
        "李小龙",
        "Ђорђе",
        "محمد",
        "Élodie Ünal",
    ]
    assert (await row_of(make, people[4])).full_name
    closed = {"op": "replace", "path": "active", "value": False}
    for person in people[:3]:
        await directory.patch(f"/Users/{person['id']}", closed)
    path = f"/Users/{people[3]['id']}"
    for _again in range(2):
        words = await directory.refused("DELETE", path, status=429)
        assert "3 accounts within an hour" in words
    assert (await row_of(make, people[3])).is_active
    narrow = [{"operator": "is", "operand": "dm"}]
    notices = await owner.get(
        "/messages", anchor="newest", num_before=9, num_after=0, narrow=narrow
    )
    [notice] = notices["messages"]
    assert "wants to deactivate more" in notice["content"]
    assert (await owner.post("/realm/scim/closures"))["ends_at"] > 0
    await directory.call("DELETE", path, status=204)
    actions = [each["action"] for each in (await owner.get("/realm/audit_log"))["entries"]]
    assert {"scim_token_created", "scim_closures_allowed", "user_deactivated"} <= {*actions}

    # Without the owner that created the token, the directory acts on behalf of another.
    heir = await log_in(await make.user("Hera", role=OWNER))
    await directory.patch(f"/Users/{owner.user.user_id}", closed)
    (await owner.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    await directory.patch(f"/Users/{people[4]['id']}", closed)
    [entry, *_] = (await heir.get("/realm/audit_log"))["entries"]
    assert (entry["action"], entry["actor_id"]) == ("user_deactivated", heir.user.user_id)


async def test_concurrent_requests(directory, make):
    async def create(body):
        return (await directory.send("POST", "/Users", body)).status

    statuses = await asyncio.gather(*(create(okta_user()) for _ in range(3)))
    assert sorted(statuses) == [201, 409, 409]
    group = {"schemas": [GROUP_SCHEMA], "displayName": "Busy"}
    path = f"/Groups/{(await directory.call('POST', '/Groups', group, status=201))['id']}"
    people = [await make.user() for _ in range(6)]
    added = [
        {"op": "add", "path": "members", "value": [{"value": str(each.user_id)}]} for each in people
    ]
    await asyncio.gather(*(directory.patch(path, each, status=204) for each in added))
    members = (await directory.call("GET", path))["members"]
    assert {int(each["value"]) for each in members} == {each.user_id for each in people}


async def test_who_is_active_again_still_counts_as_deactivated(directory, make):
    people = [
        await directory.call(
            "POST", "/Users", {"schemas": [USER_SCHEMA], "userName": f"p{n}@x.example"}, status=201
        )
        for n in range(4)
    ]
    closed = {"op": "replace", "path": "active", "value": False}
    for person in people[:3]:
        await directory.patch(f"/Users/{person['id']}", closed)
        await directory.patch(f"/Users/{person['id']}", closed | {"value": True})
    patch = {"schemas": [PATCH_SCHEMA], "Operations": [closed]}
    await directory.refused("PATCH", f"/Users/{people[3]['id']}", patch, status=429)
    assert (await row_of(make, people[3])).is_active


async def test_no_value_reactivates_nobody(directory, make):
    ada = await directory.call("POST", "/Users", okta_user(active=False), status=201)
    path = f"/Users/{ada['id']}"
    await directory.patch(path, {"op": "replace", "path": "active", "value": None})
    left_out = {name: value for name, value in okta_user().items() if name != "active"}
    assert not (await directory.call("PUT", path, left_out))["active"]
    assert not (await row_of(make, ada)).is_active
    patch = {
        "schemas": [PATCH_SCHEMA],
        "Operations": [{"op": "replace", "path": "active", "value": "maybe"}],
    }
    words = await directory.refused("PATCH", path, patch, status=400, kind="invalidValue")
    assert words.startswith("active: ")
    assert "pydantic" not in words


async def test_the_address_of_an_unmanaged_account_is_its_user_name(directory, owner):
    ada = await directory.call("POST", "/Users", okta_user(), status=201)
    patch = {
        "schemas": [PATCH_SCHEMA],
        "Operations": [{"op": "replace", "path": "userName", "value": owner.email.upper()}],
    }
    await directory.refused("PATCH", f"/Users/{ada['id']}", patch, status=409, kind="uniqueness")
    found = await directory.found(f'/Users?filter=userName eq "{owner.email}"')
    assert [each["id"] for each in found] == [str(owner.user.user_id)]
