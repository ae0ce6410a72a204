"""A deferred piece of work is the step that its job names."""

from typing import Any, cast

import msgspec
import pytest

from queue_processors import deferred_work
from queue_processors.deferred_work import Step
from queue_processors.processor import PermanentError
from queue_processors.registry import PROCESSORS, UnknownProcessorError, named
from server.app import App
from server.jobs import DeferredWork
from storage.ids import RealmId


class Arguments(msgspec.Struct):
    channel_id: int


class Work:
    """Steps that keep what they were asked to do."""

    def __init__(self) -> None:
        self.done: list[tuple[int, int]] = []
        self.steps = {"finish": Step(Arguments, self.finish)}

    async def finish(self, _app: App, realm_id: RealmId, arguments: Arguments) -> None:
        self.done.append((realm_id, arguments.channel_id))

    async def handle(self, job: DeferredWork) -> None:
        await deferred_work.handle(cast("App", None), job, steps=self.steps)


def as_the_worker_reads(job: DeferredWork) -> DeferredWork:
    return msgspec.json.decode(msgspec.json.encode(job), type=DeferredWork)


@pytest.mark.asyncio
async def test_the_named_step_runs_with_its_arguments():
    work = Work()
    job = DeferredWork.of(RealmId(3), "finish", Arguments(channel_id=9))
    await work.handle(as_the_worker_reads(job))
    assert work.done == [(3, 9)]


@pytest.mark.parametrize(
    "job",
    [
        DeferredWork.of(RealmId(3), "unheard of", Arguments(channel_id=9)),
        DeferredWork.of(RealmId(3), "finish", {"channel_id": "nine"}),
    ],
    ids=["step", "arguments"],
)
@pytest.mark.asyncio
async def test_what_can_never_run_is_a_permanent_error(job: DeferredWork):
    work = Work()
    with pytest.raises(PermanentError):
        await work.handle(as_the_worker_reads(job))
    assert work.done == []


def test_processors_are_found_by_their_queue():
    assert named([]) == PROCESSORS
    assert named(["deferred_work", "deferred_work"]) == (deferred_work.PROCESSOR,)
    with pytest.raises(UnknownProcessorError, match=r"nonsense.*deferred_work"):
        named(["nonsense"])


def test_no_queue_has_two_processors():
    queues: list[Any] = [processor.queue for processor in PROCESSORS]
    assert len(set(queues)) == len(queues)


def test_every_job_says_what_makes_doing_it_twice_harmless():
    silent = [each.job.__name__ for each in PROCESSORS if not each.job.idempotent_by]
    assert silent == []
