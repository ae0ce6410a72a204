"""Custom profile fields over HTTP, and what people say in them."""

import json
from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

CHOICES = {"t": {"text": "Tea", "order": "1"}, "c": {"text": "Coffee", "order": "2"}}
OFTEN = {
    "hint": "",
    "field_data": "",
    "required": False,
    "editable_by_user": True,
    "display_in_profile_summary": False,
    "use_for_user_matching": False,
}


@pytest_asyncio.fixture
async def boss(log_in):
    return await log_in(role=ADMINISTRATOR)


@pytest_asyncio.fixture
async def add(boss):
    """Make a field; its id."""

    async def add(name, field_type=1, **facts):
        made = await boss.post("/realm/profile_fields", name=name, field_type=field_type, **facts)
        return made["id"]

    return add


async def listed(client):
    return (await client.get("/realm/profile_fields"))["custom_fields"]


async def profile(client, user):
    found = await client.get(f"/users/{user.user_id}", include_custom_profile_fields=True)
    return {f: each["value"] for f, each in found["user"]["profile_data"].items()}


async def test_they_are_made_changed_ordered_and_removed(boss, log_in):
    member = await log_in(role=GUEST)
    queue = await member.register(event_types=["custom_profile_fields"])
    path = "/realm/profile_fields"
    first = (await boss.post(path, name="Team", field_type=1, hint="Which?"))["id"]
    second = (
        await boss.post(
            path,
            name="Drink",
            field_type=3,
            field_data=CHOICES,
            required=True,
            editable_by_user=False,
            display_in_profile_summary=True,
        )
    )["id"]
    await boss.patch(path, order=[second, first])
    await boss.patch(f"{path}/{first}", name="Crew", required=True)

    fields = await listed(member)
    assert fields == [
        {
            "id": second,
            "type": 3,
            "name": "Drink",
            "hint": "",
            "field_data": fields[0]["field_data"],
            "order": 1,
            "required": True,
            "editable_by_user": False,
            "display_in_profile_summary": True,
            "use_for_user_matching": False,
        },
        OFTEN
        | {"id": first, "type": 1, "name": "Crew", "hint": "Which?", "order": 2}
        | {"required": True},
    ]
    assert json.loads(fields[0]["field_data"]) == CHOICES
    state = (await member.register(fetch_event_types=["custom_profile_fields"])).state
    assert state["custom_profile_fields"] == fields
    told = [await queue.until("custom_profile_fields") for _ in range(4)]
    assert told[-1]["fields"] == fields

    await boss.delete(f"{path}/{second}")
    assert [each["id"] for each in await listed(member)] == [first]


async def test_each_type_takes_its_own_answers(boss, log_in, add):
    cook, baker = await log_in(), await log_in()
    account = {"subtype": "custom", "url_pattern": "https://example.com/~%(username)s"}
    answers = [
        (await add("Short", 1), "*short*"),
        (await add("Long", 2), "- a\n- b"),
        (await add("Choice", 3, field_data=CHOICES), "c"),
        (await add("Day", 4), "1990-12-31"),
        (await add("Page", 5), "https://example.com/"),
        (await add("Friends", 6), [baker.user.user_id, boss.user.user_id]),
        (await add("Account", 7, field_data=account), "ada"),
        (await add("Pronouns", 8), "they/them"),
        (await add("", 7, field_data={"subtype": "github"}), "ada"),
    ]
    queue = await baker.register(event_types=["realm_user"])
    data = [{"id": field_id, "value": value} for field_id, value in answers]

    await cook.patch("/users/me/profile_data", data=data)

    expected = {
        str(f): v if isinstance(v, str) else json.dumps(v, separators=(",", ":"))
        for f, v in answers
    }
    assert await profile(baker, cook.user) == expected
    own = (await cook.get("/users/me"))["profile_data"]
    assert own[str(answers[0][0])]["rendered_value"] == "<p><em>short</em></p>"
    assert "<li>a</li>" in own[str(answers[1][0])]["rendered_value"]
    assert [f for f in own if "rendered_value" in own[f]] == [str(f) for f, _ in answers[:2]]
    state = (await baker.register(fetch_event_types=["realm_user"])).state
    [shown] = [u for u in state["realm_users"] if u["user_id"] == cook.user.user_id]
    assert shown["profile_data"] == own
    told = [(await queue.until("realm_user", "update"))["person"] for _ in answers]
    assert {str(p["custom_profile_field"]["id"]) for p in told} == expected.keys()

    await cook.delete("/users/me/profile_data", data=[f for f, _ in answers[1:]])
    assert await profile(baker, cook.user) == {str(answers[0][0]): "*short*"}
    gone = (await queue.until("realm_user", "update"))["person"]["custom_profile_field"]
    assert gone == {"id": answers[1][0], "value": None}


async def test_what_cannot_be_asked_is_refused_by_name(boss, add):
    kept = await add("Team")
    for wrong, name in (
        ({"name": "Team", "field_type": 1}, "name"),
        ({"name": "", "field_type": 1}, "name"),
        ({"name": "x", "field_type": 12}, "field_type"),
        ({"name": "x", "field_type": 3}, "field_data"),
        ({"name": "x", "field_type": 3, "field_data": []}, "field_data"),
        ({"name": "x", "field_type": 1, "hint": "x" * 81}, "hint"),
    ):
        answer = await boss.call("POST", "/realm/profile_fields", **wrong)
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name
    (await boss.call("POST", "/realm/profile_fields", name="x")).refused("REQUEST_VARIABLE_MISSING")
    (await boss.call("PATCH", "/realm/profile_fields", order=[kept, kept])).refused(
        "REQUEST_VARIABLE_INVALID"
    )
    for method in ("PATCH", "DELETE"):
        (await boss.call(method, "/realm/profile_fields/999999999")).refused()


