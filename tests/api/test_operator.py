"""Who is let in to the operator's pages, and what they may do there."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import psycopg
import pytest
from itsdangerous import TimestampSigner, URLSafeTimedSerializer
from tornado.httpclient import AsyncHTTPClient, HTTPResponse
from typing_extensions import override

from server.messaging.postgres_desk import PostgresJobDesk
from server.operator.pages import OperatorPages
from server.operator.sessions import COOKIE, LIFE_SECONDS, Sessions
from server.runtime.version import VERSION
from server.settings import load_settings
from storage import workers
from storage.database import Database
from storage.jobs import QueueStats
from storage.workers import WorkerRow
from testkit.clients.operator_server import PASSWORD, QUEUE, Operated, operated
from testkit.services.proxy import proxy_to

pytestmark = pytest.mark.asyncio


class Visitor:
    """A browser without scripts: keeps its cookie, and does not follow where it is sent."""

    def __init__(self, operators: Operated) -> None:
        self._url = operators.url
        self.cookie = ""

    async def get(self, path: str = "", method: str = "GET") -> HTTPResponse:
        return await self._fetch(path, method, None, {})

    async def post(
        self, path: str, /, headers: dict[str, str] | None = None, **form: str
    ) -> HTTPResponse:
        return await self._fetch(path, "POST", urlencode(form), headers or {})

    async def sign_in(self, password: str = PASSWORD) -> HTTPResponse:
        answer = await self.post("/sign-in", password=password)
        if "Set-Cookie" in answer.headers:
            self.cookie = SimpleCookie(answer.headers["Set-Cookie"])[COOKIE].value
        return answer

    async def token(self) -> str:
        found = re.search(r'name="token" value="(\w+)"', (await self.get()).body.decode())
        assert found
        return found[1]

    async def _fetch(
        self, path: str, method: str, body: str | None, headers: dict[str, str]
    ) -> HTTPResponse:
        if self.cookie:
            headers = {"Cookie": f"{COOKIE}={self.cookie}", **headers}
        answer: HTTPResponse = await AsyncHTTPClient().fetch(
            self._url + path,
            method=method,
            body=body,
            headers=headers,
            follow_redirects=False,
            raise_error=False,
            allow_nonstandard_methods=True,
        )
        return answer


@pytest.fixture
def visitor(operators: Operated) -> Visitor:
    return Visitor(operators)


def leads_to_sign_in(answer: HTTPResponse) -> bool:
    return (answer.code, answer.headers.get("Location")) == (303, "/operator/sign-in")


async def test_there_are_no_pages_without_a_password(database_url: str):
    async with operated(database_url, operator_password=None) as found:
        visitor = Visitor(found)
        for path in ("", "/sign-in", "/style.css", "/queues/deferred_work"):
            assert (await visitor.get(path)).code == 404
        assert (await visitor.post("/sign-in", password="None")).code == 405


async def test_nothing_is_shown_and_nothing_done_without_signing_in(
    operators: Operated, visitor: Visitor
):
    await operators.dead_letter("1:7")
    for path in ("", "/queues/deferred_work", "/queues/deferred_work/drop", "/nonsense"):
        assert leads_to_sign_in(await visitor.get(path))
    for action in ("pause", "resume", "retry", "replay", "drop"):
        path = f"/queues/deferred_work/{action}"
        assert leads_to_sign_in(await visitor.post(path, all="yes", token=""))
    assert leads_to_sign_in(await visitor.post("/sign-out"))
    assert await operators.states() == (0, 1)


async def test_the_cookie_is_for_these_pages_alone(visitor: Visitor):
    wrong = await visitor.sign_in(PASSWORD + "x")
    assert (wrong.code, wrong.headers.get("Set-Cookie")) == (403, None)
    answer = await visitor.sign_in()
    assert (answer.code, answer.headers["Location"]) == (303, "/operator")
    morsel = SimpleCookie(answer.headers["Set-Cookie"])[COOKIE]
    assert (morsel["path"], morsel["samesite"], morsel["httponly"]) == ("/operator", "Strict", True)
    assert int(morsel["max-age"]) == LIFE_SECONDS
    assert PASSWORD not in morsel.value
    page = await visitor.get()
    assert page.code == 200
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["X-Frame-Options"] == "DENY"

    answer = await visitor.post("/sign-out", token=await visitor.token())
    assert SimpleCookie(answer.headers["Set-Cookie"])[COOKIE]["max-age"] == "0"


async def test_a_cookie_behind_https_stays_there(database_url: str):
    async with operated(database_url, trusted_proxies="127.0.0.1/32") as found:
        https = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
        for headers, secure in ((https, True), ({}, "")):
            answer = await Visitor(found).post("/sign-in", headers, password=PASSWORD)
            assert SimpleCookie(answer.headers["Set-Cookie"])[COOKIE]["secure"] == secure


async def test_cookies_of_others_and_old_ones_open_nothing(visitor: Visitor):
    class Yesterday(TimestampSigner):
        @override
        def get_timestamp(self) -> int:
            return super().get_timestamp() - LIFE_SECONDS - 60

    class Old(URLSafeTimedSerializer):
        default_signer = Yesterday

    mine = Sessions(PASSWORD)
    signing = mine._cookies
    old = Old(mine._key, salt=signing.salt, signer_kwargs=signing.signer_kwargs)
    for cookie in (
        Sessions("another password, as long").begin(),
        mine.begin()[:-1],
        str(old.dumps("name")),
        "",
        "x" * 3000,
    ):
        visitor.cookie = cookie
        assert leads_to_sign_in(await visitor.get()), cookie
    visitor.cookie = mine.begin()  # of another process, with the same password
    assert (await visitor.get()).code == 200


async def test_guessing_clients_are_slowed_down_and_others_are_not(database_url: str):
    async with operated(
        database_url, trusted_proxies="127.0.0.1/32", rate_limit_sign_in="3/1800"
    ) as found:
        visitor = Visitor(found)

        async def guess(password: str, address: str) -> int:
            headers = {"X-Forwarded-For": address}
            return int((await visitor.post("/sign-in", headers, password=password)).code)

        assert [await guess("x" * 16, "192.0.2.1") for _ in range(4)] == [403, 403, 403, 429]
        assert await guess(PASSWORD, "192.0.2.1") == 429
        assert await guess(PASSWORD, "192.0.2.2") == 303
        # A client that has shown that it knows the password begins anew.
        codes = [await guess(word, "192.0.2.3") for word in ("x", "x", PASSWORD, "x", "x", "x")]
        assert codes == [403, 403, 303, 403, 403, 403]


async def test_forms_of_other_places_are_refused(operators: Operated, visitor: Visitor):
    await operators.dead_letter("1:7")
    await visitor.sign_in()
    token = await visitor.token()
    path = f"/queues/{QUEUE}/drop"
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example.com"},
        {"Origin": "null"},
    ):
        assert (await visitor.post(path, headers, all="yes", token=token)).code == 403
        assert (await visitor.post("/sign-in", headers, password=PASSWORD)).code == 403
    other = Visitor(operators)
    await other.sign_in()
    for wrong in ("", "x", token[:-1], await other.token()):
        assert (await visitor.post(path, all="yes", token=wrong)).code == 403
    assert (await visitor.post(f"{path}?token={token}", all="yes")).code == 403
    assert await operators.states() == (0, 1)
    origin = {"Origin": operators.root, "Sec-Fetch-Site": "same-origin"}
    assert (await visitor.post(path, origin, all="yes", token=token)).code == 303
    assert await operators.states() == (0, 0)


@pytest.mark.usefixtures("patient_pages")
async def test_what_is_asked_reaches_rabbitmq(database: Database, database_url: str, amqp_url: str):
    async with operated(database_url, amqp_url=amqp_url) as found:
        await found.dead_letter("1:7", "1:8")
        visitor = Visitor(found)
        await visitor.sign_in()
        token = await visitor.token()
        page = (await visitor.get(f"/queues/{QUEUE}")).body.decode()
        [first, _] = re.findall(r'name="id" value="([^"]+)"', page)
        assert (await visitor.post(f"/queues/{QUEUE}/replay", token=token, id=first)).code == 303
        assert await found.states() == (1, 1)
        assert (await visitor.post(f"/queues/{QUEUE}/drop", token=token, all="yes")).code == 303
        assert await found.states() == (1, 0)
        assert b">later<" in re.sub(rb"\s", b"", (await visitor.get()).body)
        async with found.server.app.jobs.consume(QUEUE, prefetch=1) as deliveries:
            await (await anext(deliveries)).ack()


async def test_slips_are_told(operators: Operated, visitor: Visitor):
    await operators.dead_letter("1:7")
    await visitor.sign_in()
    token = await visitor.token()
    for path in ("/queues/nonsense", f"/queues/{QUEUE}/explode", "/queues/..", "/x", "/sign-out"):
        assert (await visitor.get(path)).code == 404
    assert (await visitor.post("/queues/nonsense/pause", token=token)).code == 404
    assert b"No job was selected" in (await visitor.get(f"/queues/{QUEUE}/drop")).body
    none = await visitor.post(f"/queues/{QUEUE}/drop", token=token)
    assert (none.code, await operators.states()) == (303, (0, 1))
    unknown = await visitor.post(f"/queues/{QUEUE}/drop", token=token, id="\0 nonsense")
    assert (unknown.code, await operators.states()) == (303, (0, 1))
    assert (await visitor.get("", method="PUT")).code == 405
    head = await visitor.get("", method="HEAD")
    assert (head.code, head.body) == (200, b"")
    forged = await visitor.get(f"/queues/{QUEUE}?did=drop&count=<b>")
    assert b"<b>" not in forged.body


async def test_it_tells_that_the_database_is_away(database_url: str, database: Database):
    port = int(psycopg.conninfo.conninfo_to_dict(database_url).get("port") or 5432)
    async with proxy_to(port) as proxy:
        through = database_url.replace(f":{port}/", f":{proxy.port}/")
        async with operated(through) as found:
            visitor = Visitor(found)
            await visitor.sign_in()
            token = await visitor.token()
            proxy.refuse()
            assert (await Visitor(found).sign_in()).code == 303
            page = await visitor.get()
            assert page.code == 200
            assert b"The database does not answer" in page.body
            assert (await visitor.get(f"/queues/{QUEUE}")).code == 503
            await proxy.allow()
            while (await visitor.post(f"/queues/{QUEUE}/pause", token=token)).code == 503:
                pass
        async with database.connection() as connection:
            assert await workers.paused(connection) == [QUEUE]


@pytest.mark.usefixtures("patient_pages")
@pytest.mark.parametrize(
    ("lag", "state", "problem"),
    [
        (0.5, {"broker_connected": 1.0}, None),
        (99.0, {}, "host, process 7, ships and is 99 s behind the log."),
        (0.5, {"broker_connected": 0.0}, "host, process 7, hears nothing of the others"),
    ],
)
async def test_all_is_well_only_if_health_says_so(
    database_url: str, database: Database, lag: float, state: dict[str, float], problem: str | None
):
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    row = WorkerRow("w", "host", 7, VERSION, moment, lag, {QUEUE: {}}, state=state)
    async with database.connection() as connection:
        await workers.report(connection, row)
    async with operated(database_url) as found:
        visitor = Visitor(found)
        await visitor.sign_in()
        page = (await visitor.get()).body.decode()
    assert ("All is well" in page) is (problem is None)
    assert problem is None or problem in page


@pytest.mark.usefixtures("patient_pages")
async def test_many_who_look_at_once_are_one_look(database_url: str, database: Database):
    class Counting(PostgresJobDesk):
        looks = 0

        @override
        async def stats(self, queues: Sequence[str]) -> list[QueueStats]:
            self.looks += 1
            return await super().stats(queues)

    desk = Counting(database)
    async with operated(database_url) as found:
        pages = OperatorPages(replace(found.server.app, desk=desk), PASSWORD, [QUEUE])
        for _ in range(2):
            await asyncio.gather(*[pages._look() for _ in range(5)])
    assert desk.looks == 1


async def test_the_password_is_long_and_a_secret():
    settings = load_settings(environ={"PARLEY_OPERATOR_PASSWORD": PASSWORD})
    assert PASSWORD in settings.secrets
    assert PASSWORD not in repr(settings)
    with pytest.raises(Exception, match="at least 16 characters") as refused:
        load_settings(environ={"PARLEY_OPERATOR_PASSWORD": "too short"})
    assert "too short" not in str(refused.value)


async def test_names_that_a_stranger_may_own_are_refused(operators: Operated):
    for path, status in (("/metrics", 421), ("/operator", 421), ("/health", 200)):
        answer = await AsyncHTTPClient().fetch(
            operators.url.removesuffix("/operator") + path,
            headers={"Host": "rebound.evil.example"},
            raise_error=False,
        )
        assert answer.code == status, path


async def test_forms_that_are_too_large_are_refused(visitor: Visitor):
    assert (await visitor.post("/sign-in", password="x" * 70_000)).code == 413
    assert (await visitor.post("/sign-in", password="x" * 60_000)).code == 403
