"""Subscribing and unsubscribing over HTTP."""

from typing import Any

import pytest

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, OWNER
from testkit.factories import Make, user_ids

pytestmark = pytest.mark.asyncio

PATH = "/users/me/subscriptions"
PLANS = [{"name": "plans"}]


async def test_subscribing_makes_the_channel(log_in):
    client = await log_in()

    body = await client.post(PATH, subscriptions=[{"name": " new ", "description": "a *b*"}])

    assert body["subscribed"] == {str(client.user.user_id): ["new"]}
    assert body["already_subscribed"] == {}
    assert "unauthorized" not in body
    [channel] = (await client.get(PATH, include_subscribers="true"))["subscriptions"]
    assert channel["rendered_description"] == "<p>a <em>b</em></p>"
    assert channel["subscribers"] == [client.user.user_id]


async def test_one_who_is_there_is_already_subscribed(log_in, make: Make):
    client = await log_in()
    await make.channel("Plans", subscribers=[client.user])

    body = await client.post(PATH, subscriptions=PLANS)

    assert body["subscribed"] == {}
    assert body["already_subscribed"] == {str(client.user.user_id): ["Plans"]}


async def test_keys_that_older_clients_send_are_passed_over(log_in):
    client = await log_in()

    body = await client.post(
        PATH, subscriptions=[{"name": "plans", "color": "#ffffff"}], stream_post_policy=2
    )

    assert body["subscribed"]
    assert body["ignored_parameters_unsupported"] == ["stream_post_policy"]


async def test_principals_are_ids_or_addresses(log_in, make: Make):
    client = await log_in()
    people = await make.users(2)

    for principals in (user_ids(people), [person.email for person in people]):
        body = await client.post(PATH, subscriptions=PLANS, principals=principals)
        named = body["subscribed"] | body["already_subscribed"]
        assert set(named) == {str(user_id) for user_id in user_ids(people)}
    (await client.call("POST", PATH, subscriptions=PLANS, principals=[1, "a@example.com"])).refused(
        "REQUEST_VARIABLE_INVALID"
    )


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "REQUEST_VARIABLE_MISSING"),
        ({"subscriptions": "plans"}, "INVALID_JSON"),
        ({"subscriptions": ["plans"]}, "REQUEST_VARIABLE_INVALID"),
        ({"subscriptions": [{"description": "x"}]}, "REQUEST_VARIABLE_INVALID"),
        ({"subscriptions": [{"name": ""}]}, "BAD_REQUEST"),
        ({"subscriptions": [{"name": "x" * 61}]}, "BAD_REQUEST"),
        ({"subscriptions": [{"name": "a\nb"}]}, "BAD_REQUEST"),
        ({"subscriptions": [{"name": "a", "description": "x" * 1025}]}, "BAD_REQUEST"),
        ({"subscriptions": PLANS, "topics_policy": "none"}, "REQUEST_VARIABLE_INVALID"),
        ({"subscriptions": PLANS, "invite_only": "maybe"}, "REQUEST_VARIABLE_INVALID"),
        ({"subscriptions": PLANS, "message_retention_days": "forever"}, "BAD_REQUEST"),
        ({"subscriptions": PLANS, "folder_id": 1}, "BAD_REQUEST"),
        ({"subscriptions": PLANS, "can_send_message_group": 10**9}, "BAD_REQUEST"),
        (
            {"subscriptions": PLANS, "can_send_message_group": {"direct_members": [1]}},
            "REQUEST_VARIABLE_INVALID",
        ),
        ({"subscriptions": PLANS, "principals": [10**9]}, "BAD_REQUEST"),
        ({"subscriptions": PLANS, "is_web_public": True}, "BAD_REQUEST"),
    ],
)
async def test_what_is_wrong_with_a_request_leaves_nothing(log_in, make: Make, fields, code):
    client = await log_in(role=OWNER)

    (await client.call("POST", PATH, **fields)).refused(code)

    assert await make.position() == 0
    assert (await client.get("/streams", include_all=True))["streams"] == []


