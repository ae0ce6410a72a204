"""Measure the memory of an idle installation: with RabbitMQ, and after much work."""

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg

from benchmarks import world as worlds
from benchmarks.client import Client, clients
from benchmarks.server import PARLEY, Server, pss, temporary_data, wait_for_answer
from storage.embedded import embedded_postgres
from testkit.faults.rabbitmq import PrivateRabbit, rabbitmq_script
from testkit.free_ports import free_port

SECONDS: Final = 30.0
"""After the start: spare connections are closed by then."""
PEOPLE: Final = 1_000
CLIENTS: Final = 48
"""Three times as many as the server has connections to its database."""
LOAD_SECONDS: Final = 20.0
REST_SECONDS: Final = 60.0
OWNER: Final = ("--owner-email", "owner@example.com", "--owner-name", "Olivia Owner")


def measure() -> dict[str, float]:
    """MiB (PSS) of the server, of the worker, of Postgres and of RabbitMQ."""
    script = rabbitmq_script()
    assert script is not None, "RabbitMQ is not installed"
    with temporary_data() as data:
        rabbit = PrivateRabbit(data.parent, script)
        try:
            asyncio.run(rabbit.start())
            with embedded_postgres(data) as url, _parley(url, rabbit.url) as (server, worker):
                time.sleep(SECONDS)
                return {
                    "the server": _mib(server.pid),
                    "the worker": _mib(worker.pid),
                    "Postgres": _mib(_postmaster(data)),
                    "RabbitMQ": sum(_mib(each) for each in _beams(data.parent)),
                }
        finally:
            rabbit.close()


def fill(database: psycopg.Connection[Any]) -> tuple[worlds.World, int]:
    """An organization, and a channel of all its people."""
    world = worlds.fill(database, people=PEOPLE)
    return world, worlds.channel(database, world, "busy", PEOPLE)


async def after_load(
    server: Server, world: worlds.World, channel_id: int
) -> dict[str, tuple[float, float]]:
    """MiB (PSS) of the server and of Postgres before, at the end of, and a minute after the load.

    Half of the clients send, the others register and read history.
    """
    found = {"before load": server.pss_mib_by_part()}
    end = time.monotonic() + LOAD_SECONDS
    crowd = clients(server, world, CLIENTS)
    await asyncio.gather(
        *[_send_until(end, client, channel_id) for client in crowd[::2]],
        *[_read_until(end, client) for client in crowd[1::2]],
    )
    found["at the end of load"] = server.pss_mib_by_part()
    for client in crowd:
        client.close()
    await asyncio.sleep(REST_SECONDS)
    found["a minute after load"] = server.pss_mib_by_part()
    return found


async def _send_until(end: float, client: Client, channel_id: int) -> None:
    request = client.send_request(channel_id, "load", "A message of an ordinary length.")
    while time.monotonic() < end:
        await client.timed(request)


async def _read_until(end: float, client: Client) -> None:
    while time.monotonic() < end:
        queue = await client.register()
        await client.get("/messages", anchor="newest", num_before=100, num_after=0)
        await client.timed(client.request("DELETE", "/events", queue_id=queue))


Popen = subprocess.Popen[bytes]


@contextmanager
def _parley(database_url: str, amqp_url: str) -> Iterator[tuple[Popen, Popen]]:
    """A server and a worker, as `parley serve` and `parley worker` start them."""
    environment = {**os.environ, "DATABASE_URL": database_url, "AMQP_URL": amqp_url}  # noqa: TID251
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for command in (["migrate"], ["realm", "create", "--name", "Idle", *OWNER]):
        subprocess.run(
            [str(PARLEY), *command], env=environment, check=True, stdout=subprocess.DEVNULL
        )
    port = free_port()
    commands = (["serve", "--port", str(port)], ["worker"])
    started = [
        subprocess.Popen([str(PARLEY), *command], env=environment, stderr=subprocess.DEVNULL)
        for command in commands
    ]
    try:
        server, worker = started
        wait_for_answer(server, port)
        yield server, worker
    finally:
        for each in started:
            each.terminate()
        for each in started:
            each.wait(60)


def _postmaster(data: Path) -> int:
    return int((data / "postgres" / "postmaster.pid").read_text().split()[0])


def _beams(directory: Path) -> list[int]:
    """The broker's own processes, and not the shells that have started them."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == "beam.smp" and str(directory) in process.environ().get("HOME", ""):
                found.append(process.pid)
    return found


def _mib(pid: int) -> float:
    process = psutil.Process(pid)
    return sum(pss(each) for each in (process, *process.children(recursive=True))) / 1024
