"""Process the deferred work queue: finish long tasks after their own process has ended."""

from collections.abc import Mapping
from typing import Any

import msgspec

from queue_processors.account_exports import make_account_export
from queue_processors.processor import PermanentError, Processor
from queue_processors.realm_exports import make_export
from server.actions import account_exports, realm_exports
from server.actions.access.deferred import ACCESS_CHANGE
from server.actions.compliance.notices import OWNER_NOTICES
from server.actions.departed_users import DELETING
from server.actions.erasing import ERASING
from server.actions.messages.moving_steps import MOVING
from server.actions.profile_choices import WITHDRAWING
from server.actions.stepped_work import Finish, SteppedWorkKind, finish
from server.actions.subscriptions.steps import SUBSCRIBING
from server.app import App
from server.imports.abandoning import ABANDONING
from server.jobs import DeferredWork

KINDS: Mapping[str, SteppedWorkKind[Any, Any]] = {
    kind.step: kind
    for kind in (
        *(ABANDONING, ACCESS_CHANGE, DELETING, ERASING, MOVING, OWNER_NOTICES, SUBSCRIBING),
        WITHDRAWING,
    )
}
"""Tasks by the name that jobs have for them. A name stays for as long as a job may hold it."""


async def handle(
    app: App, job: DeferredWork, *, kinds: Mapping[str, SteppedWorkKind[Any, Any]] = KINDS
) -> None:
    """Finish a task from its recorded progress, and publish its events.

    Idempotent: the task's transactions record its progress, so a retry, or the process that began
    the task running concurrently, does no harm.
    """
    if job.step == realm_exports.STEP:
        await make_export(app, job.realm_id, bytes(job.arguments))
        return
    if job.step == account_exports.STEP:
        await make_account_export(app, job.realm_id, bytes(job.arguments))
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
