"""What load balancers and Prometheus are told is true."""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families
from psycopg import sql
from tornado.httpclient import AsyncHTTPClient, HTTPResponse
from typing_extensions import override

from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.messaging.job_broker import OutgoingJob
from server.messaging.postgres_desk import PostgresJobDesk
from server.operator.port import MetricsPort, metrics_port
from server.runtime.version import VERSION
from server.writer import WriteTx
from storage import workers
from storage.database import Database, StatementTimeoutError
from storage.ids import Position
from storage.jobs import QueueStats
from storage.workers import WorkerRow
from testkit.clients.server import Server, serve
from testkit.database import new_database
from testkit.factories import Make
from testkit.services.proxy import proxy_to


def at_work(*, lag: float | None) -> WorkerRow:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return WorkerRow("w", "host", 7, "0.1.0", moment, lag, {"deferred_work": {}})


async def get(url: str, method: str = "GET") -> HTTPResponse:
    return await AsyncHTTPClient().fetch(url, method=method, raise_error=False)


@pytest.mark.asyncio
async def test_health_tells_whether_events_are_shipped(server: Server, database: Database):
    answer = await get(f"{server.url}/health")
    assert answer.code == 503
    assert json.loads(answer.body) == {
        "status": "unwell",
        "database": "ok",
        "broker": "ok",
        "shipper": "no worker leads it",
    }
    for lag, code, shipper in (
        (None, 503, "no worker leads it"),
        (0.5, 200, "ok"),
        (99.0, 503, "99 seconds behind the log"),
    ):
        async with database.connection() as connection:
            await workers.report(connection, at_work(lag=lag))
        answer = await get(f"{server.url}/health")
        assert (answer.code, json.loads(answer.body)["shipper"]) == (code, shipper)
    async with database.connection() as connection:
        await connection.execute("UPDATE workers SET seen_at = now() - interval '1 minute'")
    assert json.loads((await get(f"{server.url}/health")).body)["shipper"] == "no worker leads it"


@pytest.mark.asyncio
async def test_a_process_is_ready_until_it_drains(server: Server):
    answer = await get(f"{server.url}/ready")
    assert (answer.code, json.loads(answer.body)) == (200, {"status": "ok", "database": "ok"})
    assert (await get(f"{server.url}/ready", "HEAD")).code == 200
    server.api.handler_context.is_draining = True
    answer = await get(f"{server.url}/ready")
    assert (answer.code, json.loads(answer.body)["status"]) == (503, "draining")


@pytest.mark.asyncio
async def test_a_database_that_is_away_is_told_of_and_found_again(database_url: str):
    port = int(psycopg.conninfo.conninfo_to_dict(database_url).get("port") or 5432)
    async with proxy_to(port) as proxy:
        through = database_url.replace(f":{port}/", f":{proxy.port}/")
        async with serve(through) as server:
            assert (await get(f"{server.url}/ready")).code == 200
            proxy.refuse()
            ready, health = await get(f"{server.url}/ready"), await get(f"{server.url}/health")
            assert (ready.code, json.loads(ready.body)["database"]) == (
                503,
                "no answer: nothing listens there",
            )
            assert (health.code, json.loads(health.body)["shipper"]) == (503, "not known")
            pages = MetricsPort(server.app, server.api.handler_context.checks, ["x"], [])
            told = samples((await pages.metrics(""))[0])
            assert math.isnan(told["parley_state", ("ship_lag_seconds",)])
            assert told["parley_state", ("event_queues",)] == 0
            await proxy.allow()
            while (await get(f"{server.url}/ready")).code != 200:
                pass


@pytest.mark.asyncio
async def test_a_database_that_takes_no_writes_is_told_of(server_url: str, template_database: str):
    """As after a switch to a standby that has not been promoted."""
    with new_database(server_url, template_database) as url:
        async with serve(url) as server:
            await _takes_no_writes_for_a_while(server, url)


async def _takes_no_writes_for_a_while(server: Server, url: str) -> None:
    with taking_no_writes(url):
        while (await get(f"{server.url}/ready")).code == 200:
            pass
        while (told := await health_of(server))["database"] != "takes no writes":
            pass
        assert told["status"] == "unwell"
    while (await get(f"{server.url}/ready")).code != 200:
        pass


async def health_of(server: Server) -> dict[str, str]:
    return dict(json.loads((await get(f"{server.url}/health")).body))


@contextmanager
def taking_no_writes(url: str) -> Iterator[None]:
    name = sql.Identifier(str(psycopg.conninfo.conninfo_to_dict(url)["dbname"]))
    with psycopg.connect(url, autocommit=True) as connection:
        for change in ("SET default_transaction_read_only = on", "RESET ALL"):
            statement = sql.SQL("ALTER DATABASE {} {}").format(name, sql.SQL(change))
            connection.execute(statement)
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            if change != "RESET ALL":
                yield