async def test_all_terms_of_a_new_channel_are_taken(log_in, make: Make):
    client = await log_in(role=OWNER)
    groups = await make.role_groups()
    direct = {"direct_members": [client.user.user_id], "direct_subgroups": []}
    names = (
        "add_subscribers",
        "administer_channel",
        "delete_any_message",
        "delete_own_message",
        "move_messages_out_of_channel",
        "move_messages_within_channel",
        "remove_subscribers",
        "resolve_topics",
        "send_message",
        "subscribe",
    )
    permissions: dict[str, Any] = {f"can_{name}_group": direct for name in names}
    permissions["can_send_message_group"] = groups["role:administrators"]

    await client.post(
        PATH,
        subscriptions=PLANS,
        invite_only=True,
        history_public_to_subscribers=True,
        message_retention_days="unlimited",
        topics_policy='"disable_empty_topic"',
        **permissions,
    )

    [channel] = (await client.get("/streams"))["streams"]
    assert {name: channel[name] for name in permissions} == permissions
    assert channel["invite_only"] is True
    assert channel["history_public_to_subscribers"] is True
    assert channel["message_retention_days"] == -1
    assert channel["topics_policy"] == "disable_empty_topic"
    assert channel["stream_post_policy"] == 2
    assert channel["is_announcement_only"] is True
    assert channel["creator_id"] == client.user.user_id


@pytest.mark.parametrize(("sent", "kept"), [("30", 30), ('"realm_default"', None), ("", 400)])
async def test_retention_is_a_number_or_a_word(log_in, sent, kept):
    client = await log_in(role=OWNER)

    answer = await client.call("POST", PATH, subscriptions=PLANS, message_retention_days=sent)

    if kept == 400:
        answer.refused()
    else:
        answer.succeeded()
        [channel] = (await client.get("/streams"))["streams"]
        assert channel["message_retention_days"] == kept


async def test_web_public_channels_need_the_server_to_allow_them(serving_with, make: Make, connect):
    await make.connection.execute(
        "UPDATE realms SET settings = '{\"enable_spectator_access\": true}'"
    )
    owner, admin = await make.user(role=OWNER), await make.user(role=ADMINISTRATOR)
    async with serving_with(web_public_channels=True) as server:
        client = await connect(server, make.realm_id, owner)
        await client.post(PATH, subscriptions=[{"name": "plaza"}], is_web_public=True)
        [channel] = (await client.get("/streams"))["streams"]
        assert channel["is_web_public"] is True

        client = await connect(server, make.realm_id, admin)
        answer = await client.call("POST", PATH, subscriptions=PLANS, is_web_public=True)
        answer.refused()


async def test_unauthorized_channels_are_listed_where_that_is_not_fatal(log_in, make: Make):
    client, guest = await log_in(), await log_in(role=GUEST)
    await make.channel("secret", invite_only=True)
    both = [{"name": "secret"}, {"name": "plans"}]

    (await client.call("POST", PATH, subscriptions=both)).refused()
    assert (await client.get(PATH))["subscriptions"] == []

    body = await client.post(PATH, subscriptions=both, authorization_errors_fatal=False)
    assert body["unauthorized"] == ["secret"]
    assert body["subscribed"] == {str(client.user.user_id): ["plans"]}
    body = await guest.post(PATH, subscriptions=both, authorization_errors_fatal=False)
    assert sorted(body["unauthorized"]) == ["plans", "secret"]
    assert body["subscribed"] == {}


