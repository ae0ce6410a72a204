"""Process the imports queue: run each import in a process of its own.

Reading and rendering years of messages would hold up everything else in a worker's process.
"""

import asyncio
import pickle
import sys
from typing import Final

from queue_processors.import_process import TEMPORARY, Errand
from queue_processors.processor import Processor, RetryLaterError
from server.actions import imports as actions
from server.app import App
from server.jobs import Imports
from storage import import_requests

SLICE_SECONDS: Final = 1200.0
"""How long one job takes: brokers take back jobs that are not acknowledged for half an hour."""
STOP_SECONDS: Final = 20.0
RETRY_SECONDS: Final = 10.0


async def handle(app: App, job: Imports) -> None:
    """Go on with an import until it ends, or for as long as one job may take."""
    async with app.database.connection() as connection:
        row = await import_requests.by_id(connection, job.realm_id, job.request_id)
    if row is None or not row.is_under_way:
        return
    services = app.uncached_realm_services(job.realm_id)
    code = await run(Errand(app.settings, job.realm_id, job.request_id))
    if code == TEMPORARY:
        raise RetryLaterError("the import could not begin", after_seconds=RETRY_SECONDS)
    if code is None:
        await services.write(lambda tx: actions.go_on(tx, job.request_id))
    elif code:
        now = app.clock.now()
        await services.write(lambda tx: actions.note_crash(tx, job.request_id, now))


async def run(errand: Errand, *, seconds: float = SLICE_SECONDS) -> int | None:
    """Run an import in a process; return its exit code, or None if it was stopped in between.

    The process ends with this one: it has the other end of a pipe.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "queue_processors.import_process", stdin=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    try:
        process.stdin.write(pickle.dumps(errand))
        await process.stdin.drain()
        return await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        return None
    except (BrokenPipeError, ConnectionResetError):
        return await process.wait()
    finally:
        if process.returncode is None:
            await _stop(process)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End the process: whatever it does is committed or undone."""
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


PROCESSOR = Processor(Imports, handle, prefetch=1)