async def tick(tx: WriteTx) -> None:
    tx.append(Tick(), NO_AUDIENCE)


@pytest.mark.asyncio
async def test_a_process_says_for_how_long_it_has_been_behind_the_log(server: Server, make: Make):
    follower = await server.app.realtime.follower(make.realm_id)
    assert server.app.state()["log_lag_seconds"] == 0
    follower.notice(follower.epoch, Position(follower.position + 1))  # it is not written yet
    await get(f"{server.url}/ready")
    assert server.app.state()["log_lag_seconds"] > 0
    await server.app.writers.of(make.realm_id).write(tick)
    assert await follower.reach(Position(follower.position), 20)
    assert server.app.state()["log_lag_seconds"] == 0


@pytest.mark.asyncio
async def test_a_broker_that_is_away_is_told_of_and_leaves_the_process_ready(
    database_url: str, database: Database
):
    async with serve(database_url, amqp_url="amqp://guest:guest@127.0.0.1:1/") as server:
        async with database.connection() as connection:
            await workers.report(connection, at_work(lag=0.0))
        health = await get(f"{server.url}/health")
        assert (health.code, json.loads(health.body)["broker"]) == (503, "not connected")
        assert (await get(f"{server.url}/ready")).code == 200


def samples(text: bytes) -> dict[tuple[str, tuple[str, ...]], float]:
    """Each sample by its name and the values of its labels, by the names of these."""
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


@pytest.mark.asyncio
async def test_metrics_tell_the_rest_while_the_queues_are_too_slow(server: Server):
    class Slow(PostgresJobDesk):
        @override
        async def stats(self, queues: Sequence[str]) -> list[QueueStats]:
            raise StatementTimeoutError

    app = replace(server.app, desk=Slow(server.app.database))
    port = MetricsPort(app, server.api.handler_context.checks, ["x"], [])
    told = samples((await port.metrics(""))[0])
    assert told["parley_state", ("event_queues",)] == 0


@pytest.mark.asyncio
async def test_metrics_tell_of_requests_queues_and_connections(
    database: Database, database_url: str, unused_tcp_port: int
):
    async with (
        serve(database_url, metrics_port=unused_tcp_port) as server,
        metrics_port(server.app, ["deferred_work"]) as port,
    ):
        await server.app.jobs.publish(OutgoingJob(queue="deferred_work", body=b"{}", asked_at=1.0))
        async with database.connection() as connection:
            await workers.pause(connection, "deferred_work")
        await get(f"{server.url}/api/v1/server_settings")
        await get(f"{server.url}/nonsense")
        async with metrics_port(server.app) as next_port:  # of another process
            assert next_port not in {None, port}
        url = f"http://127.0.0.1:{port}"
        found = samples((await get(f"{url}/metrics")).body)
        assert (await get(f"{url}/ready")).code == 200
        assert (await get(f"{url}/")).code == 404
        refused = await AsyncHTTPClient().fetch(
            f"{url}/metrics", method="POST", body=b"", raise_error=False
        )
        assert refused.code == 405
    requests = {
        labels[:2]: value
        for (name, labels), value in found.items()
        if name == "parley_request_seconds_count"
    }
    assert requests == {("/server_settings", "GET"): 1, ("none", "GET"): 1}
    assert found["parley_queue_jobs", ("deferred_work", "waiting")] == 1
    assert found["parley_queue_oldest_seconds", ("deferred_work",)] > 1_000_000
    assert found["parley_state", ("event_queues",)] == 0
    assert found["parley_state", ("broker_connected",)] == 1
    assert found["parley_state", ("log_lag_seconds",)] == 0
    assert found["parley_queue_workers", ("deferred_work",)] == 0
    assert found["parley_queue_paused", ("deferred_work",)] == 1
    assert found["parley_info", (VERSION,)] == 1
    assert found["process_resident_memory_bytes", ()] > 1_000_000
    assert found["parley_state", ("database_connections_size",)] >= 1


@pytest.mark.asyncio
async def test_a_database_without_room_is_told_of_though_it_can_be_read(
    server_url: str, template_database: str
):
    """As with a full disk: what needs room fails, and nothing else."""
    with new_database(server_url, template_database) as url:
        name = sql.Identifier(str(psycopg.conninfo.conninfo_to_dict(url)["dbname"]))
        with psycopg.connect(url, autocommit=True) as connection:
            change = sql.SQL("ALTER DATABASE {} SET temp_file_limit = 0").format(name)
            connection.execute(change)
        async with serve(url) as server:
            answer = await get(f"{server.url}/ready")
            told = json.loads(answer.body)["database"]
            assert (answer.code, told.partition(":")[0]) == (503, "takes no writes")
            async with server.app.database.connection() as reading:
                assert await reading.value("SELECT count(*) FROM realms") == 0
