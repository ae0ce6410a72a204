"""Large files come by clients as people install them, though the server is killed."""

import asyncio
import hashlib
import random
import sys
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from queue_processors.blob_keeper import MIN_ORPHAN_AGE, BlobKeeper
from server.domain.attachments import MIB
from server.domain.clock import SystemClock
from testkit.clients.api import Client, basic, elsewhere
from testkit.clients.connections import Connections
from testkit.clients.server import serve
from testkit.clock import StoppedClock
from testkit.faults.processes import Servers
from testkit.test_services import NODE_CLIENTS

pytestmark = pytest.mark.asyncio

HERE = Path(__file__).parent
SIZE, PIECE = 48 * MIB, 16 * MIB
PATIENCE_SECONDS = 60.0
CLIENTS: dict[str, list[str]] = {
    "tuspy": [sys.executable, "-m", "tests.acceptance.tus_upload"],
    "tus-js-client": ["node", str(HERE / "tus_upload.cjs"), str(NODE_CLIENTS)],
}


async def said(process: asyncio.subprocess.Process) -> AsyncIterator[str]:
    assert process.stdout is not None
    async for line in process.stdout:
        yield line.decode().strip()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_so():  # noqa: ASYNC110 - a folder has no callback
            await asyncio.sleep(0.001)


def kept(data: Path) -> list[Path]:
    return [path for path in (data / "files").rglob("*") if path.is_file()]


def coming_in(data: Path) -> bool:
    """Whether a piece is half there."""
    found = (data / "files" / "incoming").glob("*")
    return any(path.stat().st_size > MIB for path in found if path.exists())


def kill(servers: Servers) -> None:
    for process in servers.processes:
        process.kill()
        process.wait()
    servers.start_missing()


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_file_is_whole_however_often_the_server_is_killed(
    client, database_url, make, tmp_path
):
    alice = await make.user()
    await make.connection.execute("UPDATE realms SET subdomain = ''")  # at any address
    data, path = tmp_path / "data", tmp_path / "film.mp4"
    content = random.Random(1).randbytes(SIZE)
    path.write_bytes(content)
    environment = {
        "DATABASE_URL": database_url,
        "PARLEY_DATA": str(data),
        "PARLEY_MAX_FILE_UPLOAD_MIB": "64",
    }
    command = (sys.executable, "-m", "scripts.cli.main", "serve")
    servers = Servers(command, environment, 1, tmp_path / "log")
    try:
        servers.start_missing()
        address = f"http://127.0.0.1:{servers.port}/api/v1/tus"
        key = basic(alice.email, alice.api_key)
        process = await asyncio.create_subprocess_exec(
            *CLIENTS[client], address, key, str(path), str(PIECE), stdout=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(3 * PATIENCE_SECONDS):
            await until(lambda: coming_in(data))
            kill(servers)  # amid the first piece
            there = [line async for line in between_pieces(process, servers)]
            assert there[-1] == "done", servers.last_words()
            assert await process.wait() == 0
        connections = Connections(servers.port)
        reader = Client(elsewhere(connections), "localhost", alice.email, alice.api_key)
        [listed] = (await reader.get("/attachments"))["attachments"]
        got = await reader.fetch(f"/user_uploads/{listed['path_id']}")
        assert listed["size"] == SIZE
        assert hashlib.sha256(got.content).digest() == hashlib.sha256(content).digest()
        connections.close()
    finally:
        servers.close()
    later = StoppedClock(SystemClock().now() + MIN_ORPHAN_AGE + timedelta(hours=1))
    async with serve(database_url, data=data, clock=later) as server:
        await BlobKeeper.of(server.app).tidy()
        assert [len(each.read_bytes()) for each in kept(data)] == [SIZE]


async def between_pieces(
    process: asyncio.subprocess.Process, servers: Servers
) -> AsyncIterator[str]:
    """What the client says; the server is killed after each piece, and after the last one."""
    async for line in said(process):
        if line.startswith("there"):
            kill(servers)
        yield line
