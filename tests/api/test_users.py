"""GET /users and its kin: what one learns of others, and what not."""

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from server.domain.avatars import gravatar_url
from server.domain.user_settings import ADMINISTRATORS, EVERYONE, MEMBERS, MODERATORS, NOBODY
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

HIDES = {"email_address_visibility": ADMINISTRATORS}


async def test_one_learns_who_one_is(log_in, make):
    cook = await make.user("Cook", email="Cook@example.com", role=MODERATOR)

    body = await (await log_in(cook)).get("/users/me")

    assert (body["user_id"], body["email"], body["full_name"]) == (
        cook.user_id,
        "Cook@example.com",
        "Cook",
    )
    assert (body["role"], body["is_admin"], body["is_bot"]) == (MODERATOR, False, False)
    assert body["avatar_url"].startswith("https://secure.gravatar.com/avatar/")
    assert body["profile_data"] == {}


async def test_all_users_are_listed_active_or_not(log_in, make):
    cook, gone = await make.user(), await make.user(is_active=False)
    bot = await make.user(bot_type=1, bot_owner=cook)

    members = (await (await log_in(cook)).get("/users"))["members"]

    assert {m["user_id"]: m["is_active"] for m in members} == {
        cook.user_id: True,
        gone.user_id: False,
        bot.user_id: True,
    }
    by_id = {m["user_id"]: m for m in members}
    assert (by_id[bot.user_id]["bot_type"], by_id[bot.user_id]["bot_owner_id"]) == (1, cook.user_id)


async def test_only_those_asked_for_are_listed(log_in, make):
    cook, baker, _ = [await make.user() for _ in range(3)]

    body = await (await log_in(cook)).get("/users", user_ids=[baker.user_id, 2**62, -1])

    assert [m["user_id"] for m in body["members"]] == [baker.user_id]


@pytest.mark.parametrize("client_gravatar", [True, False])
async def test_gravatars_are_left_to_clients_that_know_how_to_find_them(
    log_in, make, client_gravatar
):
    cook = await make.user()
    client = await log_in(cook)

    found = await client.get(f"/users/{cook.user_id}", client_gravatar=client_gravatar)

    assert (found["user"]["avatar_url"] is None) == client_gravatar


async def test_a_picture_does_not_give_a_hidden_address_away(log_in, make):
    cook = await make.user(settings=HIDES)

    client = await log_in(role=GUEST)
    user = (await client.get(f"/users/{cook.user_id}", client_gravatar=False))["user"]

    assert user["avatar_url"] == gravatar_url(user["email"], user["avatar_version"])
    assert user["avatar_url"] != gravatar_url(cook.email, user["avatar_version"])


async def test_profile_data_come_when_asked_for(log_in, make):
    cook = await make.user()
    client = await log_in(cook)

    plain = await client.get(f"/users/{cook.user_id}")
    whole = await client.get(f"/users/{cook.user_id}", include_custom_profile_fields=True)

    assert "profile_data" not in plain["user"]
    assert whole["user"]["profile_data"] == {}


@pytest.mark.parametrize(
    ("visibility", "knowing"),
    [
        (EVERYONE, {OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST}),
        (MEMBERS, {OWNER, ADMINISTRATOR, MODERATOR, MEMBER}),
        (MODERATORS, {OWNER, ADMINISTRATOR, MODERATOR}),
        (ADMINISTRATORS, {OWNER, ADMINISTRATOR}),
        (NOBODY, set()),
    ],
)
async def test_an_address_is_told_to_those_who_may_know_it(log_in, make, visibility, knowing):
    cook = await make.user(settings={"email_address_visibility": visibility})
    told = {}
    for role in (OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST):
        told[role] = (await (await log_in(role=role)).get(f"/users/{cook.user_id}"))["user"]

    assert {role for role, user in told.items() if user["delivery_email"] is not None} == knowing
    [email] = {user["email"] for user in told.values()}
    assert (email == cook.email) == (visibility == EVERYONE)
    own = await (await log_in(cook)).get("/users/me")
    assert own["delivery_email"] == cook.email


async def test_a_user_is_found_by_the_address_one_may_know(log_in, make):
    cook = await make.user(settings=HIDES)
    member, owner = await log_in(), await log_in(role=OWNER)
    hidden = (await member.get(f"/users/{cook.user_id}"))["user"]["email"]

    for client, email in ((member, hidden), (owner, hidden), (owner, cook.email.upper())):
        found = await client.get(f"/users/{email}")
        assert found["user"]["user_id"] == cook.user_id

    (await member.call("GET", f"/users/{cook.email}")).refused()


async def test_an_unknown_user_is_not_found(log_in, make):
    client = await log_in()

    domain = client.host
    for name in ("0", "9" * 18, str(2**62), "nobody@example.com", f"user{2**63}@{domain}"):
        refusal = (await client.call("GET", f"/users/{name}")).refused()
        assert refusal["msg"] == "No such user"


async def test_users_of_another_realm_are_not_found(log_in, make, database):
    async with database.connection() as connection:
        stranger = await (await new_realm(connection)).user()

    (await (await log_in()).call("GET", f"/users/{stranger.user_id}")).refused()
    (await (await log_in()).call("GET", f"/users/{stranger.email}")).refused()


@pytest_asyncio.fixture
async def guest(make):
    """A guest of a realm in which guests may know only people they meet."""
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    return await make.user(role=GUEST)


async def test_such_a_guest_knows_those_whom_they_meet_and_bots(log_in, make, guest):
    neighbour, stranger = await make.user(), await make.user()
    bot = await make.user(bot_type=1, bot_owner=stranger)
    await make.channel("kitchen", subscribers=[guest, neighbour])
    client = await log_in(guest)

    members = (await client.get("/users"))["members"]

    known = {guest.user_id, neighbour.user_id, bot.user_id}
    assert {m["user_id"] for m in members} == known
    assert (await client.get(f"/users/{neighbour.user_id}"))["user"]["full_name"]
    (await client.call("GET", f"/users/{stranger.user_id}")).refused()
    (await client.call("GET", f"/users/{stranger.email}")).refused()


async def test_members_of_that_realm_know_all_users(log_in, make, guest):
    members = (await (await log_in()).get("/users"))["members"]

    assert guest.user_id in {m["user_id"] for m in members}
