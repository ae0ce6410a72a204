"""People make keys for their programs, and close what a key has opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from server.actions import audit
from server.actions.ground import ground_of, lock_realm
from server.actions.users import onlookers_of
from server.domain.actor import Actor
from server.domain.api_keys import (
    HINT_LENGTH,
    MAX_KEYS,
    Scopes,
    checked_expiry,
    checked_name,
    digest_of,
    new_api_key,
    new_named_key,
)
from server.domain.errors import BadRequestError, UserDeactivatedError
from server.events.base import NOBODY, Entry, Tx
from server.events.bots import BotChange, BotChanged
from server.events.log import QueuesEnded, Tick
from storage import api_keys, credentials, event_queues, users
from storage.ids import ApiKeyId, UserId
from storage.users import UserRow


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that somebody wants to have."""

    name: str
    scopes: Scopes
    expires_at: datetime | None = None
    """None: never."""


async def make_key(
    tx: Tx, user_id: UserId, new: NewKey, *, by: UserId | None, now: datetime
) -> tuple[ApiKeyId, str]:
    """A key of the user's: its id, and the key itself, which nobody is shown again.

    `by` is who is kept as having made it; None: the operator. Raises a DomainError.
    """
    name = checked_name(new.name)
    expires_at = checked_expiry(new.expires_at, now)
    await _lock(tx, user_id)
    connection = await tx.changing()
    if len(await api_keys.of_user(connection, tx.realm_id, user_id)) >= MAX_KEYS:
        raise BadRequestError(f"Too many API keys (limit: {MAX_KEYS}): revoke some first.")
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
    audit.record_each(tx, tx.append(Tick(), NOBODY), by, "api_key_created", changed)
    return key_id, key


async def revoke_key(tx: Tx, user_id: UserId, key_id: ApiKeyId, *, by: UserId | None) -> None:
    """The key opens nothing any more, on any process.

    The user's event queues end with it, since one of them may have been its holder's; other
    clients register anew. Raises BadRequestError if the user has no such key.
    """
    await _lock(tx, user_id)
    connection = await tx.changing()
    name = await api_keys.delete(connection, tx.realm_id, user_id, key_id)
    if name is None:
        raise BadRequestError("No such API key")
    entry = await end_queues(tx, [user_id])
    changed = {user_id: {"key_id": (key_id, None), "name": (name, None)}}
    audit.record_each(tx, entry, by, "api_key_revoked", changed)


async def regenerate_own(tx: Tx, actor: Actor) -> str:
    """Another key for the actor's account; the old one opens nothing any more."""
    return await regenerate(tx, await _lock(tx, actor.user_id), by=actor.user_id)


async def regenerate(tx: Tx, row: UserRow, *, by: UserId) -> str:
    """The same for a row that is locked; who looks after a bot is told its new key."""
    user_id, key = row.user_id, new_api_key()
    connection = await tx.changing()
    await credentials.update_api_keys(connection, tx.realm_id, {user_id: key})
    entry = await end_queues(tx, [user_id])
    tx.at_position(entry, users.changed(tx.realm_id, [user_id]))
    action = "user_key_regenerated"
    if row.bot_type is not None:
        action = "bot_key_regenerated"
        change = BotChanged(bot=BotChange(user_id=user_id, api_key=key))
        ground = await ground_of(tx, await lock_realm(tx, alone=False), [row])
        onlookers = await onlookers_of(tx, connection, ground)
        tx.append(change, onlookers.of_bot(row))
    audit.record_each(tx, entry, by, action, {user_id: {}})
    return key


async def end_queues(tx: Tx, user_ids: Sequence[UserId]) -> Entry:
    """End the event queues of these users, and what the cache knows of them."""
    connection = await tx.changing()
    await event_queues.delete_of_users(connection, tx.realm_id, user_ids)
    return tx.append(QueuesEnded(user_ids=tuple(user_ids)), NOBODY)


async def _lock(tx: Tx, user_id: UserId) -> UserRow:
    await lock_realm(tx, alone=False)
    locked = await tx.lock(users.locking(tx.realm_id, [user_id]))
    if not locked or not locked[0].is_active:
        raise UserDeactivatedError("Account is deactivated")
    return locked[0]
