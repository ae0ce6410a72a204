"""Request ids in headers and logs, and the access log."""

import asyncio

import pytest

from testkit.clients.api import basic
from testkit.logs import lines

pytestmark = pytest.mark.asyncio

ID = "X-Request-Id"
GIVEN = "Root=1-67891233-abcdef012345678912345678"


async def asked(client, method, path, **headers):
    authorization = basic(client.email, client.api_key)
    return await client.send(method, path, headers={"Authorization": authorization, **headers})


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/users/me"),
        ("GET", "/nowhere"),
        ("PUT", "/users/me"),
        ("GET", "/messages?anchor=x"),
        ("POST", "/user_uploads"),
        ("HEAD", "/users/me"),
    ],
)
async def test_every_response_has_the_id_that_the_request_came_with(log_in, method, path):
    client = await log_in()
    answer = await asked(client, method, path, **{ID: GIVEN})
    assert answer.headers[ID] == GIVEN


async def test_a_request_without_an_id_or_with_a_bad_one_gets_one(log_in):
    client = await log_in()
    seen = set()
    for given in ({}, {ID: ""}, {ID: "a b"}, {ID: "x" * 129}, {ID: "é"}, {ID: '{"a":1}'}):
        seen.add((await asked(client, "GET", "/users/me", **given)).headers[ID])
    assert len(seen) == 6
    assert all(len(each) == 16 for each in seen)


async def test_polls_streams_pages_and_files_have_it(log_in, visitor, ada):
    client = await log_in()
    queue = await client.register(event_types=["message"])
    path = f"/events?queue_id={queue.queue_id}&last_event_id=-1"
    quick = await asked(client, "GET", f"{path}&dont_block=true", **{ID: GIVEN})
    assert quick.headers[ID] == GIVEN

    waiting = asyncio.create_task(asked(client, "GET", path, **{ID: GIVEN}))
    await asyncio.sleep(0)
    await client.post("/messages", type="direct", to=[client.user.user_id], content="hello")
    answer = await waiting
    assert answer.body["events"]
    assert answer.headers[ID] == GIVEN
    url = (await client.upload("/user_uploads", file=("a.txt", b"hello"))).succeeded()["url"]
    file = await client.fetch(url)
    assert file.content == b"hello"
    assert len(file.headers[ID]) == 16
    assert len((await (await visitor()).look("/login/")).headers[ID]) == 16


async def test_the_access_log_names_endpoint_and_caller_and_no_secret(
    log, serving_with, make, connect
):
    async with serving_with(access_log=True) as server:
        user = await make.user()
        client = await connect(server, make.realm_id, user)
        out = log()
        await asked(client, "GET", "/messages/4711?secret=canary-1", **{ID: "one"})
        stranger = await connect(server, make.realm_id)
        await stranger.send("GET", "/users/me?api_key=canary-2")
        shown = [line for line in lines(out) if line["event"] == "http.request"]
    assert b"canary" not in out.getvalue()
    first, second = shown
    assert (first["method"], first["endpoint"], first["status"]) == (
        "GET",
        "/messages/{message_id}",
        400,
    )
    assert (first["user_id"], first["realm_id"]) == (user.user_id, make.realm_id)
    assert (first["address"], first["request_id"]) == ("127.0.0.1", "one")
    assert isinstance(first["seconds"], float)
    assert (second["status"], "user_id" in second) == (401, False)


async def test_without_the_setting_there_is_no_access_log(log, log_in):
    client = await log_in()
    out = log()
    await client.get("/users/me")
    assert [line for line in lines(out) if line["event"] == "http.request"] == []
