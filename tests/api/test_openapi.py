"""GET /openapi.json: a valid description of all endpoints, and a true one.

That answers are as described is checked wherever tests ask for one (testkit/oracles/openapi.py).
"""

import json
import re
from typing import Any

import pytest
from openapi_spec_validator import validate

from server.api.endpoint import Access
from server.api.openapi import document_of
from server.api.routes import ROUTES
from server.domain.access import OWNER
from server.domain.addresses import API_PREFIX
from testkit.clients.api import Client
from testkit.oracles import openapi


def shape(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)


def test_the_document_is_valid():
    validate(openapi.document())


def test_every_endpoint_is_described_once():
    described = sorted(
        (method.upper(), shape(path))
        for path, operations in openapi.document()["paths"].items()
        for method in operations
    )
    assert described == sorted(
        {(route.method, shape(route.path)) for route in ROUTES if not route.at_root}
    )
    ids = [o["operationId"] for p in openapi.document()["paths"].values() for o in p.values()]
    assert len(set(ids)) == len(ids)


def test_what_needs_credentials_says_so():
    paths = {shape(path): operations for path, operations in openapi.document()["paths"].items()}
    for route in (each for each in ROUTES if not each.at_root):
        operation = paths[shape(route.path)][route.method.lower()]
        is_open = route.access in (Access.ANONYMOUS, Access.INTERNAL)
        assert (operation.get("security") == []) == is_open
        assert ("401" in operation["responses"]) != is_open


def test_all_codes_of_errors_are_named():
    codes = openapi.document()["components"]["schemas"]["Error"]["properties"]["code"]["enum"]
    assert {"BAD_REQUEST", "RATE_LIMIT_HIT", "INTERNAL_SERVER_ERROR", "UNAUTHORIZED"} <= {*codes}


def test_aliases_and_json_are_described():
    send = openapi.document()["paths"]["/messages"]["post"]["requestBody"]
    form = send["content"]["application/x-www-form-urlencoded"]
    assert send["required"]
    # A bot with a default channel may leave out where its message goes.
    assert {*form["schema"]["required"]} == {"type", "content"}
    assert "`default_sending_stream`" in form["schema"]["properties"]["to"]["description"]
    assert "`topic`" in form["schema"]["properties"]["subject"]["description"]
    topic = form["schema"]["properties"]["topic"]
    assert topic["type"] == "string"
    assert topic["description"]
    assert form["encoding"]["read_by_sender"] == {"contentType": "application/json"}
    assert "content" not in form["encoding"]


def test_every_operation_and_parameter_is_described():
    for path, operations in openapi.document()["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            [form] = [each["schema"] for each in content.values()] or [{}]
            texts = {each["name"]: each["description"] for each in operation["parameters"]}
            texts |= {n: v["description"] for n, v in form.get("properties", {}).items()}
            assert operation["summary"], (method, path)
            assert all(texts.values()), (method, path, texts)


def test_an_untrue_answer_would_be_found():
    envelope = {"result": "success", "msg": ""}
    openapi.validate("DELETE", "/events", 200, envelope)
    for untrue in ({**envelope, "more": 1}, {**envelope, "msg": "x"}, {"result": "success"}):
        with pytest.raises(AssertionError):
            openapi.validate("DELETE", "/events", 200, untrue)
    with pytest.raises(AssertionError):
        openapi.validate("GET", "/messages/5", 200, envelope)
    with pytest.raises(AssertionError):
        openapi.validate("GET", "/messages/5", 400, {"result": "error", "msg": "x", "code": "?"})


def test_an_untrue_state_or_event_would_be_found():
    queue = {"queue_id": "q", "last_event_id": -1, "idle_queue_timeout_secs": 600}
    versions = {
        f"{prefix}_{name}": 1 if name == "feature_level" else "1"
        for prefix in ("service", "zulip")
        for name in ("feature_level", "version", "merge_base")
    }
    state = {"result": "success", "msg": "", "position": 1, **queue, **versions}
    openapi.validate("POST", "/register", 200, {**state, "drafts": [], "alert_words": ["tea"]})
    fields: list[dict[str, Any]] = [{"drafts": {}}, {"more": 1}, {"alert_words": [1]}]
    for untrue in (*fields, {"queue_id": 5}):
        with pytest.raises(AssertionError):
            openapi.validate("POST", "/register", 200, {**state, **untrue})

    answer = {"result": "success", "msg": "", "queue_id": "q"}
    typing: dict[str, Any] = {"id": 1, "type": "typing", "op": "start", "message_type": "stream"}
    typing |= {"sender": {"email": "a@b.c", "user_id": 1}, "stream_id": 1, "topic": "tea"}
    heartbeat = {"id": 2, "type": "heartbeat"}
    openapi.validate("GET", "/events", 200, {**answer, "events": [typing, heartbeat]})
    events: list[dict[str, Any]] = [
        {**heartbeat, "op": "add"},
        {**heartbeat, "type": "no_such_type"},
        {**typing, "op": "add"},
        {**typing, "more": 1},
        {name: value for name, value in typing.items() if name != "topic"},
    ]
    for event in events:
        with pytest.raises(AssertionError):
            openapi.validate("GET", "/events", 200, {**answer, "events": [event]})


def test_two_servers_describe_themselves_alike():
    assert document_of(ROUTES) == openapi.document()


@pytest.mark.asyncio
async def test_the_document_needs_no_account(spectator):
    anonymous: Client = await spectator()
    first = await anonymous.send("GET", "/openapi.json")
    again = await anonymous.send("GET", "/openapi.json?colour=red")
    assert first.status == 200
    assert first.content == again.content
    assert json.loads(first.content) == json.loads(json.dumps(openapi.document()))
    assert first.body["servers"] == [{"url": API_PREFIX}]


@pytest.mark.asyncio
async def test_what_is_required_is_missed(log_in):
    client: Client = await log_in(role=OWNER)
    for path, operations in openapi.document()["paths"].items():
        for method, operation in operations.items():
            body = operation.get("requestBody", {}).get("content", {})
            form = body.get("application/x-www-form-urlencoded", {}).get("schema", {})
            required = {p["name"] for p in operation["parameters"] if p["required"]}
            required |= {*form.get("required", ())}
            required |= {each["anyOf"][0]["required"][0] for each in form.get("allOf", ())}
            required -= {*re.findall(r"\{(\w+)\}", path)}
            if not required:
                continue
            address = re.sub(r"\{\w+\}", "1", path)
            answer = await client.call(method.upper(), address)
            assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] in required
