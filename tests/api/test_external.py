"""Incoming webhooks: programs write to channels, and to the owners of their bots."""

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio

from server.api.endpoint import Access
from server.api.routes import ROUTES
from server.domain.access import OWNER
from server.domain.addresses import API_PREFIX
from server.integrations.registry import integrations
from storage import users
from storage.channels import ChannelRow
from testkit.clients.api import Client
from testkit.clients.api_keys import new_key
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

SLACK, JSON = "/external/slack_incoming", "/external/json"
MAX_LINE = 65_536
"""What is longer is no request at all."""
JSON_TYPE = {"Content-Type": "application/json"}


@dataclass
class Hook:
    """A webhook of the member's, who is in `kitchen`."""

    member: Client
    bot: dict[str, Any]
    channel: ChannelRow
    stranger: Client

    async def __call__(self, path, payload, *, raw=None, headers=JSON_TYPE, **query):
        query = {"api_key": self.bot["api_key"], "stream": "kitchen", **query}
        given = urlencode({name: value for name, value in query.items() if value is not None})
        body = raw if raw is not None else json.dumps(payload).encode()
        return await self.stranger.send("POST", f"{path}?{given}", body=body, headers=headers)


@pytest_asyncio.fixture
async def hook(log_in, make, connect, server):
    member = await log_in()
    await make.notification_bot()
    channel = await make.channel("kitchen", subscribers=[member.user])
    made = await member.post("/bots", full_name="CI", short_name="ci", bot_type=2)
    return Hook(member, made, channel, await connect(server, make.realm_id))


UNAUTHORIZED = 401
CLOSED = {Access.SPECTATOR, Access.USER, Access.ADMIN}


async def newest(client):
    page = await client.get(
        "/messages", anchor="newest", num_before=1, num_after=0, apply_markdown=False
    )
    return page["messages"][-1]


async def test_each_webhook_of_which_clients_are_told_has_its_address(hook):
    told = (await hook.member.post("/register"))["realm_incoming_webhook_bots"]
    names = [each["name"] for each in told]
    assert names == ["slack_incoming", "json", *integrations()]
    for each in told[:2]:
        assert each["display_name"]
        (await hook(f"/external/{each['name']}", {"text": each["name"]})).succeeded()
        assert each["name"] in (await newest(hook.member))["content"]


async def test_what_is_meant_for_slack_is_a_message(hook):
    answer = await hook(SLACK, {"text": "*Done*", "channel": "#builds"})
    assert answer.succeeded()["ok"] is True
    message = await newest(hook.member)
    assert (message["content"], message["subject"]) == ("**Done**", "builds")
    assert (message["sender_id"], message["display_recipient"]) == (
        hook.bot["user_id"],
        "kitchen",
    )


@pytest.mark.parametrize("by", ["name", "id"])
async def test_the_address_says_where_it_goes(hook, by):
    stream = "kitchen" if by == "name" else hook.channel.channel_id
    answer = await hook(SLACK, {"text": "x", "channel": "#builds"}, topic="deploys", stream=stream)
    answer.succeeded()
    assert (await newest(hook.member))["subject"] == "deploys"


