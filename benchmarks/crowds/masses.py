"""More clients than one process may have files: all at once, and very many waiting ones.

They live in processes of their own, and the server is `parley serve --processes N` beside the
`parley run` that brings the database.
"""

import asyncio
import json
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from queue import Queue
from threading import Event
from typing import Final

import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.crowds.crowd import Crowd
from benchmarks.crowds.returning import Answers, come
from benchmarks.crowds.waiting import fill, polls, settled
from benchmarks.server import Server
from benchmarks.serving import Processes, processes
from benchmarks.world import World

A_PROCESS: Final = 10_000
"""Connections of one process of clients."""
PATIENCE_SECONDS: Final = 600.0
COMING_PATIENCE_SECONDS: Final = 120.0
STARTING_SECONDS: Final = 3.0
"""Until all processes of clients have started."""
MOST_PROCESSES: Final = 16
"""Of clients that wait: each time that some come, they are processes of their own."""
DIRECT_MESSAGES: Final = 200
BETWEEN_SECONDS: Final = 0.02


def come_back(
    server: Server, people: int, processes_of_server: int
) -> tuple[Answers, float, float]:
    """All clients have a queue; the server restarts, and within a second all of them poll it.

    Also the seconds of the processors that it takes the server, and its database.
    """
    with server.database() as database:
        world, _, queue_ids = fill(database, people)
    with processes(server, processes_of_server) as serving:
        requests = polls(serving.port, world, queue_ids, dont_block=True)
        serving.stop()
        serving.start()
        before = serving.cpu_seconds(), server.database_cpu_seconds()
        answers = come_at_once(serving.port, requests)
        after = serving.cpu_seconds(), server.database_cpu_seconds()
        return answers, after[0] - before[0], after[1] - before[1]


def come_at_once(port: int, requests: Sequence[bytes]) -> Answers:
    """Within a second each of these is sent, on a connection of its own."""
    parts = _parts(requests)
    with _clients(len(parts)) as pool:
        begin = time.perf_counter() + STARTING_SECONDS
        coming = [pool.submit(come, port, part, begin, COMING_PATIENCE_SECONDS) for part in parts]
        return _together(coming)


def wait_in_thousands(
    server: Server, people: int, processes_of_server: int
) -> tuple[list[float], float, Answers]:
    """Seconds of direct messages among so many who wait; MiB of the server's processes."""
    with server.database() as database:
        world, _, queue_ids = fill(database, people + 1)
    with processes(server, processes_of_server) as serving, masses(serving.port) as crowd:
        crowd.come(polls(serving.port, world, queue_ids[1:], first=2))
        taken = uvloop.run(_time_messages(serving, world, queue_ids[0]))
        mib = serving.pss_mib()
        return taken, mib, crowd.leave()


class Masses:
    """Clients that wait, and poll on, in processes of their own."""

    def __init__(self, port: int, pool: ProcessPoolExecutor, ready: "Queue[int]", done: Event):
        self._port = port
        self._pool = pool
        self._ready = ready
        self._done = done
        self._waiting: list[Future[Answers]] = []

    def come(self, requests: Sequence[bytes]) -> None:
        """Let so many more ask; returns when all of them have."""
        parts = _parts(requests)
        self._waiting += [
            self._pool.submit(_wait, self._port, part, self._ready, self._done) for part in parts
        ]
        for _ in parts:
            self._ready.get(timeout=PATIENCE_SECONDS)

    def leave(self) -> Answers:
        """Let all of them go; what they were answered."""
        self._done.set()
        return _together(self._waiting)


@contextmanager
def masses(port: int) -> Iterator[Masses]:
    """The processes of the clients, without clients at first."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, _clients(MOST_PROCESSES) as pool:
        crowd = Masses(port, pool, manager.Queue(), manager.Event())
        try:
            yield crowd
        finally:
            crowd.leave()


@contextmanager
def _clients(count: int) -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        yield pool


def _parts(requests: Sequence[bytes]) -> list[Sequence[bytes]]:
    return [requests[n : n + A_PROCESS] for n in range(0, len(requests), A_PROCESS)]


def _together(futures: "list[Future[Answers]]") -> Answers:
    every = Answers()
    for each in futures:
        every.add(each.result(PATIENCE_SECONDS))
    return every


def _wait(port: int, requests: Sequence[bytes], ready: "Queue[int]", done: Event) -> Answers:
    """In a process of its own: wait until all is over."""
    return uvloop.run(_wait_there(port, requests, ready, done))


async def _wait_there(
    port: int, requests: Sequence[bytes], ready: "Queue[int]", done: Event
) -> Answers:
    crowd = Crowd(polls_on=True)
    crowd.expect(10 * len(requests))
    await crowd.come(port, requests)
    ready.put(len(requests))
    await asyncio.to_thread(done.wait)
    crowd.leave()
    return Answers(statuses=crowd.statuses, lost=crowd.cut, arrived=crowd.arrived)


async def _time_messages(serving: Processes, world: World, queue_id: str) -> list[float]:
    """Send messages to oneself; the seconds until each arrives on another connection."""
    await settled(serving)
    sender = Client(serving.port, world.email(1), worlds.API_KEY)
    reader = Client(serving.port, world.email(1), worlds.API_KEY)
    taken: list[float] = []
    last_id = -1
    for number in range(DIRECT_MESSAGES):
        poll = asyncio.create_task(reader.get("/events", queue_id=queue_id, last_event_id=last_id))
        await asyncio.sleep(BETWEEN_SECONDS)
        begin = time.perf_counter()
        await sender.post(
            "/messages", type="direct", to=[world.first_user_id], content=f"note {number}"
        )
        last_id = json.loads(await poll)["events"][-1]["id"]
        taken.append(time.perf_counter() - begin)
    return taken
