"""Appoint and dismiss compliance officers, as an owner; and check who is one."""

from datetime import datetime

from server.actions import audit
from server.actions.compliance.notices import notify_owners
from server.actions.credential_changes import Proof, check_proof
from server.actions.locked_realm import lock_as_owner, lock_with_actor
from server.domain.access import GUEST, OWNER
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.domain.markdown.writing import mention
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import compliance, users
from storage.database import Connection
from storage.ids import UserId

NOT_AN_OFFICER = _("Must be a compliance officer")
NOT_ALLOWED = _("Must be an organization owner or a compliance officer")


async def lock_as_officer(tx: Tx, actor: Actor) -> None:
    """Lock the realm's row exclusively, for a compliance officer. Raises a DomainError."""
    await lock_with_actor(tx, actor)
    if not await compliance.is_officer(await tx.connection(), tx.realm_id, actor.user_id):
        raise BadRequestError(NOT_AN_OFFICER)


async def lock_as_owner_or_officer(tx: Tx, actor: Actor) -> None:
    """Lock the realm's row exclusively, for an owner or an officer. Raises a DomainError."""
    _realm, row = await lock_with_actor(tx, actor)
    if row.bot_type is None and row.role == OWNER:
        return
    if not await compliance.is_officer(await tx.connection(), tx.realm_id, actor.user_id):
        raise BadRequestError(NOT_ALLOWED)


async def check_owner_or_officer(connection: Connection, actor: Actor) -> None:
    """Raise BadRequestError unless the actor is an owner or a compliance officer."""
    if actor.role != OWNER and not await compliance.is_officer(
        connection, actor.realm_id, actor.user_id
    ):
        raise BadRequestError(NOT_ALLOWED)


async def appoint_officer(
    tx: Tx, actor: Actor, user_id: UserId, proof: Proof, *, now: datetime
) -> str | None:
    """Appoint an active person who is no guest; return the id of OWNER_NOTICES to be finished.

    Raises a DomainError.
    """
    await lock_as_owner(tx, actor)
    await check_proof(tx, actor.user_id, proof)
    [own, *found] = await _people(tx, actor, user_id)
    row = found[0] if found else own
    if row.user_id != user_id or not row.is_active or row.bot_type is not None:
        raise BadRequestError(_("Invalid user ID"))
    if row.role == GUEST:
        raise BadRequestError(_("Guests cannot be compliance officers."))
    connection = await tx.changing()
    if not await compliance.appoint(
        connection, tx.realm_id, user_id, creator_id=actor.user_id, now=now
    ):
        raise BadRequestError(_("This user is a compliance officer already."))
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_outcomes(tx, entry, actor.user_id, "user_compliance_appointed", {user_id: {}})
    text = _(
        "{actor} appointed {person} as a compliance officer: this user may open cases, and then"
        " search all messages of the organization.",
        actor=mention(own),
        person=mention(row),
    )
    return await notify_owners(tx, text)


async def dismiss_officer(tx: Tx, actor: Actor, user_id: UserId, *, now: datetime) -> str | None:
    """Dismiss an officer, and close the officer's cases; return the id of OWNER_NOTICES.

    Raises a DomainError.
    """
    await lock_as_owner(tx, actor)
    [own, *found] = await _people(tx, actor, user_id)
    gone = await compliance.dismiss(await tx.changing(), tx.realm_id, [user_id], now=now)
    if not gone:
        raise BadRequestError(_("This user is no compliance officer."))
    row = found[0] if found else own
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_outcomes(tx, entry, actor.user_id, "user_compliance_dismissed", {user_id: {}})
    text = _(
        "{actor} dismissed {person} as a compliance officer.",
        actor=mention(own),
        person=mention(row),
    )
    return await notify_owners(tx, text)


async def set_two_persons(tx: Tx, actor: Actor, proof: Proof, *, needed: bool) -> str | None:
    """Set whether another officer has to approve each new case; return the id of OWNER_NOTICES.

    Raises a DomainError.
    """
    await lock_as_owner(tx, actor)
    await check_proof(tx, actor.user_id, proof)
    now = await compliance.needs_two_persons(await tx.connection(), tx.realm_id)
    if now == needed:
        return None
    await compliance.set_needs_two_persons(await tx.changing(), tx.realm_id, needed=needed)
    entry = tx.append(Tick(), NO_AUDIENCE)
    before, after = {"needs_two_persons": now}, {"needs_two_persons": needed}
    audit.record(tx, entry, actor.user_id, "compliance_rule_changed", before=before, after=after)
    [own] = await _people(tx, actor, actor.user_id)
    text = (
        _("{actor} set that each compliance case needs two officers.", actor=mention(own))
        if needed
        else _("{actor} set that a compliance case needs one officer only.", actor=mention(own))
    )
    return await notify_owners(tx, text)


async def _people(tx: Tx, actor: Actor, user_id: UserId) -> list[users.UserRow]:
    """Return the actor, and the user if it is another one that exists."""
    connection = await tx.connection()
    rows = await users.by_ids(connection, tx.realm_id, [actor.user_id, user_id])
    return sorted(rows, key=lambda row: row.user_id != actor.user_id)
