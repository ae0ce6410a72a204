"""Finishes long pieces of work that their own process may not have lived to finish."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from queue_processors.processor import PermanentError, Processor
from server.actions.channels.aftermath import AFTERMATH
from server.actions.messages.moving_steps import MOVING
from server.actions.stepped_work import Finish, Kind, finish
from server.actions.subscriptions.steps import SUBSCRIBING
from server.app import App
from server.jobs import DeferredWork
from storage.ids import RealmId

Arguments = TypeVar("Arguments")


@dataclass(frozen=True, slots=True)
class Step(Generic[Arguments]):
    """A function that finishes one kind of work, however far it has come: also if it is done.

    It goes on from the progress that the work's own transactions have recorded, so running it
    twice, or beside the process that began the work, does no harm.
    """

    arguments: type[Arguments]
    run: Callable[[App, RealmId, Arguments], Awaitable[None]]


def finishing(kind: Kind[Any]) -> Step[Finish]:
    """Does what is left of such work, and tells people of it."""

    async def run(app: App, realm_id: RealmId, arguments: Finish) -> None:
        await finish(app.workbench(realm_id), kind, arguments.work_id)

    return Step(Finish, run)


STEPS: Mapping[str, Step[Any]] = {
    kind.step: finishing(kind) for kind in (AFTERMATH, MOVING, SUBSCRIBING)
}
"""All steps by the name that jobs give them. A name stays for as long as a job may hold it."""


async def handle(app: App, job: DeferredWork, *, steps: Mapping[str, Step[Any]] = STEPS) -> None:
    """Run the job's step. Idempotent because each step is."""
    step = steps.get(job.step)
    if step is None:
        raise PermanentError(f"no step is named {job.step!r}")
    try:
        arguments = msgspec.json.decode(job.arguments, type=step.arguments)
    except msgspec.DecodeError as error:
        raise PermanentError(f"arguments of {job.step!r}: {error}") from error
    await step.run(app, job.realm_id, arguments)


PROCESSOR = Processor(DeferredWork, handle)
