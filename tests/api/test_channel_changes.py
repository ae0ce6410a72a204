"""Channels are changed and archived over HTTP."""

import asyncio

import pytest

from server.domain.access import ADMINISTRATOR, GUEST, OWNER
from server.domain.permission_settings import CHANNEL_PERMISSIONS, OWN_PERMISSIONS

pytestmark = pytest.mark.asyncio


async def shown(client, channel):
    return (await client.get(f"/streams/{channel.channel_id}"))["stream"]


async def test_every_parameter(log_in, make):
    owner = await log_in(role=OWNER)
    channel = await make.channel("plans", subscribers=[owner.user])
    groups = await make.role_groups()
    direct = {"direct_members": [owner.user.user_id], "direct_subgroups": [groups["role:owners"]]}
    permissions = dict.fromkeys(CHANNEL_PERMISSIONS, direct)

    await owner.patch(
        f"/streams/{channel.channel_id}",
        new_name="Goals",
        description="*What* for",
        is_private=True,
        is_web_public=False,
        history_public_to_subscribers=True,
        message_retention_days="30",
        topics_policy="disable_empty_topic",
        folder_id=None,
        **{name: {"new": value} for name, value in permissions.items()},
    )

    now = await shown(owner, channel)
    assert (now["name"], now["description"]) == ("Goals", "*What* for")
    assert now["rendered_description"] == "<p><em>What</em> for</p>"
    assert (now["invite_only"], now["is_web_public"]) == (True, False)
    assert now["history_public_to_subscribers"] is True
    assert (now["message_retention_days"], now["topics_policy"]) == (30, "disable_empty_topic")
    known = permissions.keys() - OWN_PERMISSIONS
    assert {name: now[name] for name in known} == dict.fromkeys(known, direct)
    log = (await owner.get("/realm/audit_log"))["entries"]
    assert [(e["action"], e["subject_id"]) for e in log] == [
        ("channel_changed", channel.channel_id)
    ]


async def test_a_setting_is_changed_only_from_what_the_client_knows(log_in, make):
    admin = await log_in(role=ADMINISTRATOR)
    channel = await make.channel("plans")
    groups = await make.role_groups()
    everyone, members = groups["role:everyone"], groups["role:members"]
    path = f"/streams/{channel.channel_id}"
    wrong = {"can_send_message_group": {"new": members, "old": members}}
    right = {"can_send_message_group": {"new": members, "old": everyone}}

    (await admin.call("PATCH", path, new_name="x", **wrong)).refused("EXPECTATION_MISMATCH")
    assert (await shown(admin, channel))["name"] == "plans"
    await admin.patch(path, **right)
    (await admin.call("PATCH", path, **right)).refused("EXPECTATION_MISMATCH")
    assert (await shown(admin, channel))["can_send_message_group"] == members


async def test_retention_and_topics_policy_as_clients_send_them(log_in, make):
    owner = await log_in(role=OWNER)
    channel = await make.channel("plans")
    path = f"/streams/{channel.channel_id}"
    for sent, kept in (("unlimited", -1), ('"realm_default"', None), (7, 7)):
        await owner.patch(path, message_retention_days=sent)
        assert (await shown(owner, channel))["message_retention_days"] == kept
    for wrong in ("forever", 0, -1, "x", 2**40):
        (await owner.call("PATCH", path, message_retention_days=wrong)).refused()
    await owner.patch(path, topics_policy='"allow_empty_topic"')
    assert (await shown(owner, channel))["topics_policy"] == "allow_empty_topic"
    answer = await owner.call("PATCH", path, topics_policy="some")
    assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "topics_policy"


async def test_what_a_channel_cannot_become(log_in, make):
    admin = await log_in(role=ADMINISTRATOR)
    channel = await make.channel("plans", subscribers=[admin.user])
    await make.channel("taken", is_archived=True)
    path = f"/streams/{channel.channel_id}"
    group = await make.group(deactivated=True)
    groups = await make.role_groups()
    for wrong in (
        {"new_name": ""},
        {"new_name": "   "},
        {"new_name": "x" * 61},
        {"new_name": "a\x07b"},
        {"description": "x" * 1025},
        {"is_web_public": True},
        {"is_private": True, "is_web_public": True},
        {"is_private": False, "history_public_to_subscribers": False},
        {"folder_id": 10**9},
        {"is_archived": False},
        {"can_subscribe_group": {"new": group}},
        {"can_subscribe_group": {"new": 10**9}},
        {"can_subscribe_group": {"new": groups["role:everyone"]}},
        {"can_send_message_group": {"new": groups["role:internet"]}},
        {"can_subscribe_group": {"new": {"direct_members": [10**9], "direct_subgroups": []}}},
    ):
        (await admin.call("PATCH", path, **wrong)).refused()
    answer = await admin.call("PATCH", path, new_name="TAKEN")
    assert answer.refused("CHANNEL_ALREADY_EXISTS", 409)["channel_name"] == "TAKEN"
    assert await make.again(channel) == channel
    await admin.patch(path)
    await admin.patch(path, new_name="plans", is_private=False)
    assert await make.again(channel) == channel