async def test_forms_as_slack_has_them_are_taken(hook):
    raw = urlencode({"payload": json.dumps({"text": "from a form"})}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    (await hook(SLACK, None, raw=raw, headers=headers)).succeeded()
    message = await newest(hook.member)
    assert (message["content"], message["subject"]) == ("from a form", "Slack")


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", ""])
async def test_json_is_taken_whatever_it_is_called(hook, kind):
    headers = {"Content-Type": kind}
    (await hook(SLACK, {"text": "a=b&c"}, headers=headers)).succeeded()
    assert (await newest(hook.member))["content"] == "a=b&c"


async def test_without_a_channel_the_owner_is_written_to(hook):
    (await hook(SLACK, {"text": "psst"}, stream=None)).succeeded()
    message = await newest(hook.member)
    assert (message["type"], message["content"]) == ("private", "psst")


async def test_plain_json_is_shown_as_it_is(hook):
    payload = {"b": [1, 2], "a": "```\n*x*"}
    (await hook(JSON, payload)).succeeded()
    message = await newest(hook.member)
    fence, *lines, end = message["content"].split("\n")
    assert (fence, end) == ("````json", "````")
    assert json.loads("\n".join(lines)) == payload
    assert message["subject"] == "JSON"


@pytest.mark.parametrize("path", [SLACK, JSON])
async def test_what_is_too_long_is_cut(hook, path):
    (await hook(path, {"text": "x" * 50_000}, topic="t" * 100)).succeeded()
    message = await newest(hook.member)
    assert 9_000 < len(message["content"]) <= 10_000
    assert "[message cut]" in message["content"]
    assert message["subject"] == "t" * 60


@pytest.mark.parametrize(
    ("path", "raw", "code"),
    [
        (SLACK, b"", "ANOMALOUS_WEBHOOK_PAYLOAD"),
        (SLACK, b"{}", "ANOMALOUS_WEBHOOK_PAYLOAD"),
        (SLACK, b"[1]", "ANOMALOUS_WEBHOOK_PAYLOAD"),
        (SLACK, b'{"text": "   "}', "BAD_REQUEST"),
        (SLACK, b"{", "INVALID_JSON"),
        (JSON, b"", "ANOMALOUS_WEBHOOK_PAYLOAD"),
        (JSON, b"nonsense", "INVALID_JSON"),
        (JSON, b"\xff", "INVALID_JSON"),
        (JSON, b"[" * 600 + b"]" * 600, "INVALID_JSON"),
        (JSON, b"[" * 100_000, "INVALID_JSON"),
    ],
)
async def test_what_says_nothing_is_refused(hook, path, raw, code):
    (await hook(path, None, raw=raw)).refused(code)


async def test_null_characters_are_left_out(hook):
    (await hook(SLACK, {"text": "a\0b"})).succeeded()
    assert (await newest(hook.member))["content"] == "ab"


async def test_the_owner_is_told_once_where_it_cannot_go(hook):
    for _ in range(3):
        (await hook(SLACK, {"text": "x"}, stream="nowhere")).refused("STREAM_DOES_NOT_EXIST")
    page = await hook.member.get("/messages", anchor="newest", num_before=10, num_after=0)
    [told] = page["messages"]
    assert told["sender_full_name"] != "CI"
    assert "nowhere" in told["content"]


async def test_private_channels_are_closed_to_bots_of_others(hook, make):
    secret = await make.channel("secret", invite_only=True)
    answer = await hook(SLACK, {"text": "x"}, stream=secret.name)
    answer.refused("STREAM_DOES_NOT_EXIST")


@pytest.mark.parametrize("key", [None, "", "x" * 32, "ply_" + "x" * 40, "x" * 100_000, "\0"])
async def test_without_a_right_key_nothing_is_posted(hook, key):
    answer = await hook(SLACK, {"text": "x"}, api_key=key)
    assert answer.status == (431 if len(key or "") > MAX_LINE else 401), answer.content


async def test_a_key_opens_its_own_organization(hook, make, connect, server):
    elsewhere = await new_realm(make.connection)
    await elsewhere.channel("kitchen")
    stranger = await connect(server, elsewhere.realm_id)
    query = urlencode({"api_key": hook.bot["api_key"], "stream": "kitchen"})
    for answer in (
        await stranger.send("POST", f"/external/slack_incoming?{query}", body=b"{}"),
        await stranger.send("POST", f"/external/json?{query}", body=b"{}"),
    ):
        answer.refused("INVALID_API_KEY", 401)


async def test_a_service_that_checks_the_address_gets_its_challenge(hook):
    query = urlencode({"api_key": hook.bot["api_key"], "challenge": "<b>ä"})
    answer = await hook.stranger.send("GET", f"/external/dropbox?{query}")
    assert (answer.status, answer.content.decode()) == (200, "<b>ä")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    unknown = await hook.stranger.send("GET", f"/external/unheard_of?{query}")
    unknown.refused("BAD_REQUEST", 404)
    missing = await hook.stranger.send("GET", "/external/dropbox?challenge=x")
    missing.refused("UNAUTHORIZED", 401)


async def test_the_bot_of_a_webhook_may_write_and_nothing_else(hook, make, log_in):
    [row] = [r for r in await bots_of(make) if r.user_id == hook.bot["user_id"]]
    bot = await log_in(row)
    await bot.post("/messages", type="channel", to="kitchen", topic="t", content="x")
    for endpoint in ROUTES:
        if endpoint.access in CLOSED and not endpoint.takes_webhook_bots:
            path = re.sub(r"{\w+}", "1", endpoint.path)
            prefix = "" if endpoint.at_root else API_PREFIX
            answer = await bot.send(endpoint.method, path, prefix=prefix)
            assert answer.status == UNAUTHORIZED, (endpoint.method, endpoint.path)
            if endpoint.method != "HEAD":
                assert "webhook bots" in answer.refused("UNAUTHORIZED", UNAUTHORIZED)["msg"]


async def bots_of(make):
    return await users.bots(make.connection, make.realm_id)


async def test_keys_of_programs_work_too_if_they_are_for_messages(hook):
    member = hook.member
    keys = [(await new_key(member, scope))["api_key"] for scope in ("messages", "read")]
    (await hook(SLACK, {"text": "by a key"}, api_key=keys[0])).succeeded()
    assert (await newest(member))["sender_id"] == member.user.user_id
    (await hook(SLACK, {"text": "x"}, api_key=keys[1])).refused()


async def test_a_closed_bot_and_a_closed_owner_post_nothing(hook, log_in):
    boss = await log_in(role=OWNER)
    await boss.delete(f"/users/{hook.member.user.user_id}")
    (await hook(SLACK, {"text": "x"})).refused("INVALID_API_KEY", 401)


async def test_a_key_that_was_replaced_posts_nothing(hook):
    (await hook(SLACK, {"text": "x"})).succeeded()
    path = f"/bots/{hook.bot['user_id']}/api_key/regenerate"
    new = (await hook.member.post(path))["api_key"]
    for _ in range(2):
        (await hook(SLACK, {"text": "x"})).refused("INVALID_API_KEY", 401)
        (await hook(SLACK, {"text": "x"}, api_key=new)).succeeded()
    await hook.member.delete(f"/bots/{hook.bot['user_id']}")
    (await hook(SLACK, {"text": "x"}, api_key=new)).refused("INVALID_API_KEY", 401)


async def test_the_key_is_in_no_log(hook, capfd):
    (await hook(SLACK, {"text": "x"})).succeeded()
    (await hook(SLACK, {"text": "x"}, stream="nowhere")).refused("STREAM_DOES_NOT_EXIST")
    (await hook(SLACK, None, raw=b"{")).refused("INVALID_JSON")
    written = capfd.readouterr()
    assert hook.bot["api_key"] not in written.out + written.err


# -- integrations

GITHUB = "/external/github"
STARRED: dict[str, Any] = {
    "action": "created",
    "sender": {"login": "ada"},
    "repository": {
        "name": "engine",
        "full_name": "ada/engine",
        "html_url": "https://example.com/e",
    },
}


def github(event="star", delivery="1", kind="application/json"):
    return {"Content-Type": kind, "X-GitHub-Event": event, "X-GitHub-Delivery": delivery}


async def test_what_a_service_sends_is_a_message(hook):
    (await hook(GITHUB, STARRED, headers=github())).succeeded()
    message = await newest(hook.member)
    assert message["subject"] == "engine"
    assert message["content"] == (
        "**ada** starred the repository [ada\\/engine](https://example.com/e)."
    )
    (await hook(GITHUB, STARRED, headers=github(delivery="2"), topic="stars")).succeeded()
    assert (await newest(hook.member))["subject"] == "stars"


async def test_services_that_send_forms_are_read_too(hook):
    raw = urlencode({"payload": json.dumps(STARRED)}).encode()
    headers = github(kind="application/x-www-form-urlencoded")
    (await hook(GITHUB, None, raw=raw, headers=headers)).succeeded()
    assert (await newest(hook.member))["subject"] == "engine"


async def test_a_repeated_delivery_is_posted_once(hook):
    for _ in range(2):
        (await hook(GITHUB, STARRED, headers=github())).succeeded()
    page = await hook.member.get("/messages", anchor="newest", num_before=9, num_after=0)
    assert [each["subject"] for each in page["messages"]].count("engine") == 1


@pytest.mark.parametrize(
    ("query", "is_posted"),
    [
        ({"only_events": '["star"]'}, True),
        ({"only_events": '["st*"]'}, True),
        ({"only_events": '["push"]'}, False),
        ({"only_events": "[]"}, False),
        ({"exclude_events": '["push"]'}, True),
        ({"exclude_events": '["s*r"]'}, False),
        ({"only_events": '["star"]', "exclude_events": '["star"]'}, False),
    ],
)
async def test_the_address_says_which_events_are_posted(hook, query, is_posted):
    answer = (await hook(GITHUB, STARRED, headers=github(), **query)).succeeded()
    assert bool(answer["msg"]) is not is_posted
    page = await hook.member.get("/messages", anchor="newest", num_before=9, num_after=0)
    assert ("engine" in [each["subject"] for each in page["messages"]]) is is_posted


async def test_private_repositories_may_be_left_out(hook):
    private = {**STARRED, "repository": {**STARRED["repository"], "private": True}}
    headers = github()
    answer = await hook(GITHUB, private, headers=headers, ignore_private_repositories="true")
    assert "private" in answer.succeeded()["msg"]


@pytest.mark.parametrize(
    ("query", "topic"),
    [
        ({}, "engine / PR #7 Analyse"),
        ({"map_pull_request_topics": "true"}, "engine / PR #7 Analyse"),
        ({"map_pull_request_topics": "false"}, "engine / pull requests"),
        ({"map_pull_request_topics": "false", "topic": "code"}, "code"),
    ],
)
async def test_pull_requests_of_a_repository_may_share_a_topic(hook, query, topic):
    pull = {"number": 7, "title": "Analyse", "head": {}, "base": {}}
    opened = {**STARRED, "action": "opened", "pull_request": pull}
    (await hook(GITHUB, opened, headers=github("pull_request"), **query)).succeeded()
    assert (await newest(hook.member))["subject"] == topic


async def test_a_parameter_of_the_address_is_checked(hook):
    answer = await hook(GITHUB, STARRED, headers=github(), map_pull_request_topics="perhaps")
    assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "map_pull_request_topics"


async def test_an_unknown_event_is_a_success_that_posts_nothing(hook, server):
    answer = await hook(GITHUB, STARRED, headers=github("from_the_future"))
    assert answer.succeeded()["msg"] == "Not posted: the event from_the_future is not known."
    (await hook(GITHUB, STARRED, headers={"Content-Type": "application/json"})).succeeded()


async def test_a_large_delivery_is_read_too(hook):
    large = {**STARRED, "padding": "x" * 100_000}
    (await hook(GITHUB, large, headers=github())).succeeded()
    assert (await newest(hook.member))["subject"] == "engine"


@pytest.mark.parametrize(
    "raw", [b"{", b"\xff", b"[]", b"null", b"[" * 100_000, b'{"repository": {"name": ""}}']
)
async def test_what_the_service_does_not_send_is_refused_and_the_owner_hears_of_it(hook, raw):
    for _ in range(2):
        answer = await hook(GITHUB, None, raw=raw, headers=github())
        assert "not what GitHub sends" in answer.refused("ANOMALOUS_WEBHOOK_PAYLOAD")["msg"]
    page = await hook.member.get(
        "/messages", anchor="newest", num_before=9, num_after=0, apply_markdown=False
    )
    notes = [each["content"] for each in page["messages"] if each["type"] == "private"]
    assert len(notes) == 1
    assert "not what GitHub sends" in notes[0]


@pytest.mark.parametrize("event_id", ["evt_1", "\0ä" * 5_000])
async def test_a_repeated_event_whose_id_is_in_its_body_is_posted_once(hook, event_id):
    event = {
        "id": event_id,
        "type": "customer.created",
        "data": {"object": {"id": "cus_1", "email": "ada@example.com"}},
    }
    for _ in range(2):
        (await hook("/external/stripe", event)).succeeded()
    page = await hook.member.get("/messages", anchor="newest", num_before=9, num_after=0)
    assert [each["subject"] for each in page["messages"]].count("Customer cus_1") == 1


@pytest.mark.parametrize("has_secret", [False, True])
async def test_a_service_that_checks_the_address_gets_its_header_back(hook, has_secret):
    if has_secret:
        path = f"/bots/{hook.bot['user_id']}/webhook_secret"
        (await hook.member.call("PUT", path, secret="a secret of it")).succeeded()
    headers = {"X-Hook-Secret": "b537207f20cbfa02357cf448134da559"}
    answer = await hook("/external/asana", None, raw=b"", headers=headers)
    answer.succeeded()
    assert answer.headers["X-Hook-Secret"] == headers["X-Hook-Secret"]
    for odd in ("a b", "x" * 201, "ä"):
        answer = await hook("/external/asana", None, raw=b"", headers={"X-Hook-Secret": odd})
        assert answer.status in (400, 401)
        assert "X-Hook-Secret" not in answer.headers
    answer = await hook(GITHUB, STARRED, headers={**github(), **headers})
    assert "X-Hook-Secret" not in answer.headers


async def test_a_service_that_checks_the_address_may_read_the_body(hook):
    body = {"type": "sync", "authorization": {"id": "cmp_1"}}
    answer = await hook("/external/front", body, headers={"X-Front-Challenge": "b537-20_7f"})
    assert answer.succeeded()["challenge"] == "b537-20_7f"
    assert "challenge" not in (await hook("/external/front", body)).succeeded()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_service_may_ask_whether_the_address_exists(hook, method):
    query = urlencode({"api_key": hook.bot["api_key"], "stream": "kitchen"})
    answer = await hook.stranger.send(method, f"/external/trello?{query}")
    assert (answer.status, answer.content) == (200, b"")


TEMPLATES = {
    "topic_template": "{repository.name} @**all**",
    "text_template": '**{who|default "?"}** pushed {commits.*.id|first 2|code}: {title}',
}
PUSHED = {
    "repository": {"name": "*engine*"},
    "commits": [{"id": "a1"}, {"id": "b2"}, {"id": "c3"}],
    "title": "@**all** *x*\n/poll",
}


@pytest.mark.parametrize("padding", ["", "x" * 100_000])
async def test_templates_say_which_fields_of_json_are_shown(hook, padding):
    (await hook(JSON, {**PUSHED, "padding": padding}, **TEMPLATES)).succeeded()
    message = await newest(hook.member)
    assert message["subject"] == "*engine* @**all**"
    assert message["content"] == r"**\?** pushed `a1`, `b2`: \@\*\*all\*\* \*x\* \/poll"
    (await hook(JSON, PUSHED, **TEMPLATES, topic="pushes")).succeeded()
    assert (await newest(hook.member))["subject"] == "pushes"
    (await hook(JSON, PUSHED, topic_template="{nothing}")).succeeded()
    message = await newest(hook.member)
    assert message["subject"] == "JSON"
    assert message["content"].startswith("```json")
    (await hook(JSON, {"a": "poll x"}, text_template="/{a}")).succeeded()
    assert (await newest(hook.member))["content"] == "\\/poll x"


@pytest.mark.parametrize("name", ["topic_template", "text_template"])
@pytest.mark.parametrize("template", ["{", "{}", "{a|loop}", "x" * 4_001])
async def test_a_template_that_is_not_valid_is_refused(hook, name, template):
    answer = (await hook(JSON, PUSHED, **{name: template})).refused("REQUEST_VARIABLE_INVALID")
    assert answer["var_name"] == name


async def test_a_template_that_makes_no_text_is_refused(hook):
    answer = await hook(JSON, PUSHED, text_template="{nothing}")
    assert "empty text" in answer.refused("ANOMALOUS_WEBHOOK_PAYLOAD")["msg"]


async def test_there_is_no_such_service(hook):
    answer = await hook("/external/teapot", STARRED)
    assert answer.status == 404


async def test_a_command_of_the_service_is_text(hook):
    commented = {
        **STARRED,
        "comment": {"body": "/poll @**all**", "html_url": "https://example.com/c"},
        "issue": {"number": 1, "title": "/me @**all**", "html_url": "https://example.com/i"},
    }
    (await hook(GITHUB, commented, headers=github("issue_comment"))).succeeded()
    message = await newest(hook.member)
    assert "wildcard_mentioned" not in message["flags"]
    assert "@\u2060**all**" in message["content"]


async def test_the_services_are_listed_with_the_steps_to_connect_them(hook):
    listed = (await hook.member.get("/integrations"))["integrations"]
    assert [each["name"] for each in listed] == list(integrations())
    [found] = [each for each in listed if each["name"] == "github"]
    assert any("{url}" in step for step in found["setup"])
    assert "star" in found["events"]
    assert {each["name"] for each in found["options"]} == {
        "branches",
        "ignore_private_repositories",
        "map_pull_request_topics",
    }
