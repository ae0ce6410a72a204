"""What levels of the protocol after 421 have brought (docs/protocol.md), each over HTTP."""

from dataclasses import replace

import pytest

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from testkit.oracles import contract
from testkit.rich_realm import SERVER

pytestmark = pytest.mark.asyncio


async def realm_fields(client):
    return (await client.register(fetch_event_types=["realm"], event_types=[])).state


async def test_register_has_every_field_of_level_489(log_in):
    owner = await log_in(role=OWNER)
    body = await owner.post("/register")
    assert contract.missing_in_register(body, 489) == []


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


async def strict_channel(make, *people, **permissions):
    groups = await make.role_groups()
    permissions = permissions or {"can_create_topic_group": groups["role:moderators"]}
    return await make.channel("strict", subscribers=people, **permissions)


NO_NEW_TOPICS = "You do not have permission to create new topics in this channel."


async def test_only_some_begin_topics(log_in, make):  # 441
    moderator, member, guest = [await log_in(role=role) for role in (MODERATOR, MEMBER, GUEST)]
    await strict_channel(make, moderator.user, member.user, guest.user)
    there = {"type": "channel", "to": "strict", "content": "x"}
    await moderator.post("/messages", topic="begun", **there)
    for client in (member, guest):
        for topic in ("new", ""):
            answer = await client.call("POST", "/messages", topic=topic, **there)
            assert answer.refused()["msg"] == NO_NEW_TOPICS
        await client.post("/messages", topic="BEGUN", **there)


async def test_an_emptied_topic_is_a_new_one(log_in, make):  # 441
    moderator, member = await log_in(role=MODERATOR), await log_in()
    await strict_channel(make, moderator.user, member.user)
    there = {"type": "channel", "to": "strict", "content": "x", "topic": "begun"}
    sent = await moderator.post("/messages", **there)
    await member.post("/messages", **there)
    narrow = [{"operator": "channel", "operand": "strict"}]
    found = await moderator.get(
        "/messages", narrow=narrow, anchor="newest", num_before=9, num_after=0
    )
    admin = await log_in(role=OWNER)
    for message in found["messages"]:
        await admin.delete(f"/messages/{message['id']}")
    assert sent["id"] in [each["id"] for each in found["messages"]]
    (await member.call("POST", "/messages", **there)).refused()
    await moderator.post("/messages", **there)


async def test_moves_and_schedules_begin_topics_too(log_in, make):  # 441
    moderator, member = await log_in(role=MODERATOR), await log_in()
    strict = await strict_channel(make, moderator.user, member.user)
    await make.channel("open", subscribers=[moderator.user, member.user])
    await moderator.post("/messages", type="channel", to="strict", topic="begun", content="x")
    own = await member.post("/messages", type="channel", to="strict", topic="begun", content="y")
    path = f"/messages/{own['id']}"
    assert (await member.call("PATCH", path, topic="new")).refused()["msg"] == NO_NEW_TOPICS
    elsewhere = await member.post("/messages", type="channel", to="open", topic="z", content="z")
    moved = f"/messages/{elsewhere['id']}"
    for topic in ("z", "new"):
        place = {"stream_id": strict.channel_id, "topic": topic}
        assert (await member.call("PATCH", moved, **place)).refused()["msg"] == NO_NEW_TOPICS
    await member.patch(moved, stream_id=strict.channel_id, topic="begun")
    await member.patch(path, topic="✔ begun", propagate_mode="change_all")  # the same topic
    await member.patch(path, topic="✔ Begun", propagate_mode="change_all")
    later = {"type": "channel", "to": strict.channel_id, "content": "x", "topic": "later"}
    later |= {"scheduled_delivery_timestamp": 4_000_000_000}
    (await member.call("POST", "/scheduled_messages", **later)).refused()
    await moderator.post("/scheduled_messages", **later)


async def test_bots_begin_topics_as_their_owners_may(log_in, make):  # 441
    owner, stranger = await log_in(role=MODERATOR), await log_in()
    await strict_channel(make, owner.user, stranger.user)
    for person, is_permitted in ((owner, True), (stranger, False)):
        bot = await log_in(await make.user(bot_type=1, bot_owner=person.user))
        answer = await bot.call(
            "POST", "/messages", type="channel", to="strict", topic=bot.user.email, content="x"
        )
        assert (answer.status == 200) is is_permitted
    await make.notification_bot()


async def test_the_permission_is_a_setting_of_the_channel(log_in, make):  # 441
    admin = await log_in(role=ADMINISTRATOR)
    groups = await make.role_groups()
    queue = await admin.register(event_types=["stream"])
    wanted = groups["role:members"]
    made = await admin.post(
        "/channels/create",
        name="plans",
        subscribers=[admin.user.user_id],
        can_create_topic_group=wanted,
    )
    [stream] = (await queue.until("stream", "create"))["streams"]
    assert stream["can_create_topic_group"] == wanted
    change = {"old": wanted, "new": groups["role:nobody"]}
    await admin.patch(f"/streams/{made['id']}", can_create_topic_group=change)
    event = await queue.until("stream", "update")
    assert (event["property"], event["value"]) == ("can_create_topic_group", groups["role:nobody"])


