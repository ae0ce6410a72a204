"""Confined workers: what they answer, and of what they die."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from server.runtime.sandbox import Worker, WorkerDiedError

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def worker() -> AsyncIterator[Worker]:
    worker = Worker("testkit.stuck_worker")
    yield worker
    await worker.end()


async def test_one_process_answers_one_request_after_another(worker):
    for request in (b"", b"x", b"y" * (3 << 20)):
        assert await worker.ask(request) == request
    assert worker.starts == 1


@pytest.mark.parametrize(
    ("request_", "is_of_the_request"),
    [
        (b"loop", True),
        (b"crash", True),
        (b"exit", False),
        (b"be killed", False),
        (b"much memory", False),
    ],
)
async def test_what_ends_it_is_told_apart_and_hurts_nothing_that_follows(
    worker, request_, is_of_the_request
):
    with pytest.raises(WorkerDiedError) as death:
        await worker.ask(request_)
    assert death.value.is_of_the_request is is_of_the_request
    assert await worker.ask(b"x") == b"x"


async def test_a_module_that_cannot_start_is_no_fault_of_the_request():
    with pytest.raises(WorkerDiedError) as death:
        await Worker("testkit.there_is_no_such_module").ask(b"x")
    assert not death.value.is_of_the_request


async def test_a_caller_that_gives_up_ends_the_work(worker):
    await worker.ask(b"x")
    process = worker.process
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await worker.ask(b"loop")
    assert process.returncode is not None
    assert await worker.ask(b"x") == b"x"
