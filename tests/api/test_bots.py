"""Bots over HTTP: people make them, change them, and close their accounts."""

from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from queue_processors.main import run
from queue_processors.registry import PROCESSORS
from server.domain.access import ADMINISTRATOR, GUEST, OWNER
from server.messaging.background import running
from storage import users
from testkit.clients.api import Client
from testkit.clients.api_keys import new_key
from testkit.factories import new_realm
from testkit.services.web_server import answering_json, web_at

pytestmark = pytest.mark.asyncio

CALLED = {
    "full_name": "Helper",
    "short_name": "helper",
    "bot_type": 3,
    "payload_url": "https://bots.example.com/helper",
}


async def bots_of(client: Client) -> list[str]:
    return [each["full_name"] for each in (await client.get("/bots"))["bots"]]


async def realm_bots(client: Client) -> dict[int, dict[str, Any]]:
    state = (await client.register(fetch_event_types=["realm_bot"])).state
    return {bot["user_id"]: bot for bot in state["realm_bots"]}


async def test_a_bot_that_is_called_is_made_changed_and_closed(log_in, server, make, connect):
    owner, boss = await log_in(), await log_in(role=ADMINISTRATOR)
    queue = await owner.register(event_types=["realm_bot", "realm_user"])
    made = await owner.post("/bots", **CALLED)

    added = (await queue.until("realm_bot", op="add"))["bot"]
    assert added.keys() == {"user_id", "services", *DEFAULTS}
    assert added["user_id"] == made["user_id"]
    shown = (await owner.get(f"/users/{made['user_id']}"))["user"]
    assert shown["email"] == f"helper-bot@{await server.host_of(make.realm_id)}"
    [service] = added["services"]
    assert (service["base_url"], service["interface"]) == (CALLED["payload_url"], 1)
    assert len(service["token"]) == 32
    assert service["token"] != made["api_key"]
    assert (await realm_bots(owner))[made["user_id"]] == added
    assert (await realm_bots(boss))[made["user_id"]] == added
    assert await bots_of(owner) == ["Helper"]
    assert await bots_of(boss) == []

    path = f"/bots/{made['user_id']}"
    changed = await owner.patch(
        path,
        full_name="Butler",
        service_payload_url="https://other.example.com:8443/x",
        service_interface=2,
    )
    assert changed["full_name"] == "Butler"
    assert changed["bot_owner"] == owner.user.email
    assert changed["service_interface"] == 2
    person = (await queue.until("realm_user", op="update"))["person"]
    assert person == {"user_id": made["user_id"], "full_name": "Butler"}
    told = (await queue.until("realm_bot", op="update"))["bot"]
    assert told["services"] == [
        {
            "base_url": "https://other.example.com:8443/x",
            "interface": 2,
            "token": service["token"],
        }
    ]
    assert (await realm_bots(owner))[made["user_id"]] == {**added, **told}

    await owner.delete(path)
    assert (await queue.until("realm_user", op="update"))["person"]["is_active"] is False
    assert await bots_of(owner) == []
    await owner.delete(path)
    entries = (await boss.get("/realm/audit_log"))["entries"]
    actions = [each["action"] for each in entries if each["subject_id"] == made["user_id"]]
    assert actions == ["user_deactivated", "bot_changed", "bot_created"]
    assert service["token"] not in str(entries)


async def test_it_is_called_and_answers(serving_with, make, connect):
    """From end to end, with all workers beside the server."""
    await make.notification_bot()
    async with (
        web_at("127.0.0.1", answering_json({"content": "soup"})) as web,
        serving_with(egress_allow="127.0.0.1/32") as server,
    ):
        owner = await connect(server, make.realm_id, await make.user())
        made = await owner.post("/bots", **{**CALLED, "payload_url": web.url("/lunch")})
        queue = await owner.register(event_types=["message"])
        await owner.post("/messages", type="direct", to=[made["user_id"]], content="lunch?")
        await queue.until("message")
        async with running(run(server.app, PROCESSORS, with_shipper=True)):
            answer = (await queue.until("message"))["message"]
    assert (answer["sender_id"], answer["content"]) == (made["user_id"], "soup")
    assert [request.target for request in web.requests] == ["/lunch"]


