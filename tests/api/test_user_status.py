"""POST /users/me/status, and what one learns of others' status."""

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def people(make):
    return [await make.user(name) for name in ("Alice", "Bob")]


@pytest_asyncio.fixture
async def clients(log_in, people):
    return [await log_in(person) for person in people]


async def status(client, user):
    return (await client.get(f"/users/{user.user_id}/status"))["status"]


async def test_a_status_is_a_text_and_an_emoji(clients, people):
    alice, bob = clients
    assert await status(bob, people[0]) == {}
    await alice.post("/users/me/status", status_text="  In a meeting ")
    assert await status(bob, people[0]) == {"status_text": "In a meeting"}
    await alice.post("/users/me/status", emoji_name="car")
    shown = {
        "status_text": "In a meeting",
        "emoji_name": "car",
        "emoji_code": "1f697",
        "reaction_type": "unicode_emoji",
    }
    assert await status(bob, people[0]) == shown
    state = await bob.post("/register", fetch_event_types=["user_status"])
    assert state["user_status"] == {str(people[0].user_id): shown}
    await alice.post("/users/me/status", status_text="", emoji_name="")
    assert await status(alice, people[0]) == {}
    state = await bob.post("/register", fetch_event_types=["user_status"])
    assert state["user_status"] == {}


async def test_a_picker_may_have_names_of_its_own(clients, people):
    fields = {
        "emoji_name": "automobile",
        "emoji_code": "1f697",
        "reaction_type": "unicode_emoji",
    }
    await clients[0].post("/users/me/status", **fields)
    assert await status(clients[1], people[0]) == fields
    await clients[0].post("/users/me/status", emoji_name="zulip")
    assert (await status(clients[1], people[0]))["reaction_type"] == "zulip_extra_emoji"


async def test_the_others_are_told(clients, people):
    queue = await clients[1].register(event_types=["user_status"])
    await clients[0].post("/users/me/status", status_text="Back soon", emoji_name="car")
    event = await queue.until("user_status")
    assert (event["user_id"], event["status_text"]) == (people[0].user_id, "Back soon")
    assert event["emoji_code"] == "1f697"
    assert "away" not in event
    await clients[0].post("/users/me/status", emoji_name="")
    event = await queue.until("user_status")
    assert "status_text" not in event
    assert (event["emoji_name"], event["emoji_code"], event["reaction_type"]) == ("", "", "")


async def test_being_away_is_a_setting(clients, people):
    queue = await clients[1].register(event_types=["user_status"])
    await clients[0].post("/users/me/status", away=True)
    assert (await queue.until("user_status"))["away"] is True
    assert await status(clients[1], people[0]) == {"away": True}
    state = await clients[0].post("/register", fetch_event_types=["user_settings"])
    assert state["user_settings"]["presence_enabled"] is False
    await clients[0].post("/users/me/status", away=False)
    assert (await queue.until("user_status"))["away"] is False
    assert await status(clients[1], people[0]) == {}


async def test_what_is_wrong_changes_nothing(clients, people):
    await clients[0].post("/users/me/status", status_text="Fine")
    for fields in (
        {},
        {"status_text": "x" * 61},
        {"status_text": "x" * 61, "away": True},
        {"status_text": "New", "emoji_name": "no_such_emoji"},
        {"status_text": "New", "emoji_code": "1f697"},
        {"status_text": "New", "reaction_type": "unicode_emoji"},
        {"status_text": "New", "emoji_name": "car", "emoji_code": "nonsense"},
        {"status_text": "New", "emoji_name": "car", "reaction_type": "nonsense"},
        {"status_text": "New", "emoji_name": "A B", "emoji_code": "1f697"},
        {"away": True, "emoji_name": "no_such_emoji"},
    ):
        (await clients[0].call("POST", "/users/me/status", **fields)).refused("BAD_REQUEST")
    for name, value in (("away", "perhaps"), ("away", "1"), ("status_text", "a\0b")):
        answer = await clients[0].call("POST", "/users/me/status", **{name: value})
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name
    assert await status(clients[1], people[0]) == {"status_text": "Fine"}


async def test_sixty_characters_fit_whatever_they_are(clients, people):
    text = "🚗" * 60
    await clients[0].post("/users/me/status", status_text=text)
    assert await status(clients[1], people[0]) == {"status_text": text}


async def test_bots_say_nothing_of_themselves(log_in, make, clients):
    bot_row = await make.user(bot_type=1)
    bot = await log_in(bot_row)
    (await bot.call("POST", "/users/me/status", status_text="Beep")).refused("BAD_REQUEST")
    answer = await clients[0].call("GET", f"/users/{bot_row.user_id}/status")
    answer.refused("BAD_REQUEST")


async def test_administrators_change_what_others_say(log_in, make, clients, people):
    admin = await log_in(role=ADMINISTRATOR)
    path = f"/users/{people[0].user_id}/status"
    await clients[0].post("/users/me/status", status_text="Rude", emoji_name="car")
    await admin.post(path, status_text="Polite")
    assert (await status(clients[1], people[0]))["status_text"] == "Polite"
    await admin.post(path, status_text="", emoji_name="")
    assert await status(clients[1], people[0]) == {}
    for client in clients:
        answer = await client.call("POST", path, status_text="x")
        answer.refused("BAD_REQUEST")
    for user_id in (0, 10**9, (await make.user(is_active=False)).user_id):
        answer = await admin.call("POST", f"/users/{user_id}/status", status_text="x")
        answer.refused("BAD_REQUEST")
    (await admin.call("POST", path)).refused("BAD_REQUEST")
    answer = await admin.post(path, status_text="x", away=True)
    assert answer["ignored_parameters_unsupported"] == ["away"]
    assert "away" not in await status(clients[1], people[0])


async def test_of_whom_one_may_not_know_one_learns_nothing(log_in, make, server, clients, people):
    guest_row = await make.user(role=GUEST)
    await make.change_settings(can_access_all_users_group="role:members")
    await make.channel("meeting", subscribers=[people[1], guest_row])
    server.forget(make.realm_id)
    guest = await log_in(guest_row)
    for client in clients:
        await client.post("/users/me/status", status_text="Hello")
    assert await status(guest, people[1]) == {"status_text": "Hello"}
    (await guest.call("GET", f"/users/{people[0].user_id}/status")).refused("BAD_REQUEST")
    state = await guest.post("/register", fetch_event_types=["user_status"])
    assert state["user_status"] == {str(people[1].user_id): {"status_text": "Hello"}}

    stranger = await (await new_realm(make.connection)).user()
    answer = await clients[0].call("GET", f"/users/{stranger.user_id}/status")
    answer.refused("BAD_REQUEST")
