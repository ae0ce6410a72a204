"""PATCH /settings, and PATCH /realm/user_settings_defaults."""

import pytest

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR
from server.domain.bots import GENERIC
from testkit.clients.page_client import PASSWORD, give_password
from testkit.oracles import contract

pytestmark = pytest.mark.asyncio


def values(parameter):
    """Some that are allowed: all, where they are few."""
    if "enum" in parameter:
        return parameter["enum"]
    special = {
        "default_language": ["de", "en"],
        "full_name": ["Another Name"],
        "notification_sound": ["ding", "none", "zulip"],
        "timezone": ["Asia/Tokyo", ""],
    }
    kinds = {"boolean": [True, False], "integer": [20]}
    return special.get(parameter["name"]) or kinds[parameter["type"]]


BY_PROOF = {"email", "old_password", "new_password"}
FOR_OTHERS = {"target_users"}
"""Parameters that select the users of a change."""


async def test_every_parameter_takes_every_value_of_the_contract(log_in):
    cook = await log_in()
    queue = await cook.register(fetch_event_types=["user_settings"], event_types=[])
    settings = queue.state["user_settings"]
    for parameter in contract.parameters("PATCH", "/settings"):
        if (name := parameter["name"]) in BY_PROOF | FOR_OTHERS:
            continue
        for value in values(parameter):
            body = await cook.patch("/settings", **{name: value})
            assert "ignored_parameters_unsupported" not in body, name
        assert name == "full_name" or name in settings


async def test_every_default_takes_every_value_of_the_contract(log_in):
    boss = await log_in(role=ADMINISTRATOR)
    for parameter in contract.parameters("PATCH", "/realm/user_settings_defaults"):
        for value in values(parameter):
            body = await boss.patch("/realm/user_settings_defaults", **{parameter["name"]: value})
            assert "ignored_parameters_unsupported" not in body


async def test_what_is_changed_is_what_the_next_register_tells(log_in):
    cook = await log_in()
    queue = await cook.register(event_types=["user_settings"])

    await cook.patch("/settings", color_scheme=2, emojiset="text", web_home_view="recent")

    events = [await queue.until("user_settings") for _ in range(3)]
    changed = {"color_scheme": 2, "emojiset": "text", "web_home_view": "recent"}
    assert {e["property"]: e["value"] for e in events} == changed
    again = await cook.register(fetch_event_types=["user_settings"])
    assert changed.items() <= again.state["user_settings"].items()


@pytest.mark.parametrize("path", ["/settings/display", "/settings/notifications"])
async def test_the_old_paths_are_the_same(log_in, path):
    cook = await log_in()

    if path.endswith("display"):
        await cook.patch("/settings/display", color_scheme=2)
    else:
        await cook.patch("/settings/notifications", color_scheme=2)

    state = (await cook.register(fetch_event_types=["user_settings"])).state
    assert state["user_settings"]["color_scheme"] == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("color_scheme", "4"),
        ("color_scheme", '"dark"'),
        ("color_scheme", "null"),
        ("color_scheme", ""),
        ("enter_sends", "1"),
        ("enter_sends", "yes"),
        ("emojiset", "apple"),
        ("web_home_view", "nowhere"),
        ("default_language", "klingon"),
        ("notification_sound", "cowbell"),
        ("timezone", "Europe/Atlantis"),
        ("web_font_size_px", "1.5"),
        ("web_font_size_px", str(2**70)),
        ("email_notifications_batching_period_seconds", "-1"),
        ("email_address_visibility", "9"),
    ],
)
async def test_bad_values_are_refused_by_name(log_in, name, value):
    cook = await log_in()

    answer = await cook.call("PATCH", "/settings", high_contrast_mode=True, **{name: value})

    refused = answer.refused("REQUEST_VARIABLE_INVALID")
    assert refused["var_name"] == name
    state = (await cook.register(fetch_event_types=["user_settings"])).state
    assert state["user_settings"]["high_contrast_mode"] is False