async def test_plain_bots_are_made_too(log_in):
    owner = await log_in()
    for bot_type in (1, 2):
        made = await owner.post(
            "/bots", full_name=f"Bot {bot_type}", short_name=f"b{bot_type}", bot_type=bot_type
        )
        bot = (await realm_bots(owner))[made["user_id"]]
        assert bot["services"] == []
        shown = (await owner.get(f"/users/{made['user_id']}"))["user"]
        assert shown["bot_type"] == bot_type
        answer = await owner.call(
            "PATCH", f"/bots/{made['user_id']}", service_payload_url="https://x.example.com"
        )
        assert "outgoing webhook" in answer.refused()["msg"]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"full_name": " "}, "BAD_REQUEST"),
        ({"full_name": None}, "REQUEST_VARIABLE_MISSING"),
        ({"short_name": ""}, "BAD_REQUEST"),
        ({"short_name": "a@b"}, "BAD_REQUEST"),
        ({"short_name": "x" * 61}, "BAD_REQUEST"),
        ({"bot_type": 4, "payload_url": ""}, "BAD_REQUEST"),
        ({"bot_type": 9, "payload_url": ""}, "BAD_REQUEST"),
        ({"bot_type": 1}, "REQUEST_VARIABLE_INVALID"),
        ({"payload_url": ""}, "REQUEST_VARIABLE_INVALID"),
        ({"payload_url": "ftp://bots.example.com"}, "REQUEST_VARIABLE_INVALID"),
        ({"payload_url": "http://127.0.0.1/"}, "REQUEST_VARIABLE_INVALID"),
        ({"payload_url": "http://169.254.169.254/"}, "REQUEST_VARIABLE_INVALID"),
        ({"payload_url": "http://u:p@bots.example.com/"}, "REQUEST_VARIABLE_INVALID"),
        ({"payload_url": "http://bots.example.com:22/"}, "REQUEST_VARIABLE_INVALID"),
        ({"interface_type": 3}, "REQUEST_VARIABLE_INVALID"),
        ({"config_data": {"a": "b"}}, "REQUEST_VARIABLE_INVALID"),
        ({"default_sending_stream": "no such channel"}, "BAD_REQUEST"),
        ({"default_events_register_stream": "no such channel"}, "BAD_REQUEST"),
    ],
)
async def test_what_cannot_be_is_refused(log_in, wrong, code):
    owner = await log_in()
    (await owner.call("POST", "/bots", **{**CALLED, **wrong})).refused(code)
    assert await bots_of(owner) == []


async def test_names_and_addresses_are_given_once(log_in):
    owner = await log_in()
    made = await owner.post("/bots", **CALLED)
    other = await owner.post("/bots", full_name="Other", short_name="other")
    for again in (
        {"full_name": "helper", "short_name": "h2"},
        {"full_name": "H2", "short_name": "HELPER"},
    ):
        (await owner.call("POST", "/bots", **{**CALLED, **again})).refused()
    path = f"/bots/{other['user_id']}"
    (await owner.call("PATCH", path, full_name="Helper")).refused()
    await owner.patch(f"/bots/{made['user_id']}", full_name="HELPER")


async def test_settings_say_who_makes_bots(log_in, make, server):
    await make.change_settings(can_create_bots_group="role:administrators")
    server.forget(make.realm_id)
    member, boss = await log_in(), await log_in(role=ADMINISTRATOR)
    (await member.call("POST", "/bots", **CALLED)).refused()
    await boss.post("/bots", **CALLED)


