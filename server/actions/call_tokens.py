"""Keep and delete a user's encrypted tokens for services that create calls."""

from server.actions.push_devices import lock_owner
from server.domain.actor import Actor
from server.events.base import to_users
from server.events.call_tokens import HasWebexToken, HasZoomToken
from server.transactions import Tx
from storage import call_tokens


async def keep_tokens(tx: Tx, actor: Actor, service: str, tokens: bytes) -> None:
    """Store the tokens, in place of any others. Raises UserDeactivatedError."""
    await lock_owner(tx, actor.user_id)
    old = await call_tokens.find(await tx.connection(), tx.realm_id, actor.user_id, service)
    await call_tokens.put(await tx.changing(), tx.realm_id, actor.user_id, service, tokens)
    if old is None:
        _append(tx, actor, service, has=True)


async def replace_tokens(tx: Tx, actor: Actor, service: str, *, old: bytes, new: bytes) -> None:
    """Replace the tokens that were refreshed, unless they have changed since."""
    if await _are_still(tx, actor, service, old):
        await call_tokens.put(await tx.changing(), tx.realm_id, actor.user_id, service, new)


async def forget_tokens(tx: Tx, actor: Actor, service: str, *, old: bytes) -> None:
    """Delete the tokens that the service refused, unless they have changed since."""
    if await _are_still(tx, actor, service, old):
        await call_tokens.delete(await tx.changing(), tx.realm_id, actor.user_id, service)
        _append(tx, actor, service, has=False)


async def _are_still(tx: Tx, actor: Actor, service: str, old: bytes) -> bool:
    await lock_owner(tx, actor.user_id)
    found = await call_tokens.find(await tx.connection(), tx.realm_id, actor.user_id, service)
    return found == old


def _append(tx: Tx, actor: Actor, service: str, *, has: bool) -> None:
    event = HasWebexToken if service == "webex" else HasZoomToken
    tx.append(event(value=has), to_users(actor.user_id))
