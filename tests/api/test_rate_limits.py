"""Limits as clients meet them, and how processes share them."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from server.api import rate_limit
from server.api.rate_limit import UNAVAILABLE_SECONDS, Limiter
from server.domain.errors import RateLimitedError
from server.settings import Rate, load_settings
from storage.database import Database, open_database
from testkit.clients.api import Client, basic
from testkit.clients.server import ROOT_DOMAIN
from testkit.clock import StoppedClock
from testkit.images import picture

pytestmark = pytest.mark.asyncio

WINDOW = 1_000_000
"""Seconds of most budgets here: so long that none begins anew while its test runs."""
LONG_AGO = 100_000_000


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine is no database that is away."""
    monkeypatch.setattr(rate_limit, "LEASE_TIMEOUT_SECONDS", 60.0)


async def age_windows(database: Database, seconds: int) -> None:
    """Let everything have been used so much earlier."""
    async with database.connection() as connection:
        # By way of a time long ago, so that no two rows meet.
        for shift in (seconds + LONG_AGO, -LONG_AGO):
            await connection.execute(
                """
                UPDATE rate_limits
                   SET window_start = window_start - make_interval(secs => %(shift)s)
                """,
                shift=shift,
            )


async def statuses(client: Client, count: int, path: str = "/users/me") -> list[int]:
    return [(await client.call("GET", path)).status for _ in range(count)]


def limiter(database: Database, clock: StoppedClock, rate: str = f"20/{WINDOW}", **more) -> Limiter:
    return Limiter("test", Rate(rate), database, clock, **more)


async def allowed(limiter: Limiter, key: str, tries: int) -> int:
    count = 0
    for _ in range(tries):
        try:
            await limiter.count(key, {})
        except RateLimitedError:
            break
        count += 1
    return count


async def test_each_answer_tells_what_is_left(serving_with, connect, make):
    async with serving_with(rate_limits=True, rate_limit_user=f"7/{WINDOW}") as server:
        client = await connect(server, make.realm_id, await make.user())
        answers = [await client.call("GET", "/users/me") for _ in range(3)]
        answers.append(await client.call("GET", "/users/99999"))
    assert [answer.headers["X-RateLimit-Remaining"] for answer in answers] == list("6543")
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"7"}
    now = server.app.clock.now().timestamp()
    assert now < int(answers[0].headers["X-RateLimit-Reset"]) <= now + 2 * WINDOW


async def test_who_asks_too_often_is_told_when_to_come_back(serving_with, connect, make):
    async with serving_with(rate_limits=True, rate_limit_user=f"5/{WINDOW}") as server:
        client = await connect(server, make.realm_id, await make.user())
        other = await connect(server, make.realm_id, await make.user())
        assert await statuses(client, 5) == [200] * 5
        answer = await client.call("GET", "/users/me")
        body = answer.refused("RATE_LIMIT_HIT", 429)
        assert 0 < body["retry-after"] <= 2 * WINDOW
        assert int(answer.headers["Retry-After"]) - 1 <= body["retry-after"]
        assert body["retry-after"] <= int(answer.headers["Retry-After"])
        assert answer.headers["X-RateLimit-Remaining"] == "0"
        assert await statuses(other, 1) == [200]


async def test_polls_are_not_counted(serving_with, connect, make):
    async with serving_with(rate_limits=True, rate_limit_user=f"2/{WINDOW}") as server:
        client = await connect(server, make.realm_id, await make.user())
        queue = await client.register(event_types=["message"])
        for _ in range(5):
            await queue.poll(dont_block=True)
        answer = await client.call(
            "GET", "/events", queue_id=queue.queue_id, last_event_id=-1, dont_block=True
        )
        answer.succeeded()
        assert "X-RateLimit-Limit" not in answer.headers


