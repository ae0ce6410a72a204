"""Abandon an import that has not ended: what has come stays, the rest does not come.

What needs no file is still done, in steps: thumbnails, the activity of channels, the removal of
keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from server.actions import audit
from server.actions import imports as requests
from server.actions.locked_realm import lock_as_owner, lock_realm
from server.actions.realm_services import RealmServices
from server.actions.stepped_work import Step, SteppedWorkKind, put_off
from server.domain.actor import Actor
from server.domain.errors import NotFoundError
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.imports.importing import KEYS, LINKS, MESSAGES, POLICIES, THUMBNAILS
from server.imports.joining import JOINING, publish_channel_activity
from server.imports.report import ImportReport
from server.jobs import Thumbnails, enqueue
from server.transactions import Tx
from storage import attachments, import_keys, imported_messages, imports
from storage.ids import AttachmentId, ChannelId, Position, UserId
from storage.imports import UnfinishedImportRow

BATCH: Final = 1_000
"""Keys or thumbnails in a transaction."""
AFTER_MESSAGES: Final = frozenset({LINKS, POLICIES, THUMBNAILS, KEYS})
"""Phases in which all messages have come."""


class AbandonPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The abandoned import, with what was not done for what has come."""

    import_id: int
    first_position: Position | None
    """The position below those of its messages; None: it has none yet."""
    channel_ids: list[ChannelId]
    """Channels with messages of which clients do not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandonment:
    row: UnfinishedImportRow
    """As it was; the report is what has come."""
    channel_ids: Sequence[ChannelId]
    """All channels that have come."""
    work_id: str | None
    """Id of unfinished work, which `stepped_work.finish` continues."""


def messages_of(row: UnfinishedImportRow) -> int:
    """Return how many messages of the file have been read and imported, or left out."""
    if row.phase == MESSAGES:
        return row.done
    return row.total if row.phase in AFTER_MESSAGES else 0


async def abandon_as_owner(tx: Tx, actor: Actor, import_id: int, now: datetime) -> Abandonment:
    """Abandon this import. For owners. Raises BadRequestError and NotFoundError."""
    await lock_as_owner(tx, actor)
    return await _abandon(tx, import_id, actor.user_id, now)


async def abandon(tx: Tx, import_id: int, now: datetime) -> Abandonment:
    """Abandon this import, for an operator. Raises NotFoundError if it is not there, or has ended.

    A process that is running it stops at its next step.
    """
    await lock_realm(tx, alone=True)
    return await _abandon(tx, import_id, None, now)


async def _abandon(tx: Tx, import_id: int, actor_id: UserId | None, now: datetime) -> Abandonment:
    tx.must_be_exact()
    found = [
        row
        for row in await tx.lock(imports.locking_unfinished(tx.realm_id))
        if row.import_id == import_id
    ]
    if not found:
        raise NotFoundError(_("There is no such import that has not ended."))
    [row] = found
    connection = await tx.changing()
    places = await import_keys.keys_of(connection, tx.realm_id, import_id, "channel")
    channel_ids = sorted({ChannelId(each) for each in places.values()})
    report = ImportReport.of(row.report).without_examples().as_json()
    await connection.run(imports.abandon(tx.realm_id, import_id, report=report, ended_at=now))
    await requests.end_of_abandoned(tx, row.fingerprint, now)
    audit.record(
        tx,
        tx.append(Tick(), NO_AUDIENCE),
        actor_id,
        "realm_import_abandoned",
        before={},
        after={
            "source": row.source,
            "messages_done": messages_of(row),
            "messages_total": row.total,
        },
    )
    plan = AbandonPlan(
        import_id=import_id,
        first_position=None if row.phase in JOINING else row.first_position,
        channel_ids=channel_ids if row.phase == MESSAGES else [],
    )
    work_id = await put_off(tx, ABANDONING, plan, done=0)
    return Abandonment(row=row, channel_ids=channel_ids, work_id=work_id)


async def _take(tx: Tx, plan: AbandonPlan, step: Step) -> int | None:
    """Take the next step: a channel's activity, some thumbnails, or some keys.

    The progress counts the channels, and then adds the last attachment with a thumbnail.
    """
    first_attachment = len(plan.channel_ids)
    if step.done < first_attachment:
        await publish_channel_activity(plan.channel_ids[step.done], tx)
        return step.done + 1
    connection = await tx.changing()
    above = AttachmentId(step.done - first_attachment)
    if ids := await attachments.without_thumbnails(connection, tx.realm_id, above, limit=step.size):
        for each in ids:
            enqueue(tx, Thumbnails(realm_id=tx.realm_id, attachment_id=each))
        return first_attachment + ids[-1]
    left = await import_keys.forget_some(
        connection, tx.realm_id, plan.import_id, ("", ""), limit=step.size
    )
    if left is not None:
        return step.done
    if plan.first_position is not None:
        await connection.run(imported_messages.index_again(tx.realm_id, plan.first_position))
    return None


def _no_messages(plan: AbandonPlan, work_id: str) -> Sequence[None]:
    del plan, work_id
    return ()


async def _deliver_nothing(services: RealmServices, message: None) -> None:
    del services, message


ABANDONING: Final = SteppedWorkKind(
    "abandon_import", AbandonPlan, BATCH, _take, _no_messages, _deliver_nothing
)
