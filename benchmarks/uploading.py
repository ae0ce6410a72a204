"""Measure what a very large upload and download costs the serving process."""

import base64
import os
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
from tusclient.client import TusClient

from benchmarks import world as worlds
from benchmarks.server import Server
from benchmarks.world import World

MIB = 1024 * 1024
FILE_MIB = 1024
CHUNK_MIB = 32
LOOK_SECONDS = 0.02
SETTLING_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Moved:
    """One way of the file."""

    seconds: float
    growth_mib: float
    """Peak growth of the process."""
    cpu_seconds: float


def measure(server: Server, database: psycopg.Connection) -> dict[str, Moved]:
    """The file comes by tus in pieces, then by tus in one, and is read."""
    world = worlds.fill(database, people=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.bin"
        with path.open("wb") as file:
            for _ in range(FILE_MIB):
                file.write(os.urandom(MIB))
        return {
            "in pieces": _watched(server, lambda: _upload(server, world, path, CHUNK_MIB)),
            "in one": _watched(server, lambda: _upload(server, world, path, FILE_MIB)),
            "out": _watched(server, lambda: _read(server, database, world, path)),
        }


def _headers(world: World) -> dict[str, str]:
    credentials = f"{world.email(1)}:{worlds.API_KEY}".encode()
    return {"Authorization": f"Basic {base64.b64encode(credentials).decode()}"}


def _upload(server: Server, world: World, path: Path, chunk_mib: int) -> None:
    client = TusClient(f"http://127.0.0.1:{server.port}/api/v1/tus", headers=_headers(world))
    uploader = client.uploader(
        str(path), chunk_size=chunk_mib * MIB, metadata={"filename": path.name}
    )
    uploader.upload()


def _read(server: Server, database: psycopg.Connection, world: World, path: Path) -> None:
    """Read it, and compare."""
    [path_id] = database.execute("SELECT max(path_id) FROM attachments").fetchone() or [""]
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/user_uploads/{path_id}", headers=_headers(world)
    )
    with urllib.request.urlopen(request) as answer, path.open("rb") as file:
        while piece := answer.read(MIB):
            assert piece == file.read(len(piece)), "it is not what was sent"
        assert not file.read(1), "it is cut"


def _watched(server: Server, work: Callable[[], None]) -> Moved:
    """Do it, and look all the time how large the process is."""
    time.sleep(SETTLING_SECONDS)
    before = largest = server.rss_kib()
    cpu, begin = server.cpu_seconds(), time.perf_counter()
    ended = threading.Event()

    def look() -> None:
        nonlocal largest
        while not ended.wait(LOOK_SECONDS):
            largest = max(largest, server.rss_kib())

    looking = threading.Thread(target=look)
    looking.start()
    try:
        work()
    finally:
        ended.set()
        looking.join()
    seconds = time.perf_counter() - begin
    return Moved(seconds, (largest - before) / 1024, server.cpu_seconds() - cpu)