async def test_pictures_and_temporary_links_leave_strangers_their_budget(
    serving_with, connect, make
):
    async with serving_with(rate_limits=True, rate_limit_address=f"2/{WINDOW}") as server:
        alice = await connect(server, make.realm_id, await make.user())
        anonymous = await connect(server, make.realm_id)
        await alice.upload("/realm/emoji/parley", file=("e.png", picture()))
        [emoji] = (await alice.get("/realm/emoji"))["emoji"].values()
        file = (await alice.upload("/user_uploads", file=("a.txt", b"a"))).succeeded()["url"]
        link = (await alice.get(file))["url"]
        for url in (emoji["source_url"], link):
            answers = [await anonymous.fetch(url) for _ in range(5)]
            assert [answer.status for answer in answers] == [200] * 5
            assert "X-RateLimit-Limit" not in answers[0].headers
        assert await statuses(anonymous, 1, "/server_settings") == [200]
        guesses = [await anonymous.fetch("/user_uploads/temporary/guess/a.txt") for _ in range(2)]
        assert [guess.status for guess in guesses] == [400, 429]


async def test_no_client_is_limited_with_limits_off(server, log_in):
    client = await log_in()
    answers = [await client.call("GET", "/users/me") for _ in range(3)]
    assert not any("X-RateLimit-Limit" in answer.headers for answer in answers)


async def test_limits_are_on_unless_switched_off(server):
    assert load_settings(environ={}).rate_limits
    assert not load_settings(environ={"PARLEY_RATE_LIMITS": "off"}).rate_limits


async def test_strangers_are_counted_by_address(serving_with, connect, make):
    async with serving_with(rate_limits=True, rate_limit_address=f"4/{WINDOW}") as server:
        anonymous = await connect(server, make.realm_id)
        user = await make.user()
        guesser = Client(server, anonymous.host, user.email, "wrong" * 8)
        assert await statuses(anonymous, 2, "/server_settings") == [200, 200]
        assert await statuses(anonymous, 1) == [401]
        assert await statuses(guesser, 2) == [401, 429]
        assert await statuses(anonymous, 1, "/server_settings") == [429]
        # Who is known is not held up by the strangers around.
        assert await statuses(await connect(server, make.realm_id, user), 1) == [200]


async def test_who_looks_for_realms_is_counted(serving_with, connect, make):
    async with serving_with(rate_limits=True, rate_limit_address=f"2/{WINDOW}") as server:
        for status in (404, 404, 429):
            anonymous = Client(server, f"realm-{status}.{ROOT_DOMAIN}")
            answer = await anonymous.call("GET", "/server_settings")
            assert answer.status == status


async def test_only_a_trusted_proxy_says_for_whom_it_forwards(serving_with, connect, make):
    async def ask(server, forwarded: str) -> int:
        anonymous = await connect(server, make.realm_id)
        headers = {"X-Forwarded-For": forwarded}
        answer = await anonymous.call("GET", "/server_settings", headers=headers)
        return int(answer.status)

    limits = {"rate_limits": True, "rate_limit_address": f"2/{WINDOW}"}
    async with serving_with(**limits) as server:
        answers = [await ask(server, f"198.51.100.{n}") for n in range(3)]
        assert answers == [200, 200, 429]
    proxies = "127.0.0.1"
    async with serving_with(**limits, trusted_proxies=proxies) as server:
        assert [await ask(server, f"198.51.100.{n}") for n in range(5)] == [200] * 5
        answers = [await ask(server, f"2001:db8:0:1::{n}, 127.0.0.1") for n in range(3)]
        assert answers == [200, 200, 429]
        assert await ask(server, "2001:db8:0:2::1") == 200


async def test_two_processes_share_a_budget(serving_with, connect, make):
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(
                serving_with(rate_limits=True, rate_limit_user=f"40/{WINDOW}")
            )
            for _ in range(2)
        ]
        user = await make.user()
        clients = [await connect(server, make.realm_id, user) for server in servers]
        answers = [await statuses(client, 1) for _ in range(30) for client in clients]
    assert answers.count([200]) == 40
    assert answers[-1] == answers[-2] == [429]


