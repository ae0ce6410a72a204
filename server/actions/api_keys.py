"""Create named API keys; revoke and replace keys."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from server.actions import audit
from server.actions.credential_changes import (
    Extent,
    Outcome,
    Proof,
    check_proof,
    end_pending,
    end_queues,
)
from server.actions.locked_realm import lock_realm
from server.domain.account_news import KeysReplaced
from server.domain.actor import Actor
from server.domain.api_keys import (
    HINT_LENGTH,
    MAX_KEYS,
    Scopes,
    checked_expiry,
    checked_name,
    digest_of,
    new_named_key,
)
from server.domain.credential_changes import Ended
from server.domain.errors import BadRequestError, UserDeactivatedError
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import api_keys, users
from storage.ids import ApiKeyId, UserId
from storage.users import UserRow

OWN_KEY: Final = Extent(api_key=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """Options of a new key."""

    name: str
    scopes: Scopes
    expires_at: datetime | None = None
    """None: never expires."""


async def make_key(
    tx: Tx,
    user_id: UserId,
    new: NewKey,
    *,
    by: UserId | None,
    proof: Proof | None = None,
    now: datetime,
) -> tuple[ApiKeyId, str]:
    """Create a key; return its id and the key itself, which is never shown again.

    `by` is recorded as its creator; None: the operator, who needs no proof. Raises a DomainError.
    """
    name = checked_name(new.name)
    expires_at = checked_expiry(new.expires_at, now)
    await _lock(tx, user_id)
    if by is not None:
        assert proof is not None, "only the operator needs none"
        await check_proof(tx, user_id, proof)
    connection = await tx.changing()
    if len(await api_keys.of_user(connection, tx.realm_id, user_id)) >= MAX_KEYS:
        raise BadRequestError(
            _("Too many API keys (limit: {limit}): revoke some first.", limit=MAX_KEYS)
        )
    key = new_named_key()
    scopes = sorted(scope.value for scope in new.scopes)
    key_id = await api_keys.insert(
        connection,
        tx.realm_id,
        user_id,
        name=name,
        digest=digest_of(key),
        hint=key[:HINT_LENGTH],
        scopes=scopes,
        expires_at=expires_at,
    )
    facts = {"key_id": key_id, "name": name, "scopes": scopes}
    changed = {user_id: audit.differences({}, facts)}
    audit.record_each(tx, tx.append(Tick(), NO_AUDIENCE), by, "api_key_created", changed)
    return key_id, key


async def revoke_key(tx: Tx, user_id: UserId, key_id: ApiKeyId, *, by: UserId | None) -> None:
    """Revoke the key for all processes.

    The user's event queues are deleted, since one of them may belong to its holder; other clients
    register again. Raises BadRequestError if the user has no such key.
    """
    await _lock(tx, user_id)
    connection = await tx.changing()
    name = await api_keys.delete(connection, tx.realm_id, user_id, key_id)
    if name is None:
        raise BadRequestError(_("No such API key"))
    entry = await end_queues(tx, [user_id])
    changed = {user_id: {"key_id": (key_id, None), "name": (name, None)}}
    audit.record_each(tx, entry, by, "api_key_revoked", changed)


async def regenerate_own(
    tx: Tx, actor: Actor, proof: Proof, *, end_named: bool = False
) -> tuple[str, Ended]:
    """Replace the actor's own API key; return the key and what was revoked.

    `end_named`: the named keys are revoked, too. Raises BadRequestError if the proof is out of
    date.
    """
    row = await _lock(tx, actor.user_id)
    await check_proof(tx, row.user_id, proof)
    extent = Extent(api_key=True, named_keys=end_named)
    outcome = await regenerate(tx, row, extent, by=actor.user_id)
    return outcome.keys[row.user_id], outcome.ended


async def regenerate(
    tx: Tx, row: UserRow, extent: Extent = OWN_KEY, *, by: UserId | None
) -> Outcome:
    """Replace the key of a locked row, and end its event queues."""
    user_id = row.user_id
    outcome = await end_pending(tx, [row], extent, news=lambda ended: KeysReplaced(ended=ended))
    entry = await end_queues(tx, [user_id])
    tx.at_position(entry, users.changed(tx.realm_id, [user_id]))
    action = "user_key_regenerated" if row.bot_type is None else "bot_key_regenerated"
    audit.record_each(tx, entry, by, action, {user_id: {}})
    return outcome


async def _lock(tx: Tx, user_id: UserId) -> UserRow:
    await lock_realm(tx, alone=False)
    locked = await tx.lock(users.locking(tx.realm_id, [user_id]))
    if not locked or not locked[0].is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    return locked[0]
