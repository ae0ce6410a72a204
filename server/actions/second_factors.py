"""Add, remove and reset second factors, and use their codes.

A change ends the user's other sessions and everything that is pending, half-finished sign-ins among
it; API keys remain, except after a reset, which is for devices that are lost
(docs/adr/0047-second-factors.md).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from server.actions import audit
from server.actions.account_mail import mail_news
from server.actions.credential_changes import Extent, Proof, check_proof, end_pending
from server.actions.locked_realm import lock_realm
from server.actions.passwords import end_queues_of_keys
from server.domain.account_news import RecoveryCodeUsed, SecondFactorsChanged
from server.domain.credential_changes import Ended
from server.domain.errors import BadRequestError, UserDeactivatedError
from server.domain.passkeys import VerifiedPasskey
from server.domain.second_factors import (
    MAX_FACTORS,
    WrongCodeError,
    checked_factor_name,
    is_required,
    new_recovery_codes,
    recovery_digest,
    step_of_code,
)
from server.domain.user_secrets import sealed
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import second_factors, users
from storage.ids import FactorId, UserId
from storage.users import UserRow

LAST_ONE: Final = _(
    "Your organization requires a second factor: add another one before you remove this one."
)
LOST: Final = Extent(sessions=True, api_key=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTotp:
    """An authenticator app that has shown a code."""

    name: str
    secret: str
    code: str


@dataclass(frozen=True, slots=True)
class NewPasskey:
    name: str
    verified: VerifiedPasskey


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    ended: Ended
    recovery_codes: list[str]
    """New ones, with the first factor; else empty."""


async def add_totp(
    tx: Tx,
    user_id: UserId,
    proof: Proof,
    new: NewTotp,
    *,
    key: bytes,
    now: datetime,
    is_first: bool = False,
) -> Added:
    """Add an authenticator app; its code counts as used.

    `is_first`: only to an account without a second factor: its user has proved no other. Raises
    WrongCodeError, and BadRequestError if the proof is out of date, or with too many factors.
    """
    row = await _lock_with_room(tx, user_id, proof)
    if is_first and await second_factors.has_any(await tx.connection(), tx.realm_id, user_id):
        raise BadRequestError(_("Your account has a second factor already. Sign in with it."))
    name = checked_factor_name(new.name)
    step = step_of_code(new.secret, new.code, now)
    if step is None:
        raise WrongCodeError
    secret = sealed(key, tx.realm_id, user_id, new.secret)
    factor_id = await second_factors.insert_totp(
        await tx.changing(), tx.realm_id, user_id, name=name, secret=secret, step=step
    )
    return await _added(tx, row, proof, factor_id, name, key=key)


async def add_passkey(
    tx: Tx, user_id: UserId, proof: Proof, new: NewPasskey, *, key: bytes
) -> Added:
    """Add a passkey. Raises BadRequestError as `add_totp` does, and for a known credential."""
    row = await _lock_with_room(tx, user_id, proof)
    name = checked_factor_name(new.name)
    factor_id = await second_factors.insert_passkey(
        await tx.changing(),
        tx.realm_id,
        user_id,
        name=name,
        credential_id=new.verified.credential_id,
        public_key=new.verified.public_key,
        sign_count=new.verified.sign_count,
    )
    if factor_id is None:
        raise BadRequestError(_("This passkey is registered already."))
    return await _added(tx, row, proof, factor_id, name, key=key)


async def remove_factor(tx: Tx, user_id: UserId, proof: Proof, factor_id: FactorId) -> Ended:
    """Remove a factor; recovery codes go with the last one.

    Raises BadRequestError if the proof is out of date, if the user has no such factor, and for
    the last one where the organization requires it.
    """
    row = await _lock(tx, user_id)
    await check_proof(tx, user_id, proof)
    settings = await (await tx.realm_cache()).settings()
    connection = await tx.connection()
    others = [
        each.factor_id
        for each in await second_factors.of_user(connection, tx.realm_id, user_id)
        if each.factor_id != factor_id
    ]
    if not others and is_required(settings, row.role):
        raise BadRequestError(LAST_ONE)
    connection = await tx.changing()
    name = await second_factors.delete(connection, tx.realm_id, user_id, factor_id)
    if name is None:
        raise BadRequestError(_("No such second factor"))
    if not others:
        await second_factors.replace_codes(connection, tx.realm_id, user_id, [])
    news = SecondFactorsChanged(change="removed", name=name, are_left=bool(others))
    ended = await _end(tx, row, _but_here(proof), news)
    changed = {user_id: {"factor_id": (factor_id, None), "name": (name, None)}}
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_each(tx, entry, user_id, "user_second_factor_removed", changed)
    return ended


async def renew_recovery_codes(tx: Tx, user_id: UserId, proof: Proof, *, key: bytes) -> list[str]:
    """Replace the recovery codes; return the new ones, which are never shown again.

    Raises BadRequestError if the proof is out of date, or without a second factor.
    """
    row = await _lock(tx, user_id)
    await check_proof(tx, user_id, proof)
    if not await second_factors.has_any(await tx.connection(), tx.realm_id, user_id):
        raise BadRequestError(_("Your account has no second factor."))
    codes = await _replace_codes(tx, user_id, key)
    mail_news(tx, row, SecondFactorsChanged(change="codes", are_left=True), to=row.email)
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_each(tx, entry, user_id, "user_recovery_codes_renewed", {user_id: {}})
    return codes


async def use_recovery_code(tx: Tx, user_id: UserId, code: str, *, key: bytes) -> None:
    """Use a recovery code up, and email its user. Raises WrongCodeError."""
    row = await _lock(tx, user_id)
    digest = recovery_digest(key, tx.realm_id, user_id, code)
    connection = await tx.changing()
    if digest is None or not await second_factors.use_code(
        connection, tx.realm_id, user_id, digest
    ):
        raise WrongCodeError
    left = await second_factors.codes_left(connection, tx.realm_id, user_id)
    mail_news(tx, row, RecoveryCodeUsed(left=left), to=row.email)
    entry = tx.append(Tick(), NO_AUDIENCE)
    changed = {user_id: audit.differences({}, {"left": left})}
    audit.record_each(tx, entry, user_id, "user_recovery_code_used", changed)


async def reset_factors(tx: Tx, row: UserRow, *, by: UserId | None) -> Ended:
    """Remove all second factors and recovery codes of a user who has lost them.

    All sessions end, and the account's own API key, which apps on a lost device hold, is replaced.
    The caller has locked the row, and checked that `by` may do it; None: the operator. Raises
    BadRequestError if the user has no second factor.
    """
    connection = await tx.changing()
    if not await second_factors.delete_of_user(connection, tx.realm_id, row.user_id):
        raise BadRequestError(_("This account has no second factor."))
    news = SecondFactorsChanged(change="reset", are_left=False)
    outcome = await end_pending(tx, [row], LOST, news=news.with_ended)
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_each(tx, entry, by, "user_second_factors_reset", {row.user_id: {}})
    await end_queues_of_keys(tx, row, outcome)
    return outcome.ended


async def _added(
    tx: Tx, row: UserRow, proof: Proof, factor_id: FactorId, name: str, *, key: bytes
) -> Added:
    """Record and mail that a factor was added; make recovery codes with the first one."""
    connection = await tx.changing()
    factors = await second_factors.of_user(connection, tx.realm_id, row.user_id)
    codes = await _replace_codes(tx, row.user_id, key) if len(factors) == 1 else []
    news = SecondFactorsChanged(change="added", name=name, are_left=True)
    ended = await _end(tx, row, _but_here(proof), news)
    [kind] = [each.kind for each in factors if each.factor_id == factor_id]
    facts = {"factor_id": factor_id, "name": name, "kind": kind}
    entry = tx.append(Tick(), NO_AUDIENCE)
    changed = {row.user_id: audit.differences({}, facts)}
    audit.record_each(tx, entry, row.user_id, "user_second_factor_added", changed)
    return Added(ended=ended, recovery_codes=codes)


async def _end(tx: Tx, row: UserRow, extent: Extent, news: SecondFactorsChanged) -> Ended:
    outcome = await end_pending(tx, [row], extent, news=news.with_ended)
    return outcome.ended


def _but_here(proof: Proof) -> Extent:
    return Extent(sessions=True, but_session=proof.session)


async def _replace_codes(tx: Tx, user_id: UserId, key: bytes) -> list[str]:
    codes = new_recovery_codes()
    digests = [recovery_digest(key, tx.realm_id, user_id, code) for code in codes]
    known = [digest for digest in digests if digest is not None]
    await second_factors.replace_codes(await tx.changing(), tx.realm_id, user_id, known)
    return codes


async def _lock_with_room(tx: Tx, user_id: UserId, proof: Proof) -> UserRow:
    row = await _lock(tx, user_id)
    await check_proof(tx, user_id, proof)
    known = await second_factors.of_user(await tx.connection(), tx.realm_id, user_id)
    if len(known) >= MAX_FACTORS:
        raise BadRequestError(
            _("Too many second factors (limit: {limit}): remove one first.", limit=MAX_FACTORS)
        )
    return row


async def _lock(tx: Tx, user_id: UserId) -> UserRow:
    await lock_realm(tx, alone=False)
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    if not row.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    if row.bot_type is not None:
        raise BadRequestError(_("Bots do not sign in with a browser."))
    return row
