"""Long work goes in steps, each a transaction that records how far it has come.

Whoever began goes on with it; a job goes on if they cannot. Both may at once.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import msgspec

from server.actions.messages import notices
from server.actions.messages.decide import Draft
from server.actions.realm_services import RealmServices
from server.jobs import DeferredWork, enqueue
from server.transactions import Tx
from storage import stepped_work
from storage.ids import RealmId
from storage.stepped_work import WorkRow

JOB_DELAY_SECONDS: Final = 30
"""Whoever began has finished by then, or is dead."""

Plan = TypeVar("Plan", bound=msgspec.Struct)


class Finish(msgspec.Struct, frozen=True):
    """The job's arguments."""

    work_id: str


@dataclass(frozen=True, slots=True)
class Kind(Generic[Plan]):
    """One kind of such work."""

    step: str
    """The name of the job's step. It stays for as long as a job may hold it."""
    plan: type[Plan]
    size: int
    """What one transaction does of it, in whatever the kind counts."""
    take: Callable[[Tx, Plan, int, int], Awaitable[int | None]]
    """Does the next of it, given how far it has come and the size; returns how far it has come
    then, or None when nothing is left to do."""
    drafts: Callable[[Plan, str], Sequence[Draft]]
    """What people are told when all is done, given the work's id."""

    def job(self, realm_id: RealmId, work_id: str) -> DeferredWork:
        return DeferredWork.of(realm_id, self.step, Finish(work_id))


async def put_off(tx: Tx, kind: Kind[Plan], plan: Plan, *, done: int | None) -> str:
    """Leave what is left to later transactions: the id under which they go on with it."""
    row = WorkRow(tx.write_id, msgspec.to_builtins(plan), done)
    await stepped_work.insert(await tx.changing(), tx.realm_id, row)
    enqueue(tx, kind.job(tx.realm_id, tx.write_id), after_seconds=JOB_DELAY_SECONDS)
    return tx.write_id


async def finish(
    bench: RealmServices, kind: Kind[Plan], work_id: str | None, *, size: int | None = None
) -> None:
    """Go on with the work until it is done and told; at once if it is, or there was none."""
    if work_id is None:
        return
    size = size or kind.size
    while await bench.write(lambda tx: take_step(tx, kind, work_id, size)):
        pass
    async with bench.read() as connection:
        work = await stepped_work.by_id(connection, bench.realm_id, work_id)
    if work is None:
        return
    for draft in kind.drafts(msgspec.convert(work.plan, kind.plan), work_id):
        await notices.deliver(bench, draft)
    await bench.write(lambda tx: _end(tx, work_id))


async def take_step(tx: Tx, kind: Kind[Plan], work_id: str, size: int) -> bool:
    """Do the next of it. Return whether more is left to do."""
    tx.must_be_exact()
    work = await _lock(tx, work_id)
    if work is None or work.done is None:
        return False
    plan = msgspec.convert(work.plan, kind.plan)
    done = await kind.take(tx, plan, work.done, size)
    connection = await tx.changing()
    if done is None and not kind.drafts(plan, work_id):
        await stepped_work.delete(connection, tx.realm_id, work_id)
    else:
        await stepped_work.go_on(connection, tx.realm_id, work_id, done=done)
    return done is not None


async def _lock(tx: Tx, work_id: str) -> WorkRow | None:
    # Work that is done must not look like work that a user holds.
    if await stepped_work.by_id(await tx.connection(), tx.realm_id, work_id) is None:
        return None
    found = await tx.lock(stepped_work.locking(tx.realm_id, work_id))
    return found[0] if found else None


async def _end(tx: Tx, work_id: str) -> None:
    if await _lock(tx, work_id) is not None:
        await stepped_work.delete(await tx.changing(), tx.realm_id, work_id)