async def test_what_is_no_answer_is_refused(boss, add):
    day, people = await add("Day", 4), await add("Friends", 6)
    for field_id, value in (
        (day, "tomorrow"),
        (day, [1]),
        (people, "1"),
        (people, [999999999]),
        (999999999, "x"),
    ):
        data = [{"id": field_id, "value": value}]
        (await boss.call("PATCH", "/users/me/profile_data", data=data)).refused()
    nonsense: list[Any] = [[{"id": day, "value": 1}], [{"value": "x"}], [{"id": day}], {}]
    for data in nonsense:
        answer = await boss.call("PATCH", "/users/me/profile_data", data=data)
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "data"
    (await boss.call("DELETE", "/users/me/profile_data", data=[999999999])).refused()


async def test_fields_are_for_administrators_and_some_answers_too(boss, log_in, add, make):
    member, kept = await log_in(), await add("Team", editable_by_user=False)
    for method, path, fields in (
        ("POST", "/realm/profile_fields", {"name": "x", "field_type": 1}),
        ("PATCH", "/realm/profile_fields", {"order": [kept]}),
        ("PATCH", f"/realm/profile_fields/{kept}", {"name": "x"}),
        ("DELETE", f"/realm/profile_fields/{kept}", {}),
        ("PATCH", "/users/me/profile_data", {"data": [{"id": kept, "value": "x"}]}),
        ("DELETE", "/users/me/profile_data", {"data": [kept]}),
    ):
        (await member.call(method, path, **fields)).refused()
    bot = await log_in(await make.user(bot_type=1, bot_owner=boss.user, role=ADMINISTRATOR))
    answer = await bot.call("PATCH", "/users/me/profile_data", data=[{"id": kept, "value": "x"}])
    assert "bot" in answer.refused()["msg"]


async def test_another_organization_has_its_own(boss, make, connect, server, add):
    other = await new_realm(make.connection)
    stranger = await connect(server, other.realm_id, await other.user(role=ADMINISTRATOR))
    kept = await add("Team")

    assert await listed(stranger) == []
    data = [{"id": kept, "value": "x"}]
    for method in ("PATCH", "DELETE"):
        (await stranger.call(method, f"/realm/profile_fields/{kept}")).refused()
    (await stranger.call("PATCH", "/users/me/profile_data", data=data)).refused()
    assert len(await listed(boss)) == 1


async def test_register_forgets_with_the_field(boss, log_in, add):
    """Although no user row has changed, and the cached rows of people are as old as they are."""
    first, second = await add("One"), await add("Two")
    data = [{"id": first, "value": "a"}, {"id": second, "value": "b"}]
    await boss.patch("/users/me/profile_data", data=data)

    async def shown(client):
        state = (await client.register(fetch_event_types=["realm_user"])).state
        [own] = [u for u in state["realm_users"] if u["user_id"] == boss.user.user_id]
        return {f: each["value"] for f, each in own["profile_data"].items()}

    member = await log_in()
    for client in (boss, member):
        assert await shown(client) == {str(first): "a", str(second): "b"}
    await boss.delete(f"/realm/profile_fields/{first}")
    for client in (boss, member):
        assert await shown(client) == {str(second): "b"}


async def test_administrators_change_others(boss, log_in, add):
    cook, text = await log_in(), await add("Team", editable_by_user=False)
    watching = await log_in(role=GUEST)
    queue = await watching.register(event_types=["realm_user"])
    answers = [{"id": text, "value": "Blue"}]

    await boss.patch(
        f"/users/{cook.user.user_id}", full_name="Ann Lee", role=GUEST, profile_data=answers
    )

    told = [(await queue.until("realm_user", "update"))["person"] for _ in range(3)]
    assert [sorted({*each} - {"user_id"}) for each in told] == [
        ["full_name"],
        ["custom_profile_field"],
        ["role"],
    ]
    assert await profile(watching, cook.user) == {str(text): "Blue"}
    empty: list[Any] = [None, "", []]
    for nothing in empty:
        await boss.patch(f"/users/{cook.user.email}", profile_data=answers)
        await boss.patch(f"/users/{cook.user.email}", profile_data=[{"id": text, "value": nothing}])
        assert await profile(watching, cook.user) == {}
    found = (await watching.get(f"/users/{cook.user.user_id}"))["user"]
    assert (found["full_name"], found["role"]) == ("Ann Lee", GUEST)


async def test_what_cannot_be_changed_about_others(boss, log_in):
    cook = await log_in()
    path = f"/users/{cook.user.user_id}"
    (await boss.call("PATCH", path, new_email="new@example.com")).refused()
    (await boss.call("PATCH", path, role=7)).refused()
    (await boss.call("PATCH", "/users/999999999", full_name="Ann Lee")).refused()
    (await boss.call("PATCH", "/users/nobody@example.com", full_name="Ann Lee")).refused()
    (await cook.call("PATCH", path, full_name="Ann Lee")).refused()
