"""Parameters that select what a request acts on are refused where they mean nothing."""

import re

import pytest

from server.api.endpoint import Access
from server.api.params import readers
from server.api.routes import ROUTES
from server.api.selecting_params import SELECTING
from server.domain.access import ADMINISTRATOR
from server.domain.bots import GENERIC
from testkit.oracles import contract

pytestmark = pytest.mark.asyncio

IGNORED = {
    "PATCH /streams/{} stream_post_policy": "a setting until level 332",
}
"""Other parameters of the contract that endpoints ignore, and why that changes something else."""


UNNAMED = ("multipart", "path")
"""Where parameters are that have no names of their own."""
NULL = "null"
"""The client sends text as it is."""
OF_NO_ENDPOINT = {
    *("emails", "skip_if_already_edited"),
    *("channel", "channel_id", "channel_name", "stream_name", "streams", "topics", "users"),
}
"""Selecting names that are taken for those of the protocol, or are within another parameter."""


def names_of(endpoint):
    return {name for reader in readers(endpoint.params) for name in reader.names}


def without_names(path):
    return re.sub(r"\{[^}]*\}", "{}", path)


@pytest.mark.parametrize("name", sorted(SELECTING))
async def test_each_is_refused_by_name(log_in, name):
    boss = await log_in(role=ADMINISTRATOR)
    before = (await boss.post("/register"))["user_settings"]
    for method, path, fields in (
        ("GET", "/users/me", {}),
        ("POST", "/mark_all_as_read", {}),
        ("PATCH", "/settings/display", {"enter_sends": not before["enter_sends"]}),
    ):
        endpoint = next(each for each in ROUTES if (each.method, each.path) == (method, path))
        if name not in names_of(endpoint):
            answer = await boss.call(method, path, **fields, **{name: [1]})
            assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name
            assert (await boss.post("/register"))["user_settings"] == before


async def test_all_others_are_listed(log_in):
    boss = await log_in(role=ADMINISTRATOR)
    answer = await boss.get("/users/me", dense_mode=True, unheard_of=1)
    assert set(answer["ignored_parameters_unsupported"]) == {"dense_mode", "unheard_of"}


async def test_only_some_of_the_selected_is_not_all_of_it(log_in, make):
    cook, boss = await log_in(), await log_in(role=ADMINISTRATOR)
    channel_id = (await make.channel("kitchen", subscribers=[cook.user])).channel_id
    sent = await cook.post("/messages", type="channel", to="kitchen", topic="a", content="soup")
    message_id = sent["id"]
    later = {"message_id": message_id, "scheduled_delivery_timestamp": 4_000_000_000}
    for client, method, path, fields, name in (
        (cook, "POST", "/mark_all_as_read", {"stream": "kitchen"}, "stream"),
        (cook, "DELETE", "/users/me", {"email": "someone@example.com"}, "email"),
        (cook, "DELETE", "/users/me", {"user_id": boss.user.user_id}, "user_id"),
        (cook, "POST", "/reminders", {"to": [boss.user.user_id], **later}, "to"),
        (cook, "POST", "/invites/multiuse", {"invitee_emails": "a@example.com"}, "invitee_emails"),
        (
            boss,
            "DELETE",
            "/users/me/subscriptions",
            {"subscriptions": ["kitchen"], "emails": ["a@example.com"]},
            "emails",
        ),
        (
            boss,
            "PATCH",
            "/messages",
            {"message_ids": [message_id], "topic": "b", "propagate_mode": "change_all"},
            "propagate_mode",
        ),
        (boss, "PATCH", "/messages", {"message_ids": [message_id], "anchor": 1}, "anchor"),
        (boss, "POST", "/reminders", {"num_before": 5, **later}, "num_before"),
        (boss, "PATCH", f"/streams/{channel_id}", {"group_name": "staff"}, "group_name"),
    ):
        answer = await client.call(method, path, **fields)
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name, (path, name)


