"""`target_users` of PATCH /settings (level 444): administrators change settings of others."""

import pytest

from server.domain.access import ADMINISTRATOR, GUEST, OWNER
from server.domain.bots import GENERIC
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

OLD_CLIENT = ["update_display_settings", "update_global_notifications", "subscription"]


def targets(*rows, skip=False, groups=()):
    return {
        "user_ids": [row.user_id for row in rows],
        "group_ids": list(groups),
        "skip_if_already_edited": skip,
    }


async def settings_of(client):
    state = (await client.register(fetch_event_types=["user_settings"], event_types=[])).state
    return state["user_settings"]


async def test_settings_of_others_change_and_ones_own_stay(log_in, make):
    boss, cook, other = await log_in(role=ADMINISTRATOR), await log_in(), await log_in()
    queue = await cook.register(event_types=["user_settings"])
    quiet = [await each.register(event_types=["user_settings"]) for each in (boss, other)]
    await boss.patch(
        "/settings", enter_sends=True, web_home_view="recent", target_users=targets(cook.user)
    )
    changed = {e["property"]: e["value"] for e in await queue.poll()}
    assert changed == {"enter_sends": True, "web_home_view": "recent"}
    assert changed.items() <= (await settings_of(cook)).items()
    for each, client in zip(quiet, (boss, other), strict=True):
        assert await each.poll(dont_block=True) == []
        assert (await settings_of(client))["enter_sends"] is False
    rows = await make.connection.tuples(
        "SELECT actor_id, subject_id, before, after FROM audit_log"
        " WHERE action = 'user_setting_changed' ORDER BY audit_id"
    )
    ids = (boss.user.user_id, cook.user.user_id)
    assert rows == [
        (*ids, {"enter_sends": False}, {"enter_sends": True}),
        (*ids, {"web_home_view": "inbox"}, {"web_home_view": "recent_topics"}),
    ]
    await boss.patch("/settings", enter_sends=True, target_users=targets(cook.user))
    assert await queue.poll(dont_block=True) == []


async def test_members_of_groups_and_of_groups_in_them(log_in, make):
    boss, cook, waiter, guest = [
        await log_in(role=role) for role in (OWNER, ADMINISTRATOR, GUEST, GUEST)
    ]
    bot = await make.user(bot_type=GENERIC)
    inner = await make.group(members=[waiter.user, bot])
    outer = await make.group(members=[cook.user], subgroups=[inner])
    await boss.patch("/settings", color_scheme=2, target_users=targets(groups=[outer]))
    shown = [(await settings_of(each))["color_scheme"] for each in (boss, cook, waiter, guest)]
    assert shown == [1, 2, 2, 1]
    everyone = (await make.role_groups())["role:everyone"]
    await boss.patch(
        "/settings", color_scheme=3, target_users=targets(cook.user, groups=[everyone])
    )
    for each in (boss, cook, waiter, guest):
        assert (await settings_of(each))["color_scheme"] == 3


async def test_what_users_have_chosen_stays_if_wanted(log_in):
    boss, cook, waiter = await log_in(role=ADMINISTRATOR), await log_in(), await log_in()
    await cook.patch("/settings", color_scheme=3)
    await cook.patch("/settings", color_scheme=1)
    both = targets(cook.user, waiter.user, skip=True)
    await boss.patch("/settings", color_scheme=2, enter_sends=True, target_users=both)
    for client, color in ((cook, 1), (waiter, 2)):
        shown = await settings_of(client)
        assert (shown["color_scheme"], shown["enter_sends"]) == (color, True)
    # What administrators have set for them is not their choice.
    await boss.patch("/settings", color_scheme=3, target_users=both)
    assert (await settings_of(waiter))["color_scheme"] == 3
    both["skip_if_already_edited"] = False
    await boss.patch("/settings", color_scheme=2, target_users=both)
    assert (await settings_of(cook))["color_scheme"] == 2


async def test_deactivated_people_have_it_when_they_come_back(log_in, make):
    boss, gone = await log_in(role=ADMINISTRATOR), await make.user(is_active=False)
    await boss.patch("/settings", enter_sends=True, target_users=targets(gone))
    await boss.post(f"/users/{gone.user_id}/reactivate")
    [settings] = await make.connection.values(
        "SELECT settings FROM users WHERE user_id = %(user_id)s", user_id=gone.user_id
    )
    assert settings == {"enter_sends": True}


async def test_older_clients_get_it_in_their_form(log_in, make):
    boss, cook = await log_in(role=ADMINISTRATOR), await log_in()
    channel = await make.channel(subscribers=[cook.user])
    archived = await make.channel(subscribers=[cook.user], is_archived=True)
    cook.server.forget(make.realm_id)
    queue = await cook.register(event_types=OLD_CLIENT)
    await boss.patch(
        "/settings",
        enter_sends=True,
        enable_stream_push_notifications=True,
        target_users=targets(cook.user),
    )
    display, notification, default = await queue.poll()
    assert (display["setting_name"], display["setting"]) == ("enter_sends", True)
    assert notification["notification_name"] == "enable_stream_push_notifications"
    assert default["property"] == "push_notifications"
    assert default["stream_id"] == channel.channel_id != archived.channel_id


