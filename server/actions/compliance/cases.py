"""Open, approve and close compliance cases, and record the searches in them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from server.actions import audit
from server.actions.compliance.notices import notify_owners
from server.actions.compliance.officers import lock_as_officer, lock_as_owner_or_officer
from server.actions.credential_changes import Proof, check_proof
from server.domain.actor import Actor
from server.domain.compliance import MAX_OPEN_CASES, described, state_of
from server.domain.errors import BadRequestError
from server.domain.legal_holds import MAX_REASON_LENGTH, checked_text
from server.domain.markdown.writing import literal, mention
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import Text, _
from server.transactions import Tx
from storage import compliance
from storage.compliance import CaseRow
from storage.ids import ComplianceCaseId

NOT_OPEN = _("The compliance case is not open.")


@dataclass(frozen=True, slots=True)
class OpenedCase:
    case_id: ComplianceCaseId
    work_id: str | None
    """Of OWNER_NOTICES, to be finished."""


async def open_case(
    tx: Tx, actor: Actor, reason: str, hours: int, proof: Proof, *, now: datetime
) -> OpenedCase:
    """Open a case as an officer; it waits for another officer where two are needed.

    Raises a DomainError.
    """
    await lock_as_officer(tx, actor)
    await check_proof(tx, actor.user_id, proof)
    reason = checked_text("reason", reason, limit=MAX_REASON_LENGTH)
    connection = await tx.connection()
    known = await compliance.cases(connection, tx.realm_id, limit=1_000)
    own = [row for row in known if row.creator_id == actor.user_id]
    if sum(state_of(row, now) != "closed" for row in own) >= MAX_OPEN_CASES:
        raise BadRequestError(_("Too many open cases (limit: {limit})", limit=MAX_OPEN_CASES))
    needs_approval = await compliance.needs_two_persons(connection, tx.realm_id)
    row = CaseRow(
        case_id=ComplianceCaseId(0),
        creator_id=actor.user_id,
        reason=reason,
        hours=hours,
        needs_approval=needs_approval,
        opened_at=now,
        approver_id=None,
        ends_at=None if needs_approval else now + timedelta(hours=hours),
        closed_at=None,
        searches=0,
    )
    case_id = await compliance.insert_case(await tx.changing(), tx.realm_id, row)
    after = {"reason": reason, "hours": hours, "needs_approval": needs_approval}
    _record(tx, actor, "compliance_case_opened", case_id, after)
    names = {"actor": mention(actor.row), "id": case_id, "reason": literal(reason)}
    text = (
        _("{actor} asks for the approval of the compliance case {id}: {reason}", **names)
        if needs_approval
        else _("{actor} opened the compliance case {id}: {reason}", **names)
    )
    return OpenedCase(case_id, await notify_owners(tx, text))


async def approve_case(
    tx: Tx, actor: Actor, case_id: ComplianceCaseId, proof: Proof, *, now: datetime
) -> str | None:
    """Approve another officer's case, which is open from now on; return the id of OWNER_NOTICES.

    Raises a DomainError.
    """
    await lock_as_officer(tx, actor)
    await check_proof(tx, actor.user_id, proof)
    row = await _lock_case(tx, case_id)
    if state_of(row, now) != "waiting":
        raise BadRequestError(_("The compliance case does not wait for an approval."))
    if row.creator_id == actor.user_id:
        raise BadRequestError(_("Another compliance officer has to approve the case."))
    ends_at = now + timedelta(hours=row.hours)
    new = replace(row, approver_id=actor.user_id, ends_at=ends_at)
    await compliance.update_case(await tx.changing(), tx.realm_id, new)
    _record(tx, actor, "compliance_case_approved", case_id, {"creator_id": row.creator_id})
    text = _("{actor} approved the compliance case {id}.", actor=mention(actor.row), id=case_id)
    return await notify_owners(tx, text)


async def close_case(
    tx: Tx, actor: Actor, case_id: ComplianceCaseId, *, now: datetime
) -> str | None:
    """Close a case, as an owner or an officer; return the id of OWNER_NOTICES.

    Raises a DomainError.
    """
    await lock_as_owner_or_officer(tx, actor)
    row = await _lock_case(tx, case_id)
    if state_of(row, now) == "closed":
        raise BadRequestError(NOT_OPEN)
    await compliance.update_case(await tx.changing(), tx.realm_id, replace(row, closed_at=now))
    _record(tx, actor, "compliance_case_closed", case_id, {})
    text = _("{actor} closed the compliance case {id}.", actor=mention(actor.row), id=case_id)
    return await notify_owners(tx, text)


async def record_search(
    tx: Tx,
    actor: Actor,
    case_id: ComplianceCaseId,
    query: Mapping[str, Any],
    *,
    count: int,
    is_first_page: bool,
    now: datetime,
) -> str | None:
    """Record a search of the case's creator before its results are returned.

    Owners are notified of the first page of each search; returns the id of OWNER_NOTICES. Raises a
    DomainError unless the case is open, and the actor its creator and still an officer.
    """
    await lock_as_officer(tx, actor)
    row = await _lock_case(tx, case_id)
    check_may_search(row, actor, now)
    new = replace(row, searches=row.searches + 1)
    await compliance.update_case(await tx.changing(), tx.realm_id, new)
    _record(tx, actor, "compliance_searched", case_id, {**query, "count": count})
    if not is_first_page:
        return None
    return await notify_owners(tx, _search_text(actor, case_id, query, count))


def check_may_search(row: CaseRow | None, actor: Actor, now: datetime) -> None:
    """Raise BadRequestError unless the case is open, and the actor its creator."""
    if row is None or row.creator_id != actor.user_id or state_of(row, now) != "open":
        raise BadRequestError(NOT_OPEN)


def _search_text(
    actor: Actor, case_id: ComplianceCaseId, query: Mapping[str, Any], count: int
) -> Text:
    return _(
        "{actor} searched all messages in the compliance case {id} ({count} found): {query}",
        actor=mention(actor.row),
        id=case_id,
        count=count,
        query=literal(described(query)),
    )


async def _lock_case(tx: Tx, case_id: ComplianceCaseId) -> CaseRow:
    found = await tx.lock(compliance.locking_case(tx.realm_id, case_id))
    if not found:
        raise BadRequestError(_("There is no such compliance case."))
    return found[0]


def _record(
    tx: Tx, actor: Actor, action: str, case_id: ComplianceCaseId, after: Mapping[str, Any]
) -> None:
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_outcomes(tx, entry, actor.user_id, action, {case_id: after})