async def test_who_may_not_change_it(log_in, make, connect, server):
    member, guest = await log_in(), await log_in(role=GUEST)
    plans = await make.channel("plans", subscribers=[member.user, guest.user])
    secret = await make.channel("secret", invite_only=True)
    for client, channel in ((member, plans), (guest, plans), (member, secret), (guest, secret)):
        path = f"/streams/{channel.channel_id}"
        (await client.call("PATCH", path, new_name="mine")).refused()
        (await client.call("DELETE", path)).refused()
    stranger = await connect(server, make.realm_id)
    path = f"/streams/{plans.channel_id}"
    (await stranger.call("PATCH", path, new_name="mine")).refused("UNAUTHORIZED", 401)
    (await stranger.call("DELETE", path)).refused("UNAUTHORIZED", 401)
    assert [await make.again(row) for row in (plans, secret)] == [plans, secret]


async def test_a_channel_is_archived_and_taken_out_again(log_in, make):
    creator, other = await log_in(), await log_in()
    channel = await make.channel("plans", subscribers=[other.user], creator=creator.user)
    path = f"/streams/{channel.channel_id}"
    events = await other.register(event_types=["stream"])

    await creator.delete(f"/streams/{channel.channel_id}")
    (await creator.call("DELETE", path)).refused()
    message = {"type": "channel", "to": "plans", "topic": "t", "content": "x"}
    (await other.call("POST", "/messages", **message)).refused()
    await creator.patch(path, is_archived=False)
    await other.post("/messages", **message)

    assert (await events.until("stream", "delete"))["stream_ids"] == [channel.channel_id]
    assert (await events.until("stream", "create"))["streams"][0]["name"] == "plans"


async def test_what_was_said_in_an_archived_channel_stays_as_it_was(log_in, make):
    admin, member = await log_in(role=ADMINISTRATOR), await log_in()
    channel = await make.channel("plans", subscribers=[admin.user, member.user])
    message = {"type": "channel", "to": "plans", "topic": "t"}
    said = (await admin.post("/messages", content="said", **message))["id"]
    poll = (await admin.post("/messages", content="/poll Lunch?\nSoup", **message))["id"]
    await member.post(f"/messages/{said}/reactions", emoji_name="tada")
    await admin.delete(f"/streams/{channel.channel_id}")
    before = await member.get(f"/messages/{said}")
    vote = {"msg_type": "widget", "content": {"type": "vote", "key": "canned,0", "vote": 1}}

    for client, method, path, fields in (
        (member, "POST", f"/messages/{said}/reactions", {"emoji_name": "heart"}),
        (member, "DELETE", f"/messages/{said}/reactions", {"emoji_name": "tada"}),
        (member, "POST", "/submessage", {"message_id": poll, **vote}),
        (admin, "PATCH", f"/messages/{said}", {"content": "unsaid"}),
        (admin, "PATCH", f"/messages/{said}", {"topic": "elsewhere"}),
        (admin, "DELETE", f"/messages/{said}", {}),
        (admin, "POST", f"/streams/{channel.channel_id}/delete_topic", {"topic_name": "t"}),
    ):
        (await client.call(method, path, **fields)).refused()

    assert await member.get(f"/messages/{said}") == before
    await admin.patch(f"/streams/{channel.channel_id}", is_archived=False)
    await member.post(f"/messages/{said}/reactions", emoji_name="heart")


async def test_the_channel_is_told_in_its_own_topic(log_in, make):
    admin, member = await log_in(role=ADMINISTRATOR), await log_in()
    bot = await make.notification_bot()
    channel = await make.channel("plans", subscribers=[member.user])

    await admin.patch(f"/streams/{channel.channel_id}", description="New ```words```")

    narrow = [{"operator": "channel", "operand": channel.channel_id}]
    found = await member.get("/messages", narrow=narrow, anchor="newest", num_before=5, num_after=0)
    [message] = found["messages"]
    assert (message["sender_id"], message["subject"]) == (bot.user_id, "channel events")
    assert (
        "New ```words```" in message["content"].replace("&#96;", "`")
        or "words" in (message["content"])
    )
    assert "read" not in message["flags"]