async def test_what_the_path_contains_is_not_contradicted(log_in, make):
    boss, cook, other = await log_in(role=ADMINISTRATOR), await log_in(), await log_in()
    path, its = f"/users/{cook.user.user_id}", cook.user.user_id
    refused = await boss.call("PATCH", path, user_id=other.user.user_id, full_name="New Name")
    assert refused.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "user_id"
    refused = await boss.call("PATCH", path, user_id="me", full_name="New Name")
    assert refused.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "user_id"
    answer = await boss.patch(path, user_id=its, full_name="New Name")
    assert "ignored_parameters_unsupported" not in answer
    assert (await boss.get(path))["user"]["full_name"] == "New Name"


async def test_null_selects_nothing(log_in, make):
    boss, bot = await log_in(role=ADMINISTRATOR), await log_in(await make.user(bot_type=GENERIC))
    await make.channel("kitchen", subscribers=[boss.user])
    await bot.call("PUT", "/bot_storage", storage={"a": "1"})
    for client, method, path, fields, name in (
        (boss, "PATCH", "/settings", {"enter_sends": True}, "target_users"),
        (boss, "DELETE", "/users/me/subscriptions", {"subscriptions": ["kitchen"]}, "principals"),
        (boss, "DELETE", f"/users/{bot.user.user_id}", {}, "actions"),
        (boss, "GET", "/users", {}, "user_ids"),
        (bot, "DELETE", "/bot_storage", {}, "keys"),
    ):
        answer = await client.call(method, path, **fields, **{name: NULL})
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name, (path, name)
    assert (await boss.post("/register"))["user_settings"]["enter_sends"] is False
    assert (await bot.get("/bot_storage"))["storage"] == {"a": "1"}


async def test_clients_send_the_paths_objects_along(log_in, make):
    boss = await log_in(role=ADMINISTRATOR)
    channel_id = (await make.channel("kitchen", subscribers=[boss.user])).channel_id
    answer = await boss.get(f"/streams/{channel_id}/members", stream="kitchen")
    assert answer["ignored_parameters_unsupported"] == ["stream"]
    group_id = await make.group(creator=boss.user)
    answer = await boss.patch(f"/user_groups/{group_id}", group_id=group_id, description="All")
    assert answer["ignored_parameters_unsupported"] == ["group_id"]
    refused = await boss.call("PATCH", f"/user_groups/{group_id}", group_id=1, description="Some")
    assert refused.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "group_id"


async def test_services_may_name_their_fields_so(make, log_in):
    bot = await log_in(await make.user(bot_type=2, bot_owner=await make.user()))
    await make.channel("builds")
    fields = dict.fromkeys(SELECTING - {"stream", "topic"}, "1")
    await bot.post("/external/slack_incoming", stream="builds", payload='{"text": "x"}', **fields)


async def test_paths_select_by_themselves():
    ids: set[str] = set()
    for endpoint in ROUTES:
        in_path = set(re.findall(r"\{([^}]*)\}", endpoint.path))
        assert in_path <= names_of(endpoint), endpoint.path
        if endpoint.access is not Access.DIRECTORY:
            ids |= {name for name in in_path if name.endswith("_id")}
    assert ids - SELECTING == {"realm_id"}


async def test_the_list_has_each_of_the_contract_that_an_endpoint_lacks():
    ours = {(each.method, without_names(each.path)): each for each in ROUTES}
    there: set[str] = set()
    lacking: set[str] = set()
    for row in contract.table("endpoints").get("endpoints", []):
        method, path = row["method"], row["path"]
        parameters = {each["name"] for each in row["params"] if each["in"] not in UNNAMED}
        there.update(parameters)
        endpoint = ours.get((method, without_names(path)))
        if endpoint is None or endpoint.access is Access.WEBHOOK:
            continue
        missing = parameters - names_of(endpoint) - SELECTING
        lacking.update(f"{method} {without_names(path)} {name}" for name in missing)
    assert lacking <= set(IGNORED)
    known = there.union(*(names_of(each) for each in ROUTES))
    assert SELECTING - known == OF_NO_ENDPOINT