async def test_everyone_begins_topics_where_history_is_protected(log_in, make):  # 441
    admin = await log_in(role=ADMINISTRATOR)
    groups = await make.role_groups()
    protected = {"invite_only": True, "history_public_to_subscribers": False}
    made = {"name": "plans", "subscribers": [admin.user.user_id], **protected}
    members = groups["role:members"]
    (await admin.call("POST", "/channels/create", can_create_topic_group=members, **made)).refused()
    channel = f"/streams/{(await admin.post('/channels/create', **made))['id']}"
    change = {"new": members}
    (await admin.call("PATCH", channel, can_create_topic_group=change)).refused()
    await admin.patch(channel, is_private=True, history_public_to_subscribers=True)
    await admin.patch(channel, can_create_topic_group=change)
    closing = {"is_private": True, "history_public_to_subscribers": False}
    (await admin.call("PATCH", channel, **closing)).refused()


async def test_bots_have_another_address_by_another_short_name(log_in, server, make):  # 447, 461
    owner, other = await log_in(), await log_in()
    made = await owner.post("/bots", full_name="Helper", short_name="helper")
    await owner.post("/bots", full_name="Other", short_name="taken")
    path, host = f"/bots/{made['user_id']}", await server.host_of(make.realm_id)
    queue = await other.register(event_types=["realm_user"])
    await owner.patch(path, short_name="Butler")
    person = (await queue.until("realm_user", "update"))["person"]
    email = f"butler-bot@{host.partition(':')[0]}"
    assert person == {"user_id": made["user_id"], "delivery_email": email}
    assert (await queue.until("realm_user", "update"))["person"]["new_email"] == email
    await queue.poll(dont_block=True)  # the avatar
    shown = (await other.get(f"/users/{made['user_id']}"))["user"]
    assert (shown["email"], shown["full_name"]) == (email, "Helper")
    for wrong in ("taken", "", "two words", "x" * 200):
        (await owner.call("PATCH", path, short_name=wrong, full_name="No")).refused()
    (await other.call("PATCH", path, short_name="mine")).refused()
    await owner.patch(path, short_name="butler")  # as it is
    assert await queue.poll(dont_block=True) == []
    key = (await owner.get(f"{path}/api_key"))["api_key"]
    bot = replace(owner, email=email, api_key=key)
    assert (await bot.get("/users/me"))["user_id"] == made["user_id"]


async def test_the_presence_of_one_person_has_both_forms(log_in):  # 487, 497
    one, other = await log_in(), await log_in()
    await one.post("/users/me/presence", status="active")
    answer = await other.get(f"/users/{one.user.user_id}/presence")
    shown = answer["presence"]
    assert shown["active_timestamp"] == shown["idle_timestamp"] == shown["website"]["timestamp"]
    assert shown["aggregated"]["status"] == shown["website"]["status"] == "active"
    assert 0 <= answer["server_timestamp"] - shown["active_timestamp"] < 60


async def test_only_bots_have_a_store(log_in):  # 494
    person, bot = await log_in(), await log_in(bot_type=1)
    await bot.call("PUT", "/bot_storage", storage={"a": "b"})
    for method in ("GET", "DELETE"):
        (await person.call(method, "/bot_storage")).refused()
    (await person.call("PUT", "/bot_storage", storage={})).refused()
    assert (await bot.get("/bot_storage"))["storage"] == {"a": "b"}


async def test_bots_make_and_read_groups(log_in, make):  # 496
    owner = await make.user()
    bot = await log_in(bot_type=1, bot_owner=owner)
    fields = {"name": "cooks", "description": "", "members": [owner.user_id]}
    made = await bot.post("/user_groups/create", **fields)
    groups = (await bot.get("/user_groups"))["user_groups"]
    [cooks] = [each for each in groups if each["name"] == "cooks"]
    assert (cooks["id"], cooks["creator_id"]) == (made["group_id"], bot.user.user_id)
    members = await bot.get(f"/user_groups/{made['group_id']}/members")
    assert members["members"] == [owner.user_id]
    nobody = (await make.role_groups())["role:nobody"]
    await make.change_settings(can_create_groups=nobody)
    (await bot.call("POST", "/user_groups/create", **(fields | {"name": "more"}))).refused()


async def test_a_send_answers_where_the_message_is(log_in, make, server):  # 508
    one, other = await log_in(), await log_in()
    channel = await make.channel("soup & [bread]", subscribers=[one.user])
    url = (await one.call("GET", "/server_settings")).body["realm_url"]
    sent = await one.post(
        "/messages", type="channel", to=channel.channel_id, topic="a**b", content="x"
    )
    place = f"/#narrow/channel/{channel.channel_id}-soup-.26-.5Bbread.5D/topic/a.2A.2Ab"
    assert sent["message_url"] == f"{url}{place}/near/{sent['id']}"
    rendered = (await one.post("/messages/render", content=sent["message_link"]))["rendered"]
    assert f'href="{place}/near/{sent["id"]}"' in rendered
    assert "soup &amp; [bread] &gt; a**b" in rendered
    for to in ([other.user.user_id], [one.user.user_id]):
        sent = await one.post("/messages", type="direct", to=to, content="x")
        assert sent["message_url"] == f"{url}/#narrow/dm/{to[0]}-dm/near/{sent['id']}"
        assert sent["message_link"].startswith("[a direct message](/#narrow/dm/")


