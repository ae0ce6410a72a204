"""Finishes long pieces of work that their own process may not have lived to finish."""

from collections.abc import Mapping
from typing import Any

import msgspec

from queue_processors.processor import PermanentError, Processor
from queue_processors.realm_exports import make_export
from server.actions import realm_exports
from server.actions.access.deferred import ACCESS_CHANGE
from server.actions.erasing import ERASING
from server.actions.messages.moving_steps import MOVING
from server.actions.profile_choices import WITHDRAWING
from server.actions.stepped_work import Finish, SteppedWorkKind, finish
from server.actions.subscriptions.steps import SUBSCRIBING
from server.app import App
from server.jobs import DeferredWork

KINDS: Mapping[str, SteppedWorkKind[Any, Any]] = {
    kind.step: kind for kind in (ACCESS_CHANGE, ERASING, MOVING, SUBSCRIBING, WITHDRAWING)
}
"""By the name that jobs give the step. A name stays for as long as a job may hold it."""


async def handle(
    app: App, job: DeferredWork, *, kinds: Mapping[str, SteppedWorkKind[Any, Any]] = KINDS
) -> None:
    """Do what is left of the work, however far it has come, and tell people of it.

    It goes on from the progress that the work's own transactions have recorded, so doing it
    twice, or beside the process that began it, does no harm.
    """
    if job.step == realm_exports.STEP:
        await make_export(app, job.realm_id, bytes(job.arguments))
        return
    kind = kinds.get(job.step)
    if kind is None:
        raise PermanentError(f"no step is named {job.step!r}")
    try:
        arguments = msgspec.json.decode(job.arguments, type=Finish)
    except msgspec.DecodeError as error:
        raise PermanentError(f"arguments of {job.step!r}: {error}") from error
    await finish(app.realm_services(job.realm_id), kind, arguments.work_id)


PROCESSOR = Processor(DeferredWork, handle)
