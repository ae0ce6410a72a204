"""A deferred piece of work is the kind that its job names."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from queue_processors import deferred_work
from queue_processors.processor import PermanentError
from queue_processors.registry import PROCESSORS, UnknownProcessorError, named
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.notices import deliver
from server.actions.stepped_work import Finish, Step, SteppedWorkKind, put_off
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.jobs import DeferredWork
from server.transactions import Tx
from storage import stepped_work
from storage.ids import RealmId


class Plan(msgspec.Struct):
    channel_id: int


class Work:
    """Work of one kind, which keeps what it was asked to do."""

    def __init__(self) -> None:
        self.done: list[tuple[int, int, int]] = []
        self.kinds = {
            "finish": SteppedWorkKind("finish", Plan, 1, self._take, self._drafts, deliver)
        }

    async def _take(self, tx: Tx, plan: Plan, step: Step) -> int | None:
        self.done.append((tx.realm_id, plan.channel_id, step.done))
        tx.append(Tick(), NO_AUDIENCE)
        return step.done + step.size if step.done < 2 else None

    def _drafts(self, _plan: Plan, _work_id: str) -> Sequence[OutgoingMessage]:
        return []


def as_the_worker_reads(job: DeferredWork) -> DeferredWork:
    return msgspec.json.decode(msgspec.json.encode(job), type=DeferredWork)


@pytest.mark.asyncio
async def test_work_of_the_named_kind_is_finished_from_where_it_is(server, make):
    work = Work()
    kind = work.kinds["finish"]
    writer = server.app.writers.of(make.realm_id)
    work_id = await writer.write(lambda tx: put_off(tx, kind, Plan(channel_id=9), done=1))
    job = as_the_worker_reads(kind.job(make.realm_id, work_id))
    for _ in range(2):
        await deferred_work.handle(server.app, job, kinds=work.kinds)
    assert work.done == [(make.realm_id, 9, 1), (make.realm_id, 9, 2)]
    assert await stepped_work.by_id(make.connection, make.realm_id, work_id) is None


@pytest.mark.asyncio
async def test_one_write_may_leave_several_works(server, make):
    work = Work()
    kind = work.kinds["finish"]

    async def leave_two(tx: Tx) -> list[str | None]:
        return [await put_off(tx, kind, Plan(channel_id=each), done=2) for each in (8, 9)]

    found = await server.app.writers.of(make.realm_id).write(leave_two)
    for each in found:
        job = as_the_worker_reads(kind.job(make.realm_id, each))
        await deferred_work.handle(server.app, job, kinds=work.kinds)
    assert work.done == [(make.realm_id, 8, 2), (make.realm_id, 9, 2)]


@pytest.mark.parametrize(
    "job",
    [
        DeferredWork.of(RealmId(3), "unheard of", Finish(work_id="x")),
        DeferredWork.of(RealmId(3), "finish", {"work_id": 9}),
    ],
    ids=["step", "arguments"],
)
@pytest.mark.asyncio
async def test_what_can_never_run_is_a_permanent_error(server, job: DeferredWork):
    work = Work()
    with pytest.raises(PermanentError):
        await deferred_work.handle(server.app, as_the_worker_reads(job), kinds=work.kinds)
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