async def test_one_process_may_use_all_of_a_budget(database):
    assert await allowed(limiter(database, StoppedClock(), f"200/{WINDOW}"), "k", 300) == 200


async def test_a_request_costs_no_query(database):
    counting = limiter(database, StoppedClock(), f"200/{WINDOW}")
    await counting.count("k", {})
    async with database.transaction() as connection:
        await connection.execute("LOCK TABLE rate_limits")
        with capture_logs() as refusals:
            for _ in range(49):
                await counting.count("k", {})
    assert refusals == []


async def test_requests_that_come_together_wait_for_one_lease(database):
    counting = limiter(database, StoppedClock(), f"200/{WINDOW}")
    await asyncio.gather(*(counting.count("k", {}) for _ in range(50)))
    async with database.connection() as connection:
        assert await connection.values("SELECT used FROM rate_limits") == [50]


async def test_a_budget_comes_back_with_time(database):
    clock = StoppedClock()
    counting = limiter(database, clock)
    assert await allowed(counting, "k", 30) == 20
    clock.advance(timedelta(seconds=120))
    await age_windows(database, 120)
    assert await allowed(counting, "k", 30) == 20


async def test_who_waits_as_long_as_told_is_let_in(database):
    clock = StoppedClock()
    counting = limiter(database, clock, f"4/{WINDOW}")
    assert await allowed(counting, "k", 10) == 4
    with pytest.raises(RateLimitedError) as refused:
        await counting.count("k", {})
    wait = refused.value.details["retry-after"]
    assert 0 < wait <= 2 * WINDOW
    # The windows are the database's: an earlier use is the same as a later now.
    clock.advance(timedelta(seconds=2 * WINDOW))
    await age_windows(database, 2 * WINDOW)
    await counting.count("k", {})


async def test_a_light_user_keeps_the_whole_budget(database):
    clock = StoppedClock()
    counting = limiter(database, clock, f"200/{WINDOW}")
    headers: dict[str, str] = {}
    for _ in range(4):
        await counting.count("k", headers)
        clock.advance(timedelta(seconds=WINDOW))
        await age_windows(database, WINDOW)
        counting._leases["k"].window -= 1
    await counting.count("k", headers)
    assert int(headers["X-RateLimit-Remaining"]) >= 198


@pytest.mark.parametrize("jump", [timedelta(days=1), timedelta(days=-1)])
async def test_a_wall_clock_that_jumps_changes_nothing(database, jump):
    clock = StoppedClock()
    counting = limiter(database, clock)
    assert await allowed(counting, "k", 10) == 10
    clock._now += jump
    assert await allowed(counting, "k", 30) == 10


@pytest.mark.parametrize("seconds", [10 * WINDOW, -10 * WINDOW])
async def test_a_database_clock_that_jumps_gives_a_new_budget_and_no_error(database, seconds):
    clock = StoppedClock()
    counting = limiter(database, clock)
    assert await allowed(counting, "k", 30) == 20
    await age_windows(database, seconds)
    clock.advance(timedelta(seconds=WINDOW))
    assert await allowed(counting, "k", 30) == 20


async def test_an_attacker_with_many_addresses_fills_no_memory(database):
    counting = limiter(database, StoppedClock(), capacity=50)
    for number in range(200):
        await counting.count(f"address {number}", {})
    assert len(counting) == 50
    # Who was forgotten is not let in more often for it.
    assert await allowed(counting, "address 0", 30) <= 19


async def test_no_client_is_refused_while_the_database_is_away(database_url):
    async with open_database(database_url, min_size=1) as closed:
        pass
    clock = StoppedClock()
    counting = limiter(closed, clock)
    assert await allowed(counting, "k", 15) == 15
    clock.advance(timedelta(seconds=UNAVAILABLE_SECONDS + 1))
    assert await allowed(counting, "k", 15) == 15


