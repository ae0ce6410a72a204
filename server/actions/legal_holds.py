"""Place and release legal holds, as an owner or a compliance officer."""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from server.actions import audit
from server.actions.compliance.officers import lock_as_owner_or_officer
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, LegalHoldError
from server.domain.legal_holds import (
    MAX_ACTIVE,
    MAX_NAME_LENGTH,
    MAX_REASON_LENGTH,
    HoldScope,
    checked_text,
)
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import channels, legal_holds, users
from storage.ids import LegalHoldId, UserId
from storage.legal_holds import LegalHoldRow

HELD: Final = _(
    "A legal hold covers this account, so its data cannot be erased. An owner can release the hold."
)


async def place_hold(
    tx: Tx, actor: Actor, name: str, reason: str, scope: HoldScope, *, now: datetime
) -> LegalHoldId:
    """Place a hold; return its id.

    From the commit on nothing that it covers is deleted for good. Raises a DomainError.
    """
    # Writes that delete share a lock on the realm's row: each is over, or sees the hold.
    await lock_as_owner_or_officer(tx, actor)
    name = checked_text("name", name, limit=MAX_NAME_LENGTH)
    reason = checked_text("reason", reason, limit=MAX_REASON_LENGTH)
    scope.check()
    await _check_known(tx, scope)
    if await legal_holds.count_active(await tx.connection(), tx.realm_id) >= MAX_ACTIVE:
        raise BadRequestError(_("Too many legal holds (limit: {limit})", limit=MAX_ACTIVE))
    row = LegalHoldRow(
        hold_id=LegalHoldId(0),
        name=name,
        reason=reason,
        is_realm_wide=scope.is_realm_wide,
        user_ids=sorted(set(scope.user_ids)),
        channel_ids=sorted(set(scope.channel_ids)),
        sent_from=scope.sent_from,
        sent_until=scope.sent_until,
        creator_id=actor.user_id,
        created_at=now,
    )
    hold_id = await legal_holds.insert(await tx.changing(), tx.realm_id, row)
    entry = tx.append(Tick(), NO_AUDIENCE)
    after = _facts(replace(row, hold_id=hold_id))
    audit.record_outcomes(tx, entry, actor.user_id, "legal_hold_placed", {hold_id: after})
    return hold_id


async def release_hold(
    tx: Tx, actor: Actor, hold_id: LegalHoldId, reason: str, *, now: datetime
) -> None:
    """Release an active hold: what only it has kept goes soon. Raises a DomainError."""
    await lock_as_owner_or_officer(tx, actor)
    reason = checked_text("reason", reason, limit=MAX_REASON_LENGTH)
    found = await tx.lock(legal_holds.locking(tx.realm_id, hold_id))
    if not found:
        raise BadRequestError(_("There is no such legal hold."))
    [row] = found
    if row.released_at is not None:
        raise BadRequestError(_("The legal hold has been released already."))
    await legal_holds.release(
        await tx.changing(),
        tx.realm_id,
        hold_id,
        releaser_id=actor.user_id,
        released_at=now,
        reason=reason,
    )
    entry = tx.append(Tick(), NO_AUDIENCE)
    before, after = {"name": row.name}, {"reason": reason}
    audit.record(
        tx,
        entry,
        actor.user_id,
        "legal_hold_released",
        subject_id=hold_id,
        before=before,
        after=after,
    )


async def check_not_held(tx: Tx, *user_ids: UserId) -> None:
    """Raise LegalHoldError if a hold covers one of the users, or what one has sent or uploaded.

    The caller has locked the realm's row.
    """
    if await legal_holds.held_users(await tx.connection(), tx.realm_id, user_ids):
        raise LegalHoldError(HELD)


async def _check_known(tx: Tx, scope: HoldScope) -> None:
    connection = await tx.connection()
    people = await users.by_ids(connection, tx.realm_id, list(scope.user_ids))
    known = {row.user_id for row in people if not row.is_system_bot}
    if not known >= set(scope.user_ids):
        raise BadRequestError(_("Invalid user ID"))
    rows = await channels.by_ids(connection, tx.realm_id, list(scope.channel_ids))
    if not {row.channel_id for row in rows} >= set(scope.channel_ids):
        raise BadRequestError(_("Invalid channel ID"))


def _facts(row: LegalHoldRow) -> dict[str, Any]:
    """Return what the audit log says of a new hold."""
    facts: dict[str, Any] = {
        "name": row.name,
        "reason": row.reason,
        "whole_organization": row.is_realm_wide,
        "user_ids": row.user_ids,
        "channel_ids": row.channel_ids,
    }
    for name in ("sent_from", "sent_until"):
        moment: datetime | None = getattr(row, name)
        facts[name] = None if moment is None else int(moment.timestamp())
    return facts
