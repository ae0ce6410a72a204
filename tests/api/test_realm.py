"""PATCH /realm."""

from typing import Any

import pytest

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from testkit.oracles import contract

pytestmark = pytest.mark.asyncio


async def registered(client):
    return (await client.register(fetch_event_types=["realm"], event_types=[])).state


async def test_every_parameter_of_the_contract_is_taken(log_in, make):
    owner = await log_in(role=OWNER)
    channel = await make.channel(invite_only=True)
    nobody, owners = [(await make.role_groups())[f"role:{n}"] for n in ("nobody", "owners")]
    special = {
        "authentication_methods": {"Email": True},
        "bot_creation_policy": 1,
        "can_access_all_users_group": {"new": (await make.role_groups())["role:members"]},
        "create_public_stream_policy": 2,
        "default_avatar_source": "J",
        "media_preview_size": 150,
        "default_code_block_language": "python",
        "default_language": "de",
        "digest_weekday": 0,
        "jitsi_server_url": "https://calls.example.com",
        "message_edit_history_visibility_policy": "moves",
        "org_type": 20,
        "private_message_policy": 2,
        "topics_policy": "disable_empty_topic",
        "video_chat_provider": 0,
        "wildcard_mention_policy": 1,
        "workplace_users_group": {"new": (await make.role_groups())["role:members"]},
        "create_web_public_stream_policy": 4,
    }
    for parameter in contract.parameters("PATCH", "/realm"):
        name = parameter["name"]
        if name in special:
            value = special[name]
        elif name == "string_id":
            continue
        elif name.endswith(("_channel_id", "_stream_id")):
            value = channel.channel_id
        elif parameter.get("ref") == "GroupSettingValueUpdate":
            value = {"new": owners if "manage" in name else nobody}
        else:
            kinds = {"boolean": True, "integer": 1, "string": "Something"}
            value = kinds.get(parameter["type"])
        body = await owner.patch("/realm", **{name: value})
        assert "ignored_parameters_unsupported" not in body, name


async def test_a_change_is_told_and_is_what_the_next_register_says(log_in, make):
    admin, guest = await log_in(role=ADMINISTRATOR), await log_in(role=GUEST)
    queue = await guest.register(event_types=["realm"])
    mods = (await make.role_groups())["role:moderators"]

    await admin.patch(
        "/realm",
        name="Town",
        message_content_edit_limit_seconds="unlimited",
        topics_policy="disable_empty_topic",
        can_create_public_channel_group={"new": mods},
    )

    told: dict[str, Any] = {}
    while len(told) < 6:
        for event in await queue.poll():
            told |= event.get("data") or {event["property"]: event["value"]}
    expected = {
        "name": "Town",
        "message_content_edit_limit_seconds": None,
        "topics_policy": "disable_empty_topic",
        "mandatory_topics": True,
        "can_create_public_channel_group": mods,
        "create_public_stream_policy": 4,
    }
    assert told == expected
    state = await registered(guest)
    assert {name: state[f"realm_{name}"] for name in expected} == expected


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("message_content_delete_limit_seconds", '"unlimited"', None),
        ("message_content_delete_limit_seconds", "7200", 7200),
        ("message_retention_days", "unlimited", -1),
        ("message_retention_days", "90", 90),
        ("jitsi_server_url", '"https://calls.example.com"', "https://calls.example.com"),
        ("jitsi_server_url", "default", None),
        ("topics_policy", '"disable_empty_topic"', "disable_empty_topic"),
        ("welcome_message_custom_text", "Hello!", "Hello!"),
    ],
)
async def test_values_come_bare_and_as_json(log_in, name, value, shown):
    owner = await log_in(role=OWNER)

    await owner.patch("/realm", **{name: value})

    assert (await registered(owner))[f"realm_{name}"] == shown


