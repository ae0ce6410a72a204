"""Signals cancel what is starting, and let what runs finish."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from server.runtime.stop_signals import StopSignals

HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in HANDLED}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", HANDLED)
def test_what_is_starting_is_cancelled_and_closed(number: signal.Signals):
    steps: list[str] = []

    async def process() -> None:
        async with StopSignals():
            try:
                send(number)
                await asyncio.sleep(60)
                steps.append("started")
            finally:
                await asyncio.sleep(0)  # cleaning up may wait
                steps.append("closed")
        steps.append("ended")

    asyncio.run(process())
    assert steps == ["closed", "ended"]


@pytest.mark.parametrize("number", HANDLED)
def test_what_runs_finishes_its_work_whatever_signals_follow(number: signal.Signals):
    steps: list[str] = []

    async def process() -> None:
        async with StopSignals() as stop:
            asyncio.get_running_loop().call_soon(send, number)
            await stop.wait()
            for again in (signal.SIGTERM, signal.SIGHUP):
                send(again)
                await asyncio.sleep(0.01)
            steps.append("finished")
        steps.append("ended")

    asyncio.run(process())
    send(signal.SIGTERM)  # the loop is closed, the process not yet gone
    assert steps == ["finished", "ended"]


def test_a_signal_before_the_wait_is_not_lost():
    async def process() -> None:
        async with StopSignals() as stop:
            waiting = asyncio.ensure_future(stop.wait())
            await asyncio.sleep(0)
            send(signal.SIGTERM)
            await waiting

    asyncio.run(process())


def test_a_second_ctrl_c_interrupts_the_clean_up():
    async def process() -> None:
        async with StopSignals() as stop:
            asyncio.get_running_loop().call_soon(send, signal.SIGINT)
            await stop.wait()
            send(signal.SIGINT)
            await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(process())


def test_an_ignored_hangup_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    steps: list[str] = []

    async def process() -> None:
        async with StopSignals():
            send(signal.SIGHUP)
            await asyncio.sleep(0.01)
            steps.append("started")

    asyncio.run(process())
    assert steps == ["started"]


def test_errors_and_other_cancellations_pass():
    async def failing() -> None:
        async with StopSignals():
            raise LookupError

    async def cancelled() -> None:
        async with StopSignals():
            task = asyncio.current_task()
            assert task
            task.cancel()
            await asyncio.sleep(60)

    with pytest.raises(LookupError):
        asyncio.run(failing())
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