async def test_nothing_is_also_something_that_one_may_ask(log_in):
    cook = await log_in()
    assert await cook.patch("/settings") == {"result": "success", "msg": ""}


async def test_what_was_removed_long_ago_is_ignored_and_said_so(log_in):
    body = await (await log_in()).patch("/settings", dense_mode=True, enter_sends=True)
    assert body["ignored_parameters_unsupported"] == ["dense_mode"]


async def test_hours_may_be_as_the_language_has_them(log_in):
    cook = await log_in()

    await cook.patch("/settings", twenty_four_hour_time="null")

    state = (await cook.register(fetch_event_types=["user_settings"])).state
    assert state["user_settings"]["twenty_four_hour_time"] is None


async def test_a_password_is_changed_by_whom_knows_it(log_in, make, spectator):
    cook = await log_in()
    await give_password(make, cook.user)

    async def change(**fields):
        return await cook.call("PATCH", "/settings", **fields)

    missing = (await change(new_password="another secret")).refused("REQUEST_VARIABLE_MISSING")
    assert missing["var_name"] == "old_password"
    (await change(old_password="guess", new_password="another secret")).refused()
    (await change(old_password=PASSWORD, new_password="short")).refused()
    (await change(old_password=PASSWORD, new_password="another secret")).succeeded()

    someone = await spectator()
    body = await someone.post("/fetch_api_key", username=cook.user.email, password="another secret")
    assert body["api_key"] == cook.user.api_key


async def test_guessing_the_old_password_is_counted(serving_with, connect, make):
    async with serving_with(rate_limits=True) as server:
        row = await make.user()
        await give_password(make, row)
        cook = await connect(server, make.realm_id, row)

        async def guess():
            fields = {"old_password": "guess", "new_password": "another secret"}
            return await cook.call("PATCH", "/settings", **fields)

        for _ in range(5):
            (await guess()).refused()
        (await guess()).refused("RATE_LIMIT_HIT", 429)


async def test_another_address_is_not_taken_without_proof(log_in, make):
    cook, other = await log_in(), await make.user(email="Other@example.com")

    for address in ("new@example.com", "no address", other.email.lower()):
        (await cook.call("PATCH", "/settings", email=address)).refused()
    await cook.patch("/settings", email=cook.user.email.upper())

    state = (await cook.register(fetch_event_types=["realm_user"])).state
    assert state["delivery_email"] == cook.user.email


async def test_bots_keep_the_address_that_they_were_given(log_in, make):
    bot = await log_in(await make.user(bot_type=GENERIC, bot_owner=await make.user()))
    for address in ("ada@example.com", bot.user.email):
        refused = (await bot.call("PATCH", "/settings", email=address, full_name="Ada")).refused()
        assert refused["msg"] == "This endpoint does not accept bot requests."
    assert (await bot.get("/users/me"))["full_name"] == bot.user.full_name
    await bot.patch("/settings", full_name="Oven")


@pytest.mark.parametrize("role", [MODERATOR, MEMBER, GUEST])
async def test_defaults_are_for_administrators(log_in, role):
    answer = await (await log_in(role=role)).call(
        "PATCH", "/realm/user_settings_defaults", color_scheme=2
    )
    answer.refused()


@pytest.mark.parametrize(
    ("name", "value"),
    [("color_scheme", "0"), ("twenty_four_hour_time", "null"), ("notification_sound", "moo")],
)
async def test_bad_defaults_are_refused(log_in, name, value):
    boss = await log_in(role=ADMINISTRATOR)
    answer = await boss.call("PATCH", "/realm/user_settings_defaults", **{name: value})
    assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name


async def test_an_organization_does_not_choose_what_is_ones_own(log_in):
    boss = await log_in(role=ADMINISTRATOR)
    body = await boss.patch("/realm/user_settings_defaults", default_language="de")
    assert body["ignored_parameters_unsupported"] == ["default_language"]


async def test_spectators_have_no_settings(spectator):
    answer = await (await spectator()).call("PATCH", "/settings", color_scheme=2)
    answer.refused("UNAUTHORIZED", 401)