async def test_drafts_go_and_notices_stay_unread_as_with_ones_own_change(log_in, make):
    boss, cook = await log_in(role=ADMINISTRATOR), await log_in()
    draft = {"type": "", "to": [], "topic": "", "content": "x", "timestamp": 1}
    for client in (boss, cook):
        await client.post("/drafts", drafts=[draft])
    await boss.patch(
        "/settings",
        enable_drafts_synchronization=False,
        resolved_topic_notice_auto_read_policy="never",
        target_users=targets(cook.user),
    )
    assert (await boss.get("/drafts"))["count"] == 1
    assert await make.connection.values("SELECT user_id FROM drafts") == [boss.user.user_id]
    spans = await make.connection.tuples("SELECT user_id, spans::text FROM unread_notices")
    [(user_id, span)] = spans
    assert user_id == cook.user.user_id
    assert span.endswith(",)}")


PRIVATE = {
    "allow_private_data_export": True,
    "email_address_visibility": 4,
    "enable_digest_emails": False,
    "enable_login_emails": False,
    "enable_marketing_emails": False,
    "presence_enabled": False,
    "send_private_typing_notifications": False,
    "send_read_receipts": False,
    "send_stream_typing_notifications": False,
    "full_name": "Another",
    "timezone": "Asia/Tokyo",
    "email": "another@example.com",
    "old_password": "secret",
    "new_password": "another secret",
}


@pytest.mark.parametrize("name", PRIVATE)
async def test_what_is_private_is_for_users_themselves(log_in, name):
    boss, cook = await log_in(role=OWNER), await log_in()
    before = await settings_of(cook)
    change = {name: PRIVATE[name], "enter_sends": True}
    answer = await boss.call("PATCH", "/settings", target_users=targets(cook.user), **change)
    assert answer.refused()["msg"] == "Only users themselves can change this setting."
    assert await settings_of(cook) == before
    assert (await cook.get("/users/me"))["full_name"] == cook.user.full_name


async def test_only_administrators_who_are_people_change_settings_of_others(log_in, make):
    cook, owner = await log_in(), await make.user(role=OWNER)
    bot = await log_in(bot_type=GENERIC, bot_owner=owner, role=ADMINISTRATOR)
    for client in (cook, bot):
        for row in (client.user, owner):
            (
                await client.call("PATCH", "/settings", enter_sends=True, target_users=targets(row))
            ).refused()
    values = await make.connection.values("SELECT settings FROM users")
    assert not any("enter_sends" in each for each in values)


async def test_one_wrong_target_refuses_all(log_in, make):
    boss, cook = await log_in(role=OWNER), await log_in()
    stranger = await (await new_realm(make.connection)).user()
    foreign = await (await new_realm(make.connection)).group()
    closed = await make.group(members=[cook.user], deactivated=True)
    bot = await make.user(bot_type=GENERIC)
    wrong = [
        targets(cook.user, stranger),
        targets(cook.user, bot),
        targets(cook.user) | {"user_ids": [cook.user.user_id, 10**9]},
        targets(cook.user, groups=[foreign]),
        targets(cook.user, groups=[10**9]),
        targets(groups=[closed]),
        targets(),
    ]
    for each in wrong:
        (await boss.call("PATCH", "/settings", enter_sends=True, target_users=each)).refused()
    for each in (
        {"user_ids": [cook.user.user_id]},
        "x",
        [],
        targets(cook.user) | {"email": "a@example.com"},
        targets() | {"user_ids": "all"},
    ):
        answer = await boss.call("PATCH", "/settings", enter_sends=True, target_users=each)
        assert answer.status == 400
    answer = await boss.call(
        "PATCH", "/settings", web_font_size_px=-1, target_users=targets(cook.user)
    )
    answer.refused("REQUEST_VARIABLE_INVALID")
    assert (await settings_of(cook))["enter_sends"] is False


async def test_thousands_of_people_at_once(log_in, make):
    boss = await log_in(role=OWNER)
    await make.users(10_001)
    everyone = targets(groups=[(await make.role_groups())["role:everyone"]])
    await boss.patch("/settings", enter_sends=True, target_users=everyone)
    assert (await settings_of(boss))["enter_sends"] is True
    counted = await make.connection.value(
        "SELECT count(*) FROM users WHERE settings @> '{\"enter_sends\": true}'"
    )
    assert counted == 10_002
    answer = await boss.call(
        "PATCH", "/settings", color_scheme=2, emojiset="text", target_users=everyone
    )
    assert "too many changes" in answer.refused()["msg"]