async def test_a_database_that_does_not_answer_holds_up_one_request(database, monkeypatch):
    monkeypatch.setattr(rate_limit, "LEASE_TIMEOUT_SECONDS", 0.1)
    counting = limiter(database, StoppedClock())
    async with database.transaction() as connection:
        await connection.execute("LOCK TABLE rate_limits")
        with capture_logs() as waits:
            for number in range(20):
                await counting.count(f"k{number}", {})
    assert len(waits) == 1


async def test_counting_goes_on_when_the_database_is_back(database, monkeypatch):
    clock = StoppedClock()
    counting = limiter(database, clock)
    async with database.transaction() as connection:
        await connection.execute("LOCK TABLE rate_limits")
        with monkeypatch.context() as impatient:
            impatient.setattr(rate_limit, "LEASE_TIMEOUT_SECONDS", 0.1)
            await counting.count("k", {})
    clock.advance(timedelta(seconds=UNAVAILABLE_SECONDS + 1))
    assert await allowed(counting, "k", 30) == 20


async def test_old_windows_are_swept(database):
    counting = limiter(database, StoppedClock())
    await counting.count("k", {})
    await age_windows(database, 10 * WINDOW)
    await counting.sweep()
    async with database.connection() as connection:
        assert await connection.values("SELECT key FROM rate_limits") == []


async def test_a_name_has_few_tries_wherever_they_come_from(serving_with, connect, make):
    proxies = "127.0.0.1"
    async with serving_with(rate_limits=True, trusted_proxies=proxies) as server:
        anonymous = await connect(server, make.realm_id)

        async def try_name(name: str, number: int) -> int:
            answer = await anonymous.call(
                "POST",
                "/fetch_api_key",
                headers={"X-Forwarded-For": f"198.51.100.{number}"},
                username=name,
                password="wrong",
            )
            return int(answer.status)

        assert [await try_name("A@example.com", n) for n in range(5)] == [401] * 5
        assert await try_name(" a@EXAMPLE.com ", 6) == 429
        assert await try_name("b@example.com", 7) == 401


async def test_of_ten_thousand_tries_a_day_few_are_looked_at(database):
    clock, rate = StoppedClock(), load_settings(environ={}).rate_limit_sign_in
    assert repr(rate) == "5/1800"
    counting = Limiter("sign-in", rate, database, clock)
    looked_at = 0
    for _ in range(48):
        looked_at += await allowed(counting, "k", 10_000 // 48)
        clock.advance(timedelta(seconds=1800))
        await age_windows(database, 1800)
    assert 48 <= looked_at <= 240


async def test_the_right_password_clears_the_tries(serving_with, connect, make):
    async with serving_with(rate_limits=True) as server:
        user = await make.user()
        password_hash = await server.app.passwords.hash("correct horse")
        async with server.app.database.connection() as connection:
            await connection.execute(
                "UPDATE users SET password_hash = %(new)s WHERE user_id = %(id)s",
                new=password_hash,
                id=user.user_id,
            )
        anonymous = await connect(server, make.realm_id)
        passwords = ["wrong", "wrong", "correct horse", "wrong", "wrong", "wrong", "wrong"]
        answers = [
            await anonymous.call("POST", "/fetch_api_key", username=user.email, password=password)
            for password in passwords
        ]
        assert [answer.status for answer in answers] == [401, 401, 200, 401, 401, 401, 401]


async def test_credentials_are_checked_before_the_form_is_read(serving_with, connect, make):
    async with serving_with(rate_limits=True) as server:
        anonymous = await connect(server, make.realm_id)
        answer = await anonymous.send(
            "POST",
            "/messages",
            body=b"\xff",
            headers={"Authorization": basic("x@example.com", "k")},
        )
        answer.refused("INVALID_API_KEY", 401)