async def test_a_repeated_send_answers_the_same_links(log_in, make):  # 508
    one = await log_in()
    await make.channel("soup", subscribers=[one.user])
    fields = {"type": "channel", "to": "soup", "topic": "t", "content": "x"}
    queue = await one.register(event_types=[])
    again = {"queue_id": queue.queue_id, "local_id": "7"}
    first = await one.post("/messages", **fields, **again)
    assert await one.post("/messages", **fields, **again) == first


async def test_a_bot_does_not_learn_names_that_only_its_owner_knows(log_in, make):  # 508
    owner = await make.user()
    bot = await log_in(bot_type=1, bot_owner=owner)
    channel = await make.channel("hidden", invite_only=True, subscribers=[owner])
    sent = await bot.post(
        "/messages", type="channel", to=channel.channel_id, topic="t", content="x"
    )
    assert "hidden" not in sent["message_url"] + sent["message_link"]
    assert f"/channel/{channel.channel_id}-" in sent["message_url"]


LINKIFIER = {
    "pattern": "#(?P<id>[0-9]+)",
    "url_template": "https://example.com/issues/{id}",
    "example_input": "#123",
    "reverse_template": "#{id}",
    "alternative_url_templates": ["https://old.example.com/{id}", "https://example.com/pr/{id}"],
}


async def test_linkifiers_say_how_addresses_become_text(log_in):  # 471, 478
    admin = await log_in(role=ADMINISTRATOR)
    capability = {"linkifier_url_template": True}
    queue = await admin.register(client_capabilities=capability)
    made = await admin.post("/realm/filters", **LINKIFIER)
    [shown] = (await queue.until("realm_linkifiers"))["realm_linkifiers"]
    assert shown == {"id": made["id"], **LINKIFIER}
    path = f"/realm/filters/{made['id']}"
    same = {name: LINKIFIER[name] for name in ("pattern", "url_template")}
    await admin.patch(path, **same)  # what is left out stays
    assert await queue.poll(dont_block=True) == []
    nothing = {"example_input": "", "reverse_template": "", "alternative_url_templates": []}
    await admin.patch(path, **same, **nothing)
    [shown] = (await admin.get("/realm/linkifiers"))["linkifiers"]
    assert (shown["example_input"], shown["reverse_template"]) == (None, None)
    assert shown["alternative_url_templates"] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("example_input", "no number"),
        ("example_input", "#12 and more"),
        ("reverse_template", "#{other}"),
        ("reverse_template", "#"),
        ("reverse_template", "#{id"),
        ("alternative_url_templates", ["https://example.com/{other}"]),
        ("alternative_url_templates", ["javascript:{id}"]),
        ("alternative_url_templates", [f"https://example.com/{n}/{{id}}" for n in range(21)]),
    ],
)
async def test_wrong_extras_of_linkifiers_are_refused(log_in, name, value):  # 471, 478
    admin = await log_in(role=ADMINISTRATOR)
    answer = await admin.call("POST", "/realm/filters", **(LINKIFIER | {name: value}))
    assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name


async def test_fields_by_which_people_are_found(log_in):  # 455, 476
    admin = await log_in(role=ADMINISTRATOR)
    queue = await admin.register(event_types=["custom_profile_fields"])
    made = await admin.post(
        "/realm/profile_fields", field_type=1, name="Nickname", use_for_user_matching=True
    )
    [field] = (await queue.until("custom_profile_fields"))["fields"]
    assert field["use_for_user_matching"] is True
    await admin.patch(f"/realm/profile_fields/{made['id']}", use_for_user_matching=False)
    [field] = (await queue.until("custom_profile_fields"))["fields"]
    assert field["use_for_user_matching"] is False
    for field_type in (2, 4, 5, 6):
        fields = {"field_type": field_type, "name": "x", "use_for_user_matching": True}
        answer = await admin.call("POST", "/realm/profile_fields", **fields)
        answer.refused("REQUEST_VARIABLE_INVALID")
    await admin.post(
        "/realm/profile_fields", field_type=2, name="About", display_in_profile_summary=True
    )


async def test_files_say_in_which_messages_they_are(log_in, make):  # 472
    client = await log_in()
    url = (await client.upload("/user_uploads", file=("a.txt", b"x"))).succeeded()["url"]
    [shown] = (await client.get("/attachments"))["attachments"]
    assert shown["message_ids"] == []
    sent = [
        (
            await client.post(
                "/messages", type="direct", to=[client.user.user_id], content=f"[{n}]({url})"
            )
        )
        for n in range(2)
    ]
    [shown] = (await client.get("/attachments"))["attachments"]
    ids = [each["id"] for each in sent]
    assert shown["message_ids"] == ids == [each["id"] for each in shown["messages"]]