@pytest.mark.parametrize("role", [GUEST, MEMBER])
@pytest.mark.parametrize("fatal", [True, False])
@pytest.mark.parametrize(
    "terms", [{}, {"invite_only": True}, {"folder_id": 999}, {"message_retention_days": "soon"}]
)
async def test_who_may_make_no_channel_does_not_learn_which_there_are(
    log_in, make: Make, server, role, fatal, terms
):
    nobody = (await make.role_groups())["role:nobody"]
    for kind in ("public", "private"):
        await make.change_settings(**{f"can_create_{kind}_channel_group": nobody})
    server.forget(make.realm_id)
    client = await log_in(role=role)
    await make.channel("secret", invite_only=True)

    async def answers(name):
        """All that is said of the name, without it."""
        fields = {"authorization_errors_fatal": fatal, **terms}
        requests = [
            ("/channels/create", {"name": name, "subscribers": [], **terms}),
            (PATH, {"subscriptions": [{"name": name}], **fields}),
            (PATH, {"subscriptions": [{"name": name}, {"name": name.upper()}], **fields}),
            (PATH, {"subscriptions": [{"name": "other"}, {"name": name}], **fields}),
        ]
        made = [await client.call("POST", path, **given) for path, given in requests]
        return [
            (each.status, str(each.body).replace(name, "").replace(name.upper(), ""))
            for each in made
        ]

    assert await answers("secret") == await answers("nothing")


async def test_a_guest_cannot_subscribe_others(log_in, make: Make):
    guest = await log_in(role=GUEST)
    other = await make.user()
    await make.channel("plans", subscribers=[guest.user])

    answer = await guest.call("POST", PATH, subscriptions=PLANS, principals=[other.user_id])

    answer.refused()


async def test_the_new_subscriber_receives_what_is_sent_next(log_in, make: Make):
    sender, reader = await log_in(), await log_in()
    await sender.post(PATH, subscriptions=PLANS, invite_only=True)
    queue = await reader.register(event_types=["message", "subscription", "stream"])

    await sender.post("/messages", type="channel", to="plans", topic="t", content="before")
    await sender.post(
        PATH,
        subscriptions=PLANS,
        principals=[reader.user.user_id],
        send_new_subscription_messages=False,
    )
    await sender.post("/messages", type="channel", to="plans", topic="t", content="after")

    events = await queue.poll()
    assert [(e["type"], e.get("op")) for e in events] == [
        ("stream", "create"),
        ("subscription", "add"),
        ("message", None),
    ]
    assert events[-1]["message"]["content"] == "after"


async def test_many_are_subscribed_whole_before_the_answer(log_in, make: Make):
    client = await log_in()
    people = await make.users(1_100)

    body = await client.post(PATH, subscriptions=PLANS, principals=user_ids(people))

    assert len(body["subscribed"]) == 1_100
    assert body["new_subscription_messages_sent"] is False
    [channel] = (await client.get("/streams"))["streams"]
    assert channel["subscriber_count"] == 1_100
    members = await client.get(f"/streams/{channel['stream_id']}/members")
    assert members["subscribers"] == user_ids(people)
    assert await make.connection.value("SELECT count(*) FROM stepped_work") == 0


async def test_people_are_told_in_a_message_that_they_were_subscribed(log_in, make: Make):
    await make.notification_bot()
    client, other = await log_in(), await log_in()
    queue = await other.register(event_types=["message"])

    body = await client.post(PATH, subscriptions=PLANS, principals=[other.user.user_id])

    assert body["new_subscription_messages_sent"] is True
    event = await queue.until("message")
    [channel] = (await client.get("/streams"))["streams"]
    link = f"[\\#plans](/#narrow/channel/{channel['stream_id']}-plans)"
    assert event["message"]["content"].endswith(f"subscribed you to the channel {link}.")
    assert event["message"]["sender_email"] == "notification-bot@zulip.com"


