"""What levels of the protocol after 421 have brought (docs/protocol.md), each over HTTP."""

import pytest

from server.domain.access import ADMINISTRATOR, OWNER
from testkit.oracles import contract
from testkit.rich_realm import SERVER

pytestmark = pytest.mark.asyncio


async def realm_fields(client):
    return (await client.register(fetch_event_types=["realm"], event_types=[])).state


async def test_register_has_every_field_of_level_489(log_in):
    owner = await log_in(role=OWNER)
    body = await owner.post("/register")
    missing = contract.missing_in_register(body, 489)
    assert [each for each in missing if "device" not in each] == [
        "realm_default_avatar_source: missing"
    ]


async def test_the_home_view_is_called_recent(log_in):  # 454
    client = await log_in()
    queue = await client.register(event_types=["user_settings", "update_display_settings"])
    for name in ("recent", "all_messages", "recent_topics"):
        await client.patch("/settings", web_home_view=name)
        shown = "recent" if name == "recent_topics" else name
        event = await queue.until("user_settings")
        assert (event["property"], event["value"]) == ("web_home_view", shown)
        assert (await queue.until("update_display_settings"))["setting"] == shown
    state = (await client.register(client_capabilities={"user_settings_object": True})).state
    assert state["user_settings"]["web_home_view"] == "recent"


async def test_defaults_of_new_users_have_the_newer_name_too(log_in):  # 454
    admin = await log_in(role=ADMINISTRATOR)
    queue = await admin.register(event_types=["realm_user_settings_defaults"])
    await admin.patch("/realm/user_settings_defaults", web_home_view="recent_topics")
    assert (await queue.until("realm_user_settings_defaults"))["value"] == "recent"
    defaults = (await admin.register()).state["realm_user_settings_defaults"]
    assert defaults["web_home_view"] == "recent"


async def test_the_rating_of_gifs_has_both_names(log_in):  # 442, 453
    admin = await log_in(role=ADMINISTRATOR)
    queue = await admin.register(event_types=["realm"])
    for name, value in (("gif_rating_policy", 3), ("giphy_rating", 0)):
        await admin.patch("/realm", **{name: value})
        data = (await queue.until("realm", "update_dict"))["data"]
        assert data == {"gif_rating_policy": value, "giphy_rating": value}
        state = await realm_fields(admin)
        assert state["realm_gif_rating_policy"] == state["realm_giphy_rating"] == value
        assert state["gif_rating_policy_options"] == state["giphy_rating_options"]


async def test_the_description_changes_with_its_html(log_in):  # 462, 464
    admin = await log_in(role=ADMINISTRATOR)
    queue = await admin.register(event_types=["realm"])
    await admin.patch("/realm", description="All about *soup*")
    assert (await queue.until("realm", "update_dict"))["data"] == {
        "description": "All about *soup*",
        "rendered_description": "<p>All about <em>soup</em></p>",
    }


async def test_reasons_to_report_are_listed_in_the_readers_language(log_in):  # 435
    english = await log_in()
    german = await log_in()
    await german.patch("/settings", default_language="de")
    reasons = (await realm_fields(english))["server_report_message_types"]
    assert reasons[1] == {"key": "harassment", "name": "Harassment"}
    translated = (await realm_fields(german))["server_report_message_types"]
    assert translated[1] == {"key": "harassment", "name": "Belästigung"}
    assert [each["key"] for each in translated] == [each["key"] for each in reasons]


async def test_keys_for_gifs_are_those_of_the_operator(serving_with, make, connect):  # 442, 486
    async with serving_with(**SERVER) as server:
        client = await connect(server, make.realm_id, await make.user())
        state = (await client.register(fetch_event_types=["klipy", "tenor"])).state
    assert (state["klipy_api_key"], state["tenor_api_key"]) == ("clips", "more gifs")


async def notices_in(client, channel_id):
    narrow = [{"operator": "channel", "operand": channel_id}]
    found = await client.get("/messages", narrow=narrow, anchor="newest", num_before=9, num_after=0)
    return [each["subject"] for each in found["messages"]]


@pytest.mark.parametrize("wanted", [True, False])
async def test_channels_have_notices_of_themselves_if_wanted(log_in, make, wanted):  # 434
    await make.notification_bot()
    admin = await log_in(role=ADMINISTRATOR)
    await admin.patch("/realm", send_channel_events_messages=wanted)
    made = await admin.post(
        "/channels/create", name="plans", subscribers=[admin.user.user_id], announce=True
    )
    await admin.patch(f"/streams/{made['id']}", description="What we do", new_name="plans of ours")
    expected = ["channel events"] * 2 if wanted else []
    assert await notices_in(admin, made["id"]) == expected


async def test_new_channels_are_announced_where_the_organization_says_all_the_same(
    log_in, make
):  # 434
    await make.notification_bot()
    admin = await log_in(role=ADMINISTRATOR)
    news = await make.channel("news", subscribers=[admin.user])
    await admin.patch(
        "/realm",
        send_channel_events_messages=False,
        new_stream_announcements_stream_id=news.channel_id,
    )
    await admin.post(
        "/channels/create", name="plans", subscribers=[admin.user.user_id], announce=True
    )
    assert await notices_in(admin, news.channel_id) == ["new channels"]


async def test_people_at_work_are_named_by_owners(log_in, make):  # 477
    owner, admin = await log_in(role=OWNER), await log_in(role=ADMINISTRATOR)
    groups = await make.role_groups()
    assert (await realm_fields(admin))["realm_workplace_users_group"] == groups["role:everyone"]
    change = {"new": groups["role:members"]}
    (await admin.call("PATCH", "/realm", workplace_users_group=change)).refused()
    await owner.patch("/realm", workplace_users_group=change)
    assert (await realm_fields(admin))["realm_workplace_users_group"] == groups["role:members"]
    nobody = {"new": groups["role:nobody"]}
    (await owner.call("PATCH", "/realm", workplace_users_group=nobody)).refused()