async def test_two_who_change_it_at_once(log_in, make):
    one, two = await log_in(role=ADMINISTRATOR), await log_in(role=OWNER)
    channels = [await make.channel(f"channel {number}") for number in range(4)]

    answers = await asyncio.gather(
        *(
            client.call("PATCH", f"/streams/{channel.channel_id}", new_name="the one")
            for client in (one, two)
            for channel in channels
        )
    )

    # The second change of the same channel finds that it has the name already.
    assert sorted(answer.status for answer in answers) == [200, 200, *[409] * 6]
    rows = [await make.again(channel) for channel in channels]
    assert [row.name for row in rows].count("the one") == 1


async def subscription_of(client, channel_id):
    nullable = {"notification_settings_null": True}
    queue = await client.register(
        fetch_event_types=["subscription"], event_types=[], client_capabilities=nullable
    )
    [found] = [each for each in queue.state["subscriptions"] if each["stream_id"] == channel_id]
    return found


async def test_first_time_subscribers_get_push_notifications_if_so_wanted(log_in, make):  # 507
    admin, early, late = await log_in(role=ADMINISTRATOR), await log_in(), await log_in()
    channel = await make.channel("alarms", subscribers=[early.user])
    path = f"/streams/{channel.channel_id}"
    queue = await late.register(
        event_types=["stream", "subscription"],
        client_capabilities={"notification_settings_null": True},
    )
    await admin.patch(path, default_push_notifications=True)
    event = await queue.until("stream", "update")
    assert (event["property"], event["value"]) == ("default_push_notifications", True)
    assert (await shown(late, channel))["default_push_notifications"] is True
    assert (await subscription_of(early, channel.channel_id))["push_notifications"] is None

    names = [{"name": "alarms"}]
    await late.post("/users/me/subscriptions", subscriptions=names)
    [added] = (await queue.until("subscription", "add"))["subscriptions"]
    assert (added["push_notifications"], added["default_push_notifications"]) == (True, True)
    assert (await subscription_of(late, channel.channel_id))["push_notifications"] is True

    await late.patch(
        f"/users/me/subscriptions/{channel.channel_id}", property="push_notifications", value=False
    )
    for client in (early, late):
        await client.delete("/users/me/subscriptions", subscriptions=["alarms"])
        await client.post("/users/me/subscriptions", subscriptions=names)
    assert (await subscription_of(early, channel.channel_id))["push_notifications"] is None
    assert (await subscription_of(late, channel.channel_id))["push_notifications"] is False

    await admin.patch(path, default_push_notifications=False)
    await admin.post("/users/me/subscriptions", subscriptions=names)
    assert (await subscription_of(admin, channel.channel_id))["push_notifications"] is None


@pytest.mark.parametrize("is_by_name", [True, False])
async def test_only_administrators_create_channels_with_push_notifications(
    log_in, make, is_by_name
):  # 507
    admin, member = await log_in(role=ADMINISTRATOR), await log_in()

    def creation(name, person, **fields):
        if is_by_name:
            return "/users/me/subscriptions", {"subscriptions": [{"name": name}], **fields}
        return "/channels/create", {"name": name, "subscribers": [person.user.user_id], **fields}

    path, fields = creation("alarms", member, default_push_notifications=True)
    (await member.call("POST", path, **fields)).refused()
    path, fields = creation("plans", member, default_push_notifications=False)
    await member.post(path, **fields)
    plans = (await member.get("/get_stream_id", stream="plans"))["stream_id"]
    for wanted, code in ((True, "BAD_REQUEST"), (1, "REQUEST_VARIABLE_INVALID")):
        answer = await member.call("PATCH", f"/streams/{plans}", default_push_notifications=wanted)
        answer.refused(code)
    await member.patch(f"/streams/{plans}", default_push_notifications=False)

    queue = await admin.register(event_types=["stream"])
    path, fields = creation("alarms", admin, default_push_notifications=True)
    await admin.post(path, **fields)
    [stream] = (await queue.until("stream", "create"))["streams"]
    assert stream["default_push_notifications"] is True
    own = await subscription_of(admin, stream["stream_id"])
    assert (own["push_notifications"], own["default_push_notifications"]) == (True, True)
