"""Measure the memory of an idle installation with RabbitMQ."""

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

from benchmarks.server import PARLEY, free_port, pss, temporary_data, wait_for_answer
from storage.embedded import embedded_postgres
from testkit.faults.rabbitmq import PrivateRabbit, rabbitmq_script

SECONDS: Final = 30.0
"""After the start: spare connections are closed by then."""
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