@pytest.mark.parametrize(
    ("name", "value", "field", "shown"),
    [
        ("mandatory_topics", True, "realm_topics_policy", "disable_empty_topic"),
        ("allow_edit_history", False, "realm_message_edit_history_visibility_policy", "none"),
        ("wildcard_mention_policy", 6, "realm_wildcard_mention_policy", 6),
        ("create_private_stream_policy", 3, "realm_create_private_stream_policy", 3),
    ],
)
async def test_old_parameters_mean_what_new_ones_say(log_in, name, value, field, shown):
    owner = await log_in(role=OWNER)

    await owner.patch("/realm", **{name: value})

    assert (await registered(owner))[field] == shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("message_content_edit_limit_seconds", "0"),
        ("message_content_edit_limit_seconds", "forever"),
        ("message_content_edit_limit_seconds", "null"),
        ("message_retention_days", "-1"),
        ("message_retention_days", '"forever"'),
        ("presence_disabled", "1"),
        ("presence_disabled", "null"),
        ("org_type", "7"),
        ("digest_weekday", "7"),
        ("giphy_rating", "-1"),
        ("gif_rating_policy", "6"),
        ("media_preview_size", "120"),
        ("video_chat_provider", "3"),
        ("topics_policy", "whatever"),
        ("default_language", "klingon"),
        ("authentication_methods", '{"Email": false}'),
        ("authentication_methods", '{"Smoke": true}'),
        ("authentication_methods", "{}"),
        ("create_public_stream_policy", "9"),
        ("waiting_period_threshold", "-1"),
        ("can_create_groups", "17"),
        ("can_create_groups", '{"old": 5}'),
        ("can_create_groups", '{"new": {"direct_members": [1]}}'),
        ("can_create_groups", '{"new": "role:members"}'),
    ],
)
async def test_bad_values_are_refused_by_name(log_in, name, value):
    owner = await log_in(role=OWNER)

    answer = await owner.call("PATCH", "/realm", name="Another", **{name: value})

    assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name
    assert (await registered(owner))["realm_name"] == "A realm"


async def test_a_concurrent_change_is_not_overwritten_unseen(log_in, make):
    owner, groups = await log_in(role=OWNER), await make.role_groups()
    members, owners = groups["role:members"], groups["role:owners"]

    wrong = {"new": owners, "old": owners}
    answer = await owner.call("PATCH", "/realm", can_add_custom_emoji_group=wrong)
    answer.refused("EXPECTATION_MISMATCH")
    right = {"new": owners, "old": members}
    await owner.patch("/realm", can_add_custom_emoji_group=right)


@pytest.mark.parametrize("role", [MODERATOR, MEMBER, GUEST])
async def test_it_is_for_administrators(log_in, role):
    (await (await log_in(role=role)).call("PATCH", "/realm", name="Mine")).refused()


async def test_what_says_who_comes_in_is_for_owners(log_in):
    admin = await log_in(role=ADMINISTRATOR)
    answer = await admin.call("PATCH", "/realm", invite_required=False, name="Mine")
    assert "owner" in answer.refused()["msg"]
    assert (await registered(admin))["realm_name"] == "A realm"


async def test_limits_hold_from_then_on(log_in, make):
    owner, cook = await log_in(role=OWNER), await log_in()
    await make.channel("general", subscribers=[cook.user])
    fields = {"type": "channel", "to": "general", "topic": "t"}
    sent = (await cook.post("/messages", content="helo", **fields))["id"]
    path = f"/messages/{sent}"
    await cook.patch(path, content="hello")

    await owner.patch("/realm", allow_message_editing=False)
    (await cook.call("PATCH", path, content="hallo")).refused()
    await owner.patch("/realm", allow_message_editing=True)
    await cook.patch(path, content="hallo")

    await owner.patch("/realm", mandatory_topics=True)
    (await cook.call("POST", "/messages", content="x", **fields | {"topic": ""})).refused()

    owners = (await make.role_groups())["role:owners"]
    await owner.patch("/realm", can_create_public_channel_group={"new": owners})
    answer = await cook.call(
        "POST", "/users/me/subscriptions", subscriptions=[{"name": "of a cook"}]
    )
    assert answer.status == 400


async def test_a_description_is_shown_before_signing_in(log_in, spectator):
    owner = await log_in(role=OWNER)

    await owner.patch("/realm", description="The **best** town")

    body = await (await spectator()).get("/server_settings")
    assert body["realm_description"] == "<p>The <strong>best</strong> town</p>"
    assert (await registered(owner))["realm_description"] == "The **best** town"
