"""The reference of the API: every operation is found, read and left, with a keyboard on a phone."""

import re
from html import unescape

import pytest

from server.web.reference import kind_of, read_reference
from testkit.clients.page_client import Visitor
from testkit.oracles import openapi

pytestmark = pytest.mark.asyncio

NAMES = sorted(
    operation["operationId"]
    for operations in openapi.document()["paths"].values()
    for operation in operations.values()
)


def links(page: str) -> set[str]:
    return {unescape(href) for href in re.findall(r'href="(/api/[^"]*)"', page)}


async def test_the_index_leads_to_every_operation(visitor):
    browser: Visitor = await visitor()
    assert (await browser.look("/api")).status == 200
    assert links(browser.page) == {f"/api/{name}" for name in NAMES} | {"/api/v1/openapi.json"}
    assert f"{len(NAMES)} operations by area" in browser.text


async def test_every_operation_has_a_page_that_says_everything(visitor):
    browser: Visitor = await visitor()
    for path, operations in openapi.document()["paths"].items():
        for method, facts in operations.items():
            answer = await browser.look(f"/api/{facts['operationId']}")
            assert answer.status == 200, facts["operationId"]
            assert facts["summary"] in browser.text
            assert f"{method.upper()} /api/v1{path}" in browser.text.replace("  ", " ")
            assert 'id="curl"' in browser.page
            assert "The answer:" in browser.text
            ids = set(re.findall(r'id="parameter-([^"]+)"', browser.page))
            assert {each["name"] for each in facts["parameters"]} <= ids
            fields = {each.name for each in read_reference().by_name[facts["operationId"]].answer}
            assert fields <= {*re.findall(r"<code>([a-z0-9_]+)</code>", browser.page)}


async def test_pages_need_no_script_and_nothing_of_other_sites(visitor):
    browser: Visitor = await visitor()
    for path in ("/api", "/api?q=message", "/api/messages_send_message"):
        answer = await browser.look(path)
        assert "<script" not in browser.page
        assert not re.search(r'(?:src|action)="(?:https?:)?//', browser.page)
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("send a message", "messages_send_message"),
        ("SEND  message", "messages_send_message"),
        ("/users/me/alert_words post", "alert_words_add"),
        ("propagate_mode", "message_changes_change"),
        ("mark all read", "message_flags_mark_all_as_read"),
    ],
)
async def test_a_search_finds_what_is_meant_first(visitor, query, first):
    browser: Visitor = await visitor()
    await browser.look(f"/api?q={query}")
    found = re.findall(r'href="/api/([a-z_]+)"', browser.page)
    assert found[0] == first


@pytest.mark.parametrize("query", ["<b>", "nothing-like-this", "ß" * 500, '"onload="x'])
async def test_a_search_without_a_result_says_so(visitor, query):
    browser: Visitor = await visitor()
    assert (await browser.look(f"/api?q={query}")).status == 200
    assert "0 operations found" in browser.text
    assert "<b></b>" not in browser.page


async def test_an_empty_search_is_the_index(visitor):
    browser: Visitor = await visitor()
    await browser.look("/api?q=+")
    assert "operations by area" in browser.text


@pytest.mark.parametrize("path", ["/api/no_such", "/api/v1", "/api/messages_send_message/x"])
async def test_there_is_no_other_page(visitor, path):
    assert (await (await visitor()).look(path)).status == 404


async def test_paths_of_the_api_stay_with_the_api(visitor):
    browser: Visitor = await visitor()
    for path in ("/api/v1/no_such", "/api/v1/"):
        answer = await browser.look(path)
        assert (answer.status, answer.headers["Content-Type"]) == (404, "application/json")


async def test_who_has_signed_in_gets_commands_to_copy(visitor, ada, make, server):
    browser: Visitor = await visitor()
    await browser.look("/api")
    assert "email=you@example.com" in browser.page
    await browser.sign_in(ada.email, "correct horse battery")
    await browser.look("/api")
    url = (await server.app.realm_caches.of(make.realm_id).address()).url
    assert f"site={url}\nemail={ada.email}\nkey=YOUR-API-KEY" in browser.page
    assert ada.api_key not in browser.page
    await browser.look("/")
    assert 'href="/api"' in browser.page


async def test_the_server_has_the_pages_where_there_is_no_organization(server):
    from testkit.clients.api import Client

    browser = Visitor(Client(server, "parley.test"))
    assert (await browser.look("/api")).status == 200
    assert "site=https://chat.example.com" in browser.page
    assert (await browser.look("/api/messages_send_message")).status == 200


async def test_fields_of_answers_are_listed_with_those_of_their_objects():
    answer = read_reference().by_name["messages_get_messages"].answer
    fields = {each.name: each for each in answer}
    assert {"result", "msg"}.isdisjoint(fields)
    assert fields["found_newest"].kind == "boolean"
    assert fields["messages"].kind == "list of objects"
    parts = {each.name: each for each in fields["messages"].parts}
    assert parts["id"].is_required
    assert not parts["stream_id"].is_required


async def test_types_are_in_words():
    integer, text = {"type": "integer"}, {"type": "string"}
    many = {"type": "array", "items": {"anyOf": [text, {"type": "array", "items": integer}]}}
    assert kind_of(many) == "list of strings or lists"
    assert kind_of({"anyOf": [{"$ref": "#/x/Y"}, {"type": "null"}]}) == "object or null"
    assert kind_of({"enum": ["add", "remove"]}) == "`add` or `remove`"
    assert kind_of({}) == "any JSON"
    kinds = {p.kind for each in read_reference().by_name.values() for p in each.parameters}
    assert "any JSON" not in kinds
