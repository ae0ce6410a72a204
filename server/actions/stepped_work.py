"""Run long work in steps, each a transaction that records its progress.

The process that began continues; a job takes over if that fails. Both may run at once.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar
from uuid import uuid4

import msgspec

from server.actions.realm_services import RealmServices
from server.jobs import DeferredWork, enqueue
from server.transactions import Tx
from storage import stepped_work
from storage.ids import RealmId
from storage.stepped_work import WorkRow

JOB_DELAY_SECONDS: Final = 30
"""By then, the process that began has finished, or is dead."""

Plan = TypeVar("Plan", bound=msgspec.Struct)
Message = TypeVar("Message")


class Finish(msgspec.Struct, frozen=True):
    """The job's arguments."""

    work_id: str


@dataclass(frozen=True, slots=True)
class Step:
    """The step to take next."""

    done: int
    """The progress, as the step before returned it."""
    size: int
    """Size of the transaction, in the unit of the kind."""
    now: datetime


@dataclass(frozen=True, slots=True)
class SteppedWorkKind(Generic[Plan, Message]):
    """A kind of stepped work."""

    step: str
    """Name of the job's step. It stays for as long as a job may hold it."""
    plan: type[Plan]
    size: int
    """Size of one transaction, in the unit of the kind."""
    take: Callable[[Tx, Plan, Step], Awaitable[int | None]]
    """Takes the next step; returns the new progress, or None when nothing is left to do."""
    messages: Callable[[Plan, str], Sequence[Message]]
    """Returns the messages to send when all is done, given the work's id."""
    deliver: Callable[[RealmServices, Message], Awaitable[None]]
    """Sends one of them."""

    def job(self, realm_id: RealmId, work_id: str) -> DeferredWork:
        return DeferredWork.of(realm_id, self.step, Finish(work_id))


async def put_off(
    tx: Tx, kind: SteppedWorkKind[Plan, Message], plan: Plan, *, done: int | None
) -> str | None:
    """Store the remaining work for later transactions; return its id, or None if there is none.

    With `done` None only messages remain. One transaction may leave several works.
    """
    work_id = str(uuid4())
    if done is None and not kind.messages(plan, work_id):
        return None
    row = WorkRow(work_id, msgspec.to_builtins(plan), done)
    await stepped_work.insert(await tx.changing(), tx.realm_id, row)
    enqueue(tx, kind.job(tx.realm_id, work_id), after_seconds=JOB_DELAY_SECONDS)
    return work_id


async def finish(
    services: RealmServices,
    kind: SteppedWorkKind[Plan, Message],
    work_id: str | None,
    *,
    size: int | None = None,
    steps: int | None = None,
) -> None:
    """Continue the work until it is done and its messages are sent; return at once if it was.

    After so many steps, if they are limited, the rest is left to the job.
    """
    if work_id is None:
        return
    size = size or kind.size
    while await services.write(
        lambda tx: take_step(tx, kind, work_id, size, now=services.clock.now())
    ):
        if steps is not None:
            steps -= 1
            if steps == 0:
                return
    async with services.read() as connection:
        work = await stepped_work.by_id(connection, services.realm_id, work_id)
    if work is None:
        return
    for message in kind.messages(msgspec.convert(work.plan, kind.plan), work_id):
        await kind.deliver(services, message)
    await services.write(lambda tx: _end(tx, work_id))


async def take_step(
    tx: Tx, kind: SteppedWorkKind[Plan, Message], work_id: str, size: int, *, now: datetime
) -> bool:
    """Take the next step. Return whether more is left to do."""
    tx.must_be_exact()
    work = await _lock(tx, work_id)
    if work is None or work.done is None:
        return False
    plan = msgspec.convert(work.plan, kind.plan)
    done = await kind.take(tx, plan, Step(work.done, size, now))
    connection = await tx.changing()
    if done is None and not kind.messages(plan, work_id):
        await stepped_work.delete(connection, tx.realm_id, work_id)
    else:
        await stepped_work.go_on(connection, tx.realm_id, work_id, done=done)
    return done is not None


async def _lock(tx: Tx, work_id: str) -> WorkRow | None:
    # Finished work must not look like work that is locked by another process.
    if await stepped_work.by_id(await tx.connection(), tx.realm_id, work_id) is None:
        return None
    found = await tx.lock(stepped_work.locking(tx.realm_id, work_id))
    return found[0] if found else None


async def _end(tx: Tx, work_id: str) -> None:
    if await _lock(tx, work_id) is not None:
        await stepped_work.delete(await tx.changing(), tx.realm_id, work_id)
