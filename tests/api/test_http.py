"""The envelope, whatever is asked; who is let in; and how connections are kept."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
import pytest_asyncio
from structlog.testing import capture_logs
from typing_extensions import override

from server.api.endpoint import (
    Access,
    DeferredResponse,
    Empty,
    Endpoint,
    NoParams,
    RawResult,
    Request,
    ResponseSink,
    Result,
)
from server.api.exchanges import DISCARD_BYTES
from server.api.params import JsonOrBareStr, Params
from server.api.routes import ROUTES
from server.domain.access import ADMINISTRATOR, GUEST, MODERATOR
from server.main import TRANSPORTS
from testkit.clients.api import Client, basic, multipart
from testkit.clients.raw_sockets import connected, request, until
from testkit.clients.server import ROOT_DOMAIN
from testkit.database import until_blocked_on_lock
from testkit.factories import new_realm
from testkit.logs import lines

pytestmark = pytest.mark.asyncio

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
RAW_FORM = {"Content_Type": FORM["Content-Type"]}
SMALL_BODY = 65_536


class EchoParams(Params):
    number: int = 0
    text: str = ""
    quoted: JsonOrBareStr = ""


class Echoed(Result):
    number: int
    text: str
    quoted: str
    client: str


async def echo(request: Request, params: EchoParams) -> Echoed:
    return Echoed(**params.model_dump(), client=request.actor.client)


async def fail(request: Request, params: NoParams) -> Empty:
    raise ZeroDivisionError("the secret of the house")


async def lose_another_connection(request: Request, params: NoParams) -> Empty:
    raise ConnectionResetError("some service that we ask")


async def answer_raw(request: Request, params: NoParams) -> RawResult:
    return RawResult(b'{"result":"success","msg":"","a":1}')


async def answer_unsayably(request: Request, _: NoParams) -> RawResult:
    request.response_headers["X-Test"] = "one line\nand another"
    return RawResult(b"{}")


class AtOnce(DeferredResponse):
    """One that comes as soon as it may."""

    @override
    def deliver_to(self, sink: ResponseSink) -> None:
        asyncio.get_running_loop().call_soon(sink.deliver, b"{}")

    @override
    def give_up(self) -> None:
        raise AssertionError


async def answer_unsayably_later(request: Request, params: NoParams) -> DeferredResponse:
    await answer_unsayably(request, params)
    return AtOnce()


EXTRA = (
    Endpoint("GET", "/test/echo", Access.USER, EchoParams, echo, Echoed),
    Endpoint("POST", "/test/echo", Access.USER, EchoParams, echo, Echoed),
    Endpoint("GET", "/test/fail", Access.USER, NoParams, fail),
    Endpoint("GET", "/test/lose", Access.USER, NoParams, lose_another_connection),
    Endpoint("GET", "/test/unsayable", Access.USER, NoParams, answer_unsayably),
    Endpoint("GET", "/test/unsayable/later", Access.USER, NoParams, answer_unsayably_later),
    Endpoint("GET", "/test/raw", Access.USER, NoParams, answer_raw),
    Endpoint("GET", "/test/admin", Access.ADMIN, NoParams, answer_raw),
    Endpoint("GET", "/test/internal", Access.INTERNAL, NoParams, answer_raw),
)


@pytest_asyncio.fixture(params=TRANSPORTS)
async def server(serving_with, request):
    async with serving_with(
        routes=(*ROUTES, *EXTRA), max_body_bytes=SMALL_BODY, transport=request.param
    ) as server:
        yield server


@pytest_asyncio.fixture
async def client(log_in) -> Client:
    client: Client = await log_in()
    return client


# -- parameters


async def test_parameters_come_by_query_by_form_and_by_multipart(client):
    expected = {"number": 7, "text": "ä&b", "quoted": "x"}
    fields = {"number": 7, "text": "ä&b", "quoted": '"x"'}
    content_type, body = multipart({name: str(v) for name, v in fields.items()}, {})
    for answer in (
        await client.call("GET", "/test/echo", **fields),
        await client.call("POST", "/test/echo", **fields),
        await client.send("POST", "/test/echo", body=body, headers={"Content-Type": content_type}),
        await client.send("POST", "/test/echo?number=7&text=%C3%A4%26b&quoted=x", body=b""),
    ):
        assert expected.items() <= answer.succeeded().items()
        assert "ignored_parameters_unsupported" not in answer.body


async def test_the_form_outweighs_the_query_and_the_last_of_a_name_counts(client):
    answer = await client.send(
        "POST", "/test/echo?text=query&number=5", body=b"text=first&text=last", headers=FORM
    )
    assert (answer.body["text"], answer.body["number"]) == ("last", 5)


async def test_unrequested_files_are_passed_over(client):
    content_type, body = multipart({"text": "t"}, {"f": ("a.bin", b"123")})
    answer = await client.send(
        "POST", "/test/echo", body=body, headers={"Content-Type": content_type}
    )
    assert answer.succeeded()["text"] == "t"


async def test_parameters_without_meaning_are_named(client):
    answer = await client.call("POST", "/test/echo", text="t", dense_mode=True, colour="red")
    assert answer.body["ignored_parameters_unsupported"] == ["dense_mode", "colour"]
    answer = await client.call("GET", "/test/raw", colour="red")
    assert answer.body["ignored_parameters_unsupported"] == ["colour"]
    assert answer.body["a"] == 1


@pytest.mark.parametrize(
    ("parameter", "user_agent", "name"),
    [
        (None, "ZulipMobile/27.1 (Android 12)", "ZulipMobile"),
        ("website", "ZulipMobile/27.1", "website"),
        (None, "-", "Unspecified"),
        (None, "(odd)", "Unspecified"),
        ("x" * 100, "", "x" * 30),
    ],
)
async def test_clients_introduce_themselves(client, parameter, user_agent, name):
    answer = await replace(client, user_agent=user_agent).call(
        "GET", "/test/echo", client=parameter
    )
    assert answer.body["client"] == name
    assert "ignored_parameters_unsupported" not in answer.body


async def test_a_wrong_parameter_is_found_before_any_effect(client, make):
    channel = await make.channel("general", subscribers=[client.user])
    before = await make.position()
    for fields in (
        {"type": "channel", "to": channel.channel_id, "topic": "t"},
        {"type": "nonsense", "to": channel.channel_id, "topic": "t", "content": "c"},
        {"type": "channel", "to": 1.5, "topic": "t", "content": "c", "read_by_sender": "perhaps"},
        {"type": "channel", "to": "general", "topic": "t", "subject": "s", "content": "c"},
        {"type": "channel", "to": "general", "topic": "t", "content": "c\0"},
        {"type": "channel", "to": "general", "topic": "t", "content": "c", "queue_id": "q"},
    ):
        assert (await client.call("POST", "/messages", **fields)).status == 400
    assert await make.position() == before


# -- what is wrong with a request


async def test_an_unknown_path_is_told_in_json(client):
    for path in ("/nothing", "/messages/", "/messages/x/y", "/users/1/2/3", "//"):
        answer = await client.send("GET", path)
        assert answer.refused("BAD_REQUEST", 404)["msg"] == "Page not found."
        assert answer.headers["Content-Type"] == "application/json"


async def test_paths_outside_the_api_are_told_in_json(server):
    async with connected(server.port) as connection:
        for path in ("/api/v1", "/api/v2/messages", "/index.html", "*", "/api/v1messages"):
            await connection.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = await connection.answer()
            assert (answer.status, answer.body["result"]) == (404, "error")


async def test_a_wrong_method_is_told_the_right_ones(client):
    for method in ("PUT", "PATCH", "DELETE", "OPTIONS"):
        answer = await client.call(method, "/test/echo")
        body = answer.refused("BAD_REQUEST", 405)
        assert body["allowed_methods"] == ["GET", "HEAD", "POST"]
        assert answer.headers["Allow"] == "GET, HEAD, POST"
    assert (await client.call("PUT", "/users/7")).body["allowed_methods"]
    # A parser may know no such method at all.
    brewed = await client.send("BREW", "/test/echo")
    assert brewed.refused("BAD_REQUEST", brewed.status)
    assert brewed.status in (400, 405)


async def test_head_has_the_headers_of_get_and_no_body(server, client):
    plain = await client.send("GET", "/test/echo")
    async with connected(server.port) as connection:
        for _ in range(2):
            await connection.send(
                request("HEAD", "/test/echo", host=client.host, Authorization=auth(client))
            )
            answer = await connection.answer(has_body=False)
            assert answer.status == 200
            assert answer.headers["Content-Length"] == plain.headers["Content-Length"]


async def test_polls_cannot_be_asked_for_their_headers_only(client):
    assert (await client.send("HEAD", "/events?queue_id=1")).status == 405


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "nonsense"])
async def test_a_body_of_another_type_is_refused(client, content_type):
    headers = {"Content-Type": content_type}
    answer = await client.send("POST", "/test/echo", body=b'{"text":"t"}', headers=headers)
    answer.refused("BAD_REQUEST", 415)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (FORM["Content-Type"], b"text=%FF"),
        (FORM["Content-Type"], b"text=\xff\xfe"),
        (FORM["Content-Type"], b"a=&" * 1001),
        ("multipart/form-data; boundary=x", b"nonsense"),
        ("multipart/form-data", b"nonsense"),
    ],
)
async def test_a_malformed_form_is_refused(client, content_type, body):
    answer = await client.send(
        "POST", "/test/echo", body=body, headers={"Content-Type": content_type}
    )
    answer.refused()


async def test_a_malformed_query_or_path_is_refused(server, client):
    (await client.send("GET", "/test/echo?text=%ED%A0%80")).refused()
    (await client.send("GET", "/users/a%FFb@example.com")).refused()
    for target in (b"/test/echo?text=\xff", b"/users/\xff@x"):
        async with connected(server.port) as connection:
            await connection.send(
                b"GET /api/v1%b HTTP/1.1\r\n" % target,
                f"Host: {client.host}\r\nAuthorization: {auth(client)}\r\n\r\n",
            )
            assert (await connection.answer()).body["code"] == "BAD_REQUEST"


async def test_an_oversize_body_is_refused_after_it_was_read(client):
    for content_type in (FORM["Content-Type"], "multipart/form-data; boundary=x"):
        answer = await client.send(
            "POST",
            "/test/echo",
            body=b"a=" + b"x" * SMALL_BODY,
            headers={"Content-Type": content_type},
        )
        answer.refused("BAD_REQUEST", 413)
    assert (await client.send("GET", "/test/echo")).status == 200


async def test_an_oversize_body_in_chunks_is_refused_and_the_connection_kept(server, client):
    async with connected(server.port) as connection:
        head = request(
            "POST",
            "/test/echo",
            host=client.host,
            Authorization=auth(client),
            Transfer_Encoding="chunked",
            **RAW_FORM,
        )
        await connection.send(head, *[b"4000\r\n" + b"x" * 0x4000 + b"\r\n"] * 5, b"0\r\n\r\n")
        answer = await connection.answer()
        assert (answer.status, answer.body["code"]) == (413, "BAD_REQUEST")
        await connection.send(
            request("GET", "/test/echo", host=client.host, Authorization=auth(client))
        )
        assert (await connection.answer()).status == 200


async def test_a_body_far_too_large_is_refused_before_it_comes(server, client):
    async with connected(server.port) as connection:
        await connection.send(
            request(
                "POST",
                "/test/echo",
                host=client.host,
                Content_Length=str(DISCARD_BYTES + 1),
                **RAW_FORM,
            ),
            b"x" * 500_000,
        )
        answer = await connection.answer()
        assert (answer.status, answer.body["code"]) == (413, "BAD_REQUEST")
        assert await connection.is_closed()


@pytest.mark.parametrize("path", ["/test/unsayable", "/test/unsayable/later"])
async def test_an_answer_that_cannot_be_given_is_logged_and_ends_the_request(client, server, path):
    with capture_logs() as logs:
        async with connected(server.port) as connection:
            authorization = basic(client.email, client.api_key)
            await connection.send(
                request("GET", path, host=client.host, Authorization=authorization)
            )
            assert await connection.is_closed()
    [line] = [line for line in logs if line["log_level"] == "error"]
    assert line["exc_info"]
    assert path in line["endpoint"]
    await until(lambda: not server.api.in_progress)
    assert server.api.waiting == 0


async def test_a_connection_that_is_not_the_clients_own_is_no_client_who_has_gone(client):
    with capture_logs() as logs:
        (await client.send("GET", "/test/lose")).refused("INTERNAL_SERVER_ERROR", 500)
    assert [line["endpoint"] for line in logs if line["log_level"] == "error"] == ["/test/lose"]


async def test_a_fault_of_ours_is_found_in_the_log_by_the_id_of_its_request(client, log):
    out = log()
    answer = await client.send("GET", "/test/fail", headers={"X-Request-Id": "find-me"})
    assert answer.headers["X-Request-Id"] == "find-me"
    [line] = [line for line in lines(out) if line["level"] == "error"]
    assert line["request_id"] == "find-me"


async def test_a_fault_of_ours_is_logged_with_its_trace_and_told_without_details(client):
    with capture_logs() as logs:
        answer = await client.send("GET", "/test/fail?password=hunter2")
    body = answer.refused("INTERNAL_SERVER_ERROR", 500)
    assert body == {
        "result": "error",
        "msg": "Internal server error",
        "code": "INTERNAL_SERVER_ERROR",
    }
    [line] = [line for line in logs if line["log_level"] == "error"]
    assert line["exc_info"]
    assert line["endpoint"] == "/test/fail"
    assert "hunter2" not in str(line)


async def test_a_database_that_is_away_is_told_as_such(client, server):
    async with AsyncExitStack() as stack:
        for _ in range(server.app.settings.database_pool_size):
            connection = await stack.enter_async_context(server.app.database.connection())
            await connection.raw.close()
        await stack.aclose()
    # Every connection of the pool is dead: a read finds that out and tries again.
    assert (await client.call("GET", "/users")).status == 200


# -- who is let in


def auth(client: Client) -> str:
    return basic(client.email or "", client.api_key or "")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (None, "Not logged in: API authentication or user session required"),
        ("", "Not logged in: API authentication or user session required"),
        ("Bearer abc", "This endpoint requires HTTP basic authentication."),
        ("Basic", "Invalid authorization header for basic auth"),
        ("Basic !!!", "Invalid authorization header for basic auth"),
        ("Basic /w==", "Invalid authorization header for basic auth"),
        (basic("", "key"), "Not logged in: API authentication or user session required"),
        (basic("a\0b", "key"), "Not logged in: API authentication or user session required"),
    ],
)
async def test_without_credentials_one_is_asked_for_them(client, header, message):
    anonymous = Client(client.server, client.host)
    headers = {} if header is None else {"Authorization": header}
    for method, path in (("GET", "/users/me"), ("POST", "/register"), ("GET", "/events")):
        answer = await anonymous.call(method, path, headers=headers)
        assert answer.refused("UNAUTHORIZED", 401)["msg"].strip() in (message, NO_CREDENTIALS)
        assert answer.headers["WWW-Authenticate"] == 'Basic realm="zulip"'


NO_CREDENTIALS = "Not logged in: API authentication or user session required"


@pytest.mark.parametrize("wrong", ["", "x", "X" * 32, "ä" * 32, "x" * 5000])
async def test_a_wrong_key_is_refused_without_asking_again(client, wrong):
    for email in (client.email, "nobody@example.com", "x" * 2000, "ä@ö"):
        intruder = Client(client.server, client.host, email, wrong)
        answer = await intruder.call("GET", "/users/me")
        answer.refused("INVALID_API_KEY", 401)
        assert "WWW-Authenticate" not in answer.headers


async def test_an_address_may_be_written_in_any_case(client):
    shouting = Client(client.server, client.host, str(client.email).upper(), client.api_key)
    assert (await shouting.get("/users/me"))["email"] == client.email


async def test_a_deactivated_user_is_refused(log_in):
    answer = await (await log_in(is_active=False)).call("GET", "/users/me")
    answer.refused("USER_DEACTIVATED", 401)
    assert "WWW-Authenticate" not in answer.headers


async def test_a_deactivated_realm_admits_no_user(server, log_in, make, spectator):
    client = await log_in()
    await make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(id)s", id=make.realm_id
    )
    server.forget(make.realm_id)
    (await client.call("GET", "/users/me")).refused("REALM_DEACTIVATED", 401)
    answer = await (await spectator()).call(
        "POST", "/fetch_api_key", username=client.email, password="x"
    )
    answer.refused("REALM_DEACTIVATED", 401)


async def test_a_realm_is_found_by_its_subdomain_in_any_case_and_with_a_port(client, make):
    for host in (client.host, client.host.upper(), f"{client.host}:{client.server.port}"):
        guest = Client(client.server, host, client.email, client.api_key)
        assert (await guest.call("GET", "/users/me")).status == 200


async def test_an_unknown_subdomain_is_told_as_such(server):
    for host in (f"nowhere.{ROOT_DOMAIN}", f"a.b.{ROOT_DOMAIN}", f"a\0.{ROOT_DOMAIN}"):
        async with connected(server.port) as connection:
            await connection.send(request("GET", "/server_settings", host=host.replace("\0", "%")))
            answer = await connection.answer()
            assert (answer.status, answer.body["code"]) == (404, "NONEXISTENT_SUBDOMAIN")


async def test_a_host_in_the_target_outweighs_the_header(server, client):
    async with connected(server.port) as connection:
        for host, other, status in (
            (client.host, f"nowhere.{ROOT_DOMAIN}", 200),
            (f"nowhere.{ROOT_DOMAIN}", client.host, 404),
        ):
            await connection.send(
                f"GET HTTP://{host}/api/v1/server_settings HTTP/1.1\r\nHost: {other}\r\n\r\n"
            )
            assert (await connection.answer()).status == status


@pytest.mark.parametrize("hosts", [[], ["{host}", "{host}"], ["{host}", "x"], ["{host}/x"]])
async def test_a_request_has_one_host(server, client, hosts):
    lines = "".join(f"Host: {host.format(host=client.host)}\r\n" for host in hosts)
    async with connected(server.port) as connection:
        await connection.send(f"GET /api/v1/server_settings HTTP/1.1\r\n{lines}\r\n")
        answer = await connection.answer()
        assert (answer.status, answer.body["code"]) == (400, "BAD_REQUEST")
        assert answer.headers["Connection"] == "close"
        assert await connection.is_closed()


async def test_a_key_opens_its_own_realm_only(server, client, make, connect):
    other = await new_realm(make.connection)
    stranger = await connect(server, other.realm_id, client.user)
    (await stranger.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    at_root = Client(server, ROOT_DOMAIN, client.email, client.api_key)
    (await at_root.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)


@pytest.mark.parametrize(
    ("role", "status"), [(ADMINISTRATOR, 200), (100, 200), (MODERATOR, 400), (GUEST, 400)]
)
async def test_some_endpoints_are_for_administrators(log_in, role, status):
    assert (await (await log_in(role=role)).send("GET", "/test/admin")).status == status


async def test_some_endpoints_are_for_development_servers(serving_with, connect, make, client):
    anonymous = Client(client.server, client.host)
    (await anonymous.send("GET", "/test/internal")).refused()
    async with serving_with(routes=EXTRA, development=True) as server:
        anonymous = await connect(server, make.realm_id)
        assert (await anonymous.send("GET", "/test/internal")).status == 200


# -- connections


async def test_a_connection_serves_many_requests_also_sent_at_once(server, client):
    async with connected(server.port) as connection:
        one = request("GET", "/test/echo", host=client.host, Authorization=auth(client))
        for _ in range(3):
            await connection.send(one)
            assert (await connection.answer()).status == 200
        await connection.send(*[one] * 20)
        assert [(await connection.answer()).status for _ in range(20)] == [200] * 20


@pytest.mark.parametrize(
    ("version", "header", "stays"),
    [
        ("1.1", "", True),
        ("1.1", "Connection: close\r\n", False),
        ("1.0", "", False),
        ("1.0", "Connection: keep-alive\r\n", True),
    ],
)
async def test_a_connection_stays_as_long_as_its_client_wants(
    server, client, version, header, stays
):
    async with connected(server.port) as connection:
        text = f"GET /api/v1/test/nothing HTTP/{version}\r\nHost: {client.host}\r\n{header}\r\n"
        await connection.send(text)
        assert (await connection.answer()).status == 404
        if stays:
            await connection.send(text)
            assert (await connection.answer()).status == 404
        else:
            assert await connection.is_closed()


async def test_a_poll_ends_when_its_client_goes_away(server, client):
    queue = await client.register(event_types=["message"])
    async with connected(server.port) as connection:
        await connection.send(
            request(
                "GET",
                f"/events?queue_id={queue.queue_id}&last_event_id=-1",
                host=client.host,
                Authorization=auth(client),
            )
        )
        await until(lambda: server.app.realtime.waiting() == 1)
    await until(lambda: server.app.realtime.waiting() == 0)
    await until(lambda: not server.api.in_progress)


async def test_who_goes_away_during_a_write_has_written(server, client, make):
    await make.channel("general", subscribers=[client.user])
    queue = await client.register(event_types=["message"])
    form = b"type=channel&to=general&topic=t&content=gone"
    async with server.app.database.transaction() as other:
        await other.execute(
            "SELECT FROM realm_clock WHERE realm_id = %(id)s FOR UPDATE", id=make.realm_id
        )
        async with connected(server.port) as connection:
            await connection.send(
                request(
                    "POST",
                    "/messages",
                    host=client.host,
                    body=form,
                    Authorization=auth(client),
                    **RAW_FORM,
                )
            )
            await until_blocked_on_lock(make.connection)
            connection.reset()
        await until(lambda: not server.api.in_progress)
    [event] = await queue.poll()
    assert event["message"]["content"] == "gone"


async def test_a_server_that_stops_answers_all_and_sends_them_elsewhere(
    serving_with, connect, make
):
    user = await make.user()
    async with AsyncExitStack() as life:
        server = await life.enter_async_context(serving_with())
        client = await connect(server, make.realm_id, user)
        queue = await client.register(event_types=["message"])
        poll = request(
            "GET",
            f"/events?queue_id={queue.queue_id}&last_event_id=-1",
            host=client.host,
            Authorization=auth(client),
        )
        async with connected(server.port) as polling, connected(server.port) as idle:
            await polling.send(poll)
            await until(lambda: server.app.realtime.waiting() == 1)
            stopping = asyncio.create_task(life.aclose())
            answer = await polling.answer()
            assert [event["type"] for event in answer.body["events"]] == ["heartbeat"]
            assert answer.headers["Connection"] == "close"
            assert await idle.is_closed()
            await stopping