async def test_bots_are_given_to_others_with_other_keys(log_in, make):
    owner, heir, boss = await log_in(), await log_in(), await log_in(role=ADMINISTRATOR)
    made = await owner.post("/bots", **CALLED)
    path = f"/bots/{made['user_id']}"
    [row] = await users.bots(make.connection, make.realm_id)
    bot = await log_in(row)
    named = replace(bot, api_key=(await new_key(bot, "read"))["api_key"])
    bots_queue = await bot.register(event_types=["message"])
    before = (await realm_bots(owner))[made["user_id"]]
    queues = [await each.register(event_types=["realm_bot"]) for each in (owner, heir, boss)]
    own, theirs, of_boss = queues
    changed = await owner.patch(path, bot_owner_id=heir.user.user_id)
    assert changed["bot_owner"] == heir.user.email
    gone = await own.until("realm_bot")
    assert gone["op"] == "delete"
    shown = (await theirs.until("realm_bot"))["bot"]
    assert shown["services"][0]["token"] != before["services"][0]["token"]
    update = (await of_boss.until("realm_bot", op="update"))["bot"]
    assert update["services"] == shown["services"]
    key = (await heir.get(f"{path}/api_key"))["api_key"]
    assert key != made["api_key"]
    assert key not in str((shown, update))
    for known in (bot, named):
        (await known.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    renewed = replace(bot, api_key=key)
    poll = {"queue_id": bots_queue.queue_id, "last_event_id": -1}
    (await renewed.call("GET", "/events", **poll)).refused("BAD_EVENT_QUEUE_ID")
    # To the same owner again: nothing changes.
    await boss.patch(path, bot_owner_id=heir.user.user_id)
    await renewed.get("/users/me")
    (await owner.call("PATCH", path, full_name="Mine")).refused()
    await heir.patch(path, full_name="Heirloom")

    guest, gone = await log_in(role=GUEST), await log_in(is_active=False)
    for unsuitable in (guest.user.user_id, gone.user.user_id, made["user_id"], 999_999):
        (await boss.call("PATCH", path, bot_owner_id=unsuitable)).refused()


async def test_only_administrators_give_bots_roles(log_in):
    owner, boss = await log_in(), await log_in(role=ADMINISTRATOR)
    made = await owner.post("/bots", **CALLED)
    path = f"/bots/{made['user_id']}"
    (await owner.call("PATCH", path, role=ADMINISTRATOR, full_name="Boss")).refused()
    assert await bots_of(owner) == ["Helper"]
    member = await log_in()
    both = {"role": ADMINISTRATOR, "bot_owner_id": member.user.user_id}
    (await boss.call("PATCH", path, **both)).refused()
    (await boss.call("PATCH", path, role=ADMINISTRATOR)).refused()
    await boss.patch(path, bot_owner_id=boss.user.user_id)
    await boss.patch(path, role=ADMINISTRATOR)
    (await boss.call("PATCH", path, bot_owner_id=member.user.user_id)).refused()


@pytest.mark.parametrize("at", ["/bots/{}", "/users/{}"])
async def test_a_bot_cannot_become_an_owner(log_in, at):
    """Any holder of its key would be one: that are all administrators."""
    owner = await log_in(role=OWNER)
    made = await owner.post("/bots", **CALLED)
    path = at.format(made["user_id"])
    answer = await owner.call("PATCH", path, role=OWNER)
    assert answer.refused()["msg"] == "Bots cannot be organization owners."


async def test_bots_do_not_learn_the_keys_of_others(log_in, make):
    boss = await make.user(role=ADMINISTRATOR)
    bot = await log_in(await make.user(bot_type=1, bot_owner=boss, role=ADMINISTRATOR))
    assert await realm_bots(bot) == {}
    queue = await bot.register(event_types=["realm_bot", "realm_user"])
    client = await log_in(boss)
    made = await client.post("/bots", **CALLED)
    await client.patch(f"/users/{made['user_id']}", full_name="Known")
    events: list[dict[str, Any]] = []
    while not events or events[-1].get("op") != "update":
        events += await queue.poll()
    assert {event["type"] for event in events} == {"realm_user"}


async def test_people_and_system_bots_are_no_users_bots(log_in, make):
    boss, system = await log_in(role=ADMINISTRATOR), await make.notification_bot()
    for user_id in (boss.user.user_id, system.user_id, 999_999):
        (await boss.call("PATCH", f"/bots/{user_id}", full_name="Mine")).refused()
        (await boss.call("DELETE", f"/bots/{user_id}")).refused()


async def test_another_organization_has_its_own(log_in, make, connect, server):
    owner = await log_in()
    made = await owner.post("/bots", **CALLED)
    elsewhere = await new_realm(make.connection)
    boss = await elsewhere.user(role=ADMINISTRATOR)
    stranger = await connect(server, elsewhere.realm_id, boss)
    (await stranger.call("PATCH", f"/bots/{made['user_id']}", full_name="Mine")).refused()
    assert made["user_id"] not in await realm_bots(stranger)


async def test_another_key_closes_the_account_to_the_old_one(log_in, make, connect, server):
    owner = await log_in()
    made = await owner.post("/bots", **CALLED)
    [row] = await users.by_ids(make.connection, make.realm_id, [made["user_id"]])
    bot = await connect(server, make.realm_id, row)
    await bot.get("/users/me")
    queue = await owner.register()
    key = (await owner.post(f"/bots/{made['user_id']}/api_key/regenerate"))["api_key"]
    assert await queue.poll(dont_block=True) == []
    assert key not in str((await owner.register()).state)
    assert (await owner.get(f"/bots/{made['user_id']}/api_key"))["api_key"] == key
    (await bot.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    await (await connect(server, make.realm_id, replace(row, api_key=key))).get("/users/me")


DEFAULTS = {
    "default_sending_stream": "news",
    "default_events_register_stream": "secret",
    "default_all_public_streams": True,
}


@pytest_asyncio.fixture
async def place(log_in, make):
    """An owner with a public channel and a private one, of which they are the only subscriber."""
    owner = await log_in()
    await make.channel("news", subscribers=[owner.user])
    await make.channel("secret", invite_only=True, subscribers=[owner.user])
    return owner


async def bot_of(log_in, make, made):
    [row] = await users.by_ids(make.connection, make.realm_id, [made["user_id"]])
    return await log_in(row)


def defaults_in(shown: dict[str, Any]) -> dict[str, Any]:
    return {name: shown[name] for name in DEFAULTS}


async def test_a_bot_has_defaults_from_its_beginning(place, log_in):
    queue = await place.register(event_types=["realm_bot"])
    made = await place.post("/bots", full_name="Butler", short_name="butler", **DEFAULTS)
    assert defaults_in(made) == DEFAULTS
    added, changed = [(await queue.until("realm_bot"))["bot"] for _ in range(2)]
    assert (await realm_bots(place))[made["user_id"]] == {**added, **changed}
    assert defaults_in(changed) == DEFAULTS
    [shown] = (await place.get("/bots"))["bots"]
    assert defaults_in(shown) == DEFAULTS


async def test_defaults_are_changed_one_by_one_and_removed(place, log_in):
    made = await place.post("/bots", full_name="Butler", short_name="butler")
    path, expected = f"/bots/{made['user_id']}", dict.fromkeys(DEFAULTS)
    expected["default_all_public_streams"] = False
    assert defaults_in(made) == expected
    queue = await place.register(event_types=["realm_bot"])
    none = {"default_sending_stream": "", "default_events_register_stream": ""}
    for name, value in [*DEFAULTS.items(), ("default_all_public_streams", False), *none.items()]:
        expected[name] = value if value != "" else None
        assert defaults_in(await place.patch(path, **{name: value})) == expected
        event = (await queue.until("realm_bot"))["bot"]
        assert defaults_in(event) == expected
        assert defaults_in((await realm_bots(place))[made["user_id"]]) == expected
        await place.patch(path, **{name: value})
    assert await queue.poll(dont_block=True) == []


async def test_a_bot_sends_to_its_channel_where_it_names_none(place, log_in, make):
    made = await place.post("/bots", full_name="Butler", short_name="butler", **DEFAULTS)
    bot, message = await bot_of(log_in, make, made), {"topic": "t", "content": "soup"}
    nowhere: list[dict[str, Any]] = [{}, {"to": []}]
    for to in nowhere:
        sent = await bot.post("/messages", type="channel", **message, **to)
        shown = (await place.get(f"/messages/{sent['id']}"))["message"]
        assert shown["display_recipient"] == "news"
    sent = await bot.post("/messages", type="channel", to="secret", **message)
    assert (await place.get(f"/messages/{sent['id']}"))["message"]["display_recipient"] == "secret"
    for client in (bot, place):
        answer = await client.call("POST", "/messages", type="direct", **message)
        answer.refused("REQUEST_VARIABLE_MISSING")
    answer = await place.call("POST", "/messages", type="channel", **message)
    assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] == "to"
    await place.patch(f"/bots/{made['user_id']}", default_sending_stream="")
    answer = await bot.call("POST", "/messages", type="channel", **message)
    answer.refused("REQUEST_VARIABLE_MISSING")


async def test_a_bots_queue_hears_its_channel_unless_it_says_otherwise(place, log_in, make):
    made = await place.post(
        "/bots",
        full_name="Butler",
        short_name="butler",
        default_events_register_stream="news",
        default_all_public_streams=True,
    )
    other = await make.channel("other", subscribers=[place.user])
    bot = await bot_of(log_in, make, made)
    queues = [
        await bot.register(event_types=["message"], **more)
        for more in ({}, {"narrow": [["channel", "other"]]}, {"all_public_streams": False})
    ]
    for to in ("news", other.name):
        await place.post("/messages", type="channel", to=to, topic="t", content=to)
    heard = [
        [event["message"]["content"] for event in await queue.poll(dont_block=True)]
        for queue in queues
    ]
    assert heard == [["news"], ["other"], []]


async def test_defaults_name_channels_that_their_owner_may_read(place, log_in, make):
    boss, other = await log_in(role=ADMINISTRATOR), await log_in()
    await make.channel("closed", is_archived=True, subscribers=[place.user, boss.user])
    await make.channel("theirs", invite_only=True, subscribers=[boss.user])
    made = await place.post("/bots", full_name="Butler", short_name="butler")
    path = f"/bots/{made['user_id']}"
    for client, name in (
        (place, "closed"),
        (place, "theirs"),
        (boss, "theirs"),
        (boss, "secret"),
    ):
        for field in ("default_sending_stream", "default_events_register_stream"):
            answer = await client.call("PATCH", path, **{field: name})
            assert answer.refused("BAD_REQUEST")["msg"] == f"Invalid channel name '{name}'"
    await boss.patch(path, default_sending_stream="NEWS")

    # What the next owner may not read goes; the rest stays, and they see it at once.
    await place.patch(path, default_events_register_stream="secret")
    queue = await other.register(event_types=["realm_bot"])
    given = await place.patch(path, bot_owner_id=other.user.user_id)
    assert given["default_sending_stream"] == "news"
    assert given["default_events_register_stream"] is None
    added = (await queue.until("realm_bot", op="add"))["bot"]
    assert (added["default_sending_stream"], added["default_events_register_stream"]) == (
        "news",
        None,
    )


async def test_a_channel_that_is_renamed_is_known_by_its_new_name(place, log_in, make):
    boss = await log_in(role=ADMINISTRATOR)
    made = await place.post("/bots", full_name="Butler", short_name="butler", **DEFAULTS)
    left = await place.post("/bots", full_name="Left", short_name="left", **DEFAULTS)
    [secret] = [
        each["stream_id"]
        for each in (await place.get("/users/me/subscriptions"))["subscriptions"]
        if each["name"] == "secret"
    ]
    queues = [await each.register(event_types=["realm_bot"]) for each in (place, boss)]
    await boss.patch(f"/streams/{secret}", new_name="open secret")
    for queue in queues:
        told = [(await queue.until("realm_bot"))["bot"] for _ in range(2)]
        assert {each["user_id"] for each in told} == {made["user_id"], left["user_id"]}
        for each in told:
            assert each["default_events_register_stream"] == "open secret"
            assert "default_sending_stream" not in each
    # A user who may not know of the channel any more does not learn its next name.
    await place.delete("/users/me/subscriptions", subscriptions=["open secret"])
    await boss.patch(f"/streams/{secret}", new_name="hidden")
    expected = [
        {"user_id": each["user_id"], "default_events_register_stream": None}
        for each in (made, left)
    ]
    assert [each["bot"] for each in await queues[0].poll(dont_block=True)] == expected
    shown = (await realm_bots(place))[made["user_id"]]
    assert shown["default_events_register_stream"] is None
    assert shown["default_sending_stream"] == "news"
    # A user who may know of it again does.
    administering = {"direct_members": [place.user.user_id], "direct_subgroups": []}
    await boss.patch(f"/streams/{secret}", can_administer_channel_group={"new": administering})
    expected = [each | {"default_events_register_stream": "hidden"} for each in expected]
    assert [each["bot"] for each in await queues[0].poll(dont_block=True)] == expected


async def test_a_bot_that_is_inherited_has_another_key(log_in, make):
    boss, owner = await log_in(role=ADMINISTRATOR), await log_in()
    made = await owner.post("/bots", **CALLED)
    path = f"/users/{made['user_id']}"
    await boss.delete(f"/users/{owner.user.user_id}")
    queue = await boss.register(event_types=["realm_bot"], fetch_event_types=["realm_bot"])
    [closed] = [b for b in queue.state["realm_bots"] if b["user_id"] == made["user_id"]]
    await boss.post(f"{path}/reactivate")
    told = await queue.until("realm_bot", op="update")
    key = (await boss.get(f"/bots/{made['user_id']}/api_key"))["api_key"]
    assert key != made["api_key"]
    assert told["bot"].keys() == {"user_id", "services"}
    assert told["bot"]["services"][0]["token"] != closed["services"][0]["token"]
