"""The watchdog of the event loop: what it measures, and what it logs."""

import asyncio
import threading
import time
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from server.messaging.background import running
from server.runtime.watchdog import LoopWatchdog
from server.telemetry.metrics import Metrics

pytestmark = pytest.mark.asyncio


async def test_a_block_is_measured():
    seen: list[float] = []
    async with running(LoopWatchdog(seen.append, beat_seconds=0.005).run()):
        await asyncio.sleep(0.02)
        _block_for(0.3)
        await asyncio.sleep(0.05)
    assert max(seen) >= 0.28


async def test_a_long_block_is_logged_once_with_the_stack_of_what_blocks():
    with capture_logs() as logs:
        async with running(LoopWatchdog(lambda _: None).run()):
            await asyncio.sleep(0.05)
            _block_for(0.7)
            await asyncio.sleep(0.05)
    mine = [each for each in logs if "_block_for" in each.get("stack", "")]
    assert len(mine) == 1
    assert mine[0]["event"] == "event_loop.blocked"
    assert mine[0]["seconds"] >= 0.1


async def test_what_waits_blocks_nothing():
    seen: list[float] = []
    async with running(LoopWatchdog(seen.append, noted_seconds=0.5, beat_seconds=0.01).run()):
        await asyncio.sleep(0.7)
    assert seen == []


async def test_its_thread_ends_with_it():
    watchdog = LoopWatchdog(lambda _: None)
    task = asyncio.create_task(watchdog.run())
    await asyncio.sleep(0.02)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert "loop watchdog" not in [each.name for each in threading.enumerate()]


async def test_the_metric_counts_blocks_and_their_time():
    metrics = Metrics()
    metrics.loop_blocked(0.03)
    metrics.loop_blocked(2.0)
    told = metrics.text().decode()
    assert "parley_loop_blocked_seconds_sum 2.03" in told
    assert 'parley_loop_blocked_seconds_bucket{le="0.05"} 1.0' in told


def _block_for(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