@pytest.mark.parametrize("name", ["Quillon", "Unknown user"])
async def test_guests_are_told_by_whom_only_if_they_may_know_them(log_in, make: Make, name: str):
    await make.notification_bot()
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    admin = await log_in(await make.user("Quillon", role=ADMINISTRATOR))
    guest = await log_in(await make.user("Guest", role=GUEST))
    await make.channel("Plans", subscribers=[admin.user] if name == "Quillon" else [])
    queue = await guest.register(event_types=["message"])

    await admin.post(PATH, subscriptions=PLANS, principals=[guest.user.user_id])

    said = (await queue.until("message"))["message"]["content"]
    assert said.startswith(f"@_**{name}|{admin.user.user_id}** subscribed you to")
    page = {"anchor": "newest", "num_before": 9, "num_after": 0}
    [shown] = (await guest.get("/messages", **page))["messages"]
    assert f">{name}</span> subscribed you to" in shown["content"]


# -- leaving


async def test_leaving(log_in, make: Make):
    client = await log_in()
    await make.channel("Plans", subscribers=[client.user])
    await make.channel("other")

    body = await client.delete(PATH, subscriptions=["plans", "other"])

    assert (body["removed"], body["not_removed"]) == (["Plans"], ["other"])
    assert (await client.get(PATH))["subscriptions"] == []


async def test_a_channel_that_is_not_there_cannot_be_left(log_in, make: Make):
    client = await log_in()
    await make.channel("secret", invite_only=True)

    for name in ("nothing", "secret"):
        answer = await client.call("DELETE", PATH, subscriptions=[name])
        assert answer.refused("STREAM_DOES_NOT_EXIST")["stream"] == name


async def test_administrators_remove_others(log_in, make: Make):
    admin, member = await log_in(role=ADMINISTRATOR), await log_in()
    await make.channel("plans", subscribers=[member.user])
    principals = [member.user.email]

    answer = await member.call("DELETE", PATH, subscriptions=["plans"], principals=principals)
    answer.succeeded()
    await member.post(PATH, subscriptions=PLANS)
    body = await admin.delete(PATH, subscriptions=["plans"], principals=principals)
    assert body["removed"] == ["plans"]
    answer = await member.call(
        "DELETE", PATH, subscriptions=["plans"], principals=[admin.user.user_id]
    )
    answer.refused()


async def test_who_has_left_a_private_channel_sees_nothing_of_it(log_in, make: Make):
    client, other = await log_in(), await log_in()
    channel = await make.channel(
        "secret", invite_only=True, subscribers=[client.user, other.user], shares_history=True
    )
    await client.post("/messages", type="channel", to="secret", topic="t", content="x")

    await client.delete(PATH, subscriptions=["secret"])

    path = f"/streams/{channel.channel_id}"
    for method, where in (
        ("GET", path),
        ("GET", f"{path}/members"),
        ("GET", f"/users/me/{channel.channel_id}/topics"),
    ):
        (await client.call(method, where)).refused()
    (await client.call("GET", "/get_stream_id", stream="secret")).refused()
    assert (await client.get("/streams", include_all=True))["streams"] == []
    state = await client.post("/register", fetch_event_types=["subscription", "stream"])
    for name in ("streams", "subscriptions", "unsubscribed", "never_subscribed"):
        assert state[name] == []


# -- listing


async def test_subscribers_are_listed_whole_in_part_or_not(log_in, make: Make):
    client = await log_in()
    people = await make.users(300)
    await make.channel("large", subscribers=[client.user, *people])
    await make.channel("small", subscribers=[client.user])

    async def listed(**fields):
        found = (await client.get(PATH, **fields))["subscriptions"]
        return {channel["name"]: channel for channel in found}

    shown = await listed()
    assert "subscribers" not in shown["small"]
    shown = await listed(include_subscribers="true")
    assert len(shown["large"]["subscribers"]) == 301
    shown = await listed(include_subscribers="partial")
    assert len(shown["large"]["partial_subscribers"]) == 100
    assert "subscribers" not in shown["large"]
    assert shown["large"]["subscriber_count"] == 301
    assert shown["small"]["subscribers"] == [client.user.user_id]
