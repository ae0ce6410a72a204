"""What register tells of the organization, its people and oneself."""

import pytest

from server.domain.access import GUEST, MEMBER, MODERATOR, OWNER
from server.domain.user_settings import ADMINISTRATORS
from testkit.oracles import contract

pytestmark = pytest.mark.asyncio

MINE = {
    "realm",
    "realm_user",
    "realm_user_groups",
    "realm_bot",
    "realm_user_settings_defaults",
    "user_settings",
    "update_display_settings",
    "update_global_notifications",
}


async def registered(client, *fetch_types, **fields):
    """Register's answer, held against the contract."""
    fields = {"fetch_event_types": list(fetch_types), "event_types": [], **fields}
    body = await client.post("/register", **fields)
    contract.validate_register(body, fetch_types)
    return body


@pytest.mark.parametrize("role", [OWNER, MEMBER, GUEST])
async def test_every_field_of_the_contract_is_there(log_in, make, role):
    user = await make.user(role=role)
    await make.user(bot_type=1, bot_owner=user)
    await make.user(is_active=False)

    body = await registered(await log_in(user), *MINE)

    assert {"realm_name", "realm_users", "user_settings"} <= body.keys()


async def test_all_fetch_types_together_are_what_the_contract_says(log_in):
    body = await (await log_in()).post("/register")

    contract.validate_register(body, "all")
    contract.validate_mobile(body, "register")


async def test_the_settings_of_the_organization_are_told(log_in, make):
    groups = await make.role_groups()
    await make.change_settings(
        topics_policy="disable_empty_topic",
        can_create_public_channel_group=groups["role:moderators"],
        can_create_groups={"direct_members": [7], "direct_subgroups": []},
        can_mention_many_users_group=groups["role:nobody"],
    )

    body = await registered(await log_in(), "realm")

    assert body["realm_topics_policy"] == "disable_empty_topic"
    assert body["realm_mandatory_topics"] is True
    assert body["realm_can_create_public_channel_group"] == groups["role:moderators"]
    assert body["realm_create_public_stream_policy"] == 4
    assert body["realm_can_create_private_channel_group"] == groups["role:members"]
    assert body["realm_create_private_stream_policy"] == 1
    assert body["realm_can_create_groups"] == {"direct_members": [7], "direct_subgroups": []}
    assert body["realm_wildcard_mention_policy"] == 6


async def test_people_are_active_or_not_or_bots_of_the_system(log_in, make):
    cook, gone = await make.user(), await make.user(is_active=False)
    await make.connection.execute(
        "UPDATE users SET is_system_bot = true, bot_type = 1 WHERE user_id = %(user_id)s",
        user_id=(system_bot := await make.user()).user_id,
    )

    body = await registered(await log_in(cook), "realm_user")

    lists = ("realm_users", "realm_non_active_users", "cross_realm_bots")
    assert [[u["user_id"] for u in body[name]] for name in lists] == [
        [cook.user_id],
        [gone.user_id],
        [system_bot.user_id],
    ]
    assert (body["user_id"], body["email"], body["is_guest"]) == (cook.user_id, cook.email, False)


async def test_addresses_are_told_to_those_who_may_know_them(log_in, make):
    cook = await make.user("Cook", settings={"email_address_visibility": ADMINISTRATORS})

    async def told(client):
        body = await registered(client, "realm_user")
        [shown] = [u for u in body["realm_users"] if u["full_name"] == "Cook"]
        return shown["delivery_email"]

    assert await told(await log_in(role=OWNER)) == cook.email
    assert await told(await log_in(cook)) == cook.email
    assert await told(await log_in()) is None
    assert await told(await log_in(role=GUEST)) is None


async def test_a_permission_is_told_as_what_one_may_do(log_in, make):
    groups = await make.role_groups()
    await make.change_settings(can_create_private_channel_group=groups["role:moderators"])

    member = await registered(await log_in(), "realm_user")
    moderator = await registered(await log_in(role=MODERATOR), "realm_user")
    guest = await registered(await log_in(role=GUEST), "realm_user")

    def may(body):
        return [
            body[f"can_{name}"]
            for name in (
                "create_public_streams",
                "create_private_streams",
                "create_streams",
                "subscribe_other_users",
                "invite_others_to_realm",
            )
        ]

    assert may(member) == [True, False, True, True, True]
    assert may(moderator) == [True] * 5
    assert may(guest) == [False] * 5


async def test_a_guest_gets_placeholders_for_hidden_users(log_in, make):
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    guest = await make.user(role=GUEST)
    neighbour, stranger = await make.user(), await make.user("Stranger")
    await make.channel(subscribers=[guest, neighbour])
    client = await log_in(guest)

    whole = await registered(client, "realm_user")
    known = await registered(
        client, "realm_user", client_capabilities={"user_list_incomplete": True}
    )

    names = {u["user_id"]: u["full_name"] for u in whole["realm_users"]}
    assert names[stranger.user_id] == "Unknown user"
    assert names[neighbour.user_id] == neighbour.full_name
    assert {u["user_id"] for u in known["realm_users"]} == {guest.user_id, neighbour.user_id}


async def test_bots_are_told_to_their_owner_and_to_administrators(log_in, make):
    cook, baker = await make.user(), await make.user()
    bot = await make.user(bot_type=1, bot_owner=cook)

    async def bots(client):
        return [b["user_id"] for b in (await registered(client, "realm_bot"))["realm_bots"]]

    assert await bots(await log_in(cook)) == [bot.user_id]
    assert await bots(await log_in(baker)) == []
    assert await bots(await log_in(role=OWNER)) == [bot.user_id]


async def test_deactivated_groups_go_to_clients_that_know_them(log_in, make):
    group_id = await make.group("old", deactivated=True)
    client = await log_in()

    async def ids(**capabilities):
        body = await registered(client, "realm_user_groups", client_capabilities=capabilities)
        return {g["id"] for g in body["realm_user_groups"]}

    assert group_id not in await ids()
    assert group_id in await ids(include_deactivated_groups=True)


async def test_personal_settings_come_in_the_form_that_the_client_knows(log_in, make):
    cook = await make.user(settings={"color_scheme": 2, "enable_sounds": False})
    client = await log_in(cook)
    old = await registered(client, *MINE)
    new = await registered(client, *MINE, client_capabilities={"user_settings_object": True})

    assert (old["color_scheme"], old["enable_sounds"]) == (2, False)
    assert "color_scheme" not in new
    for body in (old, new):
        assert body["user_settings"]["color_scheme"] == 2
        assert body["realm_user_settings_defaults"]["color_scheme"] == 1


async def test_what_is_not_asked_for_is_not_told(log_in):
    body = await registered(await log_in(), "user_settings")

    assert "user_settings" in body
    assert not any(name.startswith("realm_") for name in body)
