"""An organization is closed, and opened again: nothing of it is lost meanwhile."""

from server.actions import audit
from server.actions.locked_realm import lock_as_owner, lock_realm
from server.domain.actor import Actor
from server.events.base import EVERYONE, NOBODY
from server.events.log import QueuesEnded
from server.events.realm import RealmDeactivated, RealmReactivated
from server.transactions import Tx
from storage import event_queues, realms, sessions
from storage.ids import UserId


async def deactivate_as_owner(tx: Tx, actor: Actor) -> None:
    """An owner closes the organization. Raises BadRequestError for others."""
    await lock_as_owner(tx, actor)
    await deactivate_realm(tx, by=actor.user_id)


async def deactivate_realm(tx: Tx, *, by: UserId | None) -> bool:
    """Nobody comes in any more, and all who are in are out; return whether it was open.

    Keys and passwords open nothing, sessions end, and what is scheduled rests. `end_queues` is to
    follow. `by` is who is kept as having done it; None: an operator.
    """
    realm = await lock_realm(tx, alone=True)
    if realm.deactivated:
        return False
    connection = await tx.changing()
    await realms.update_deactivated(connection, tx.realm_id, deactivated=True)
    await sessions.end_all(connection, tx.realm_id)
    entry = tx.append(RealmDeactivated(realm_id=tx.realm_id), EVERYONE)
    tx.at_position(entry, realms.changed(tx.realm_id))
    before, after = {"deactivated": False}, {"deactivated": True}
    audit.record(tx, entry, by, "realm_deactivated", before=before, after=after)
    return True


async def end_queues(tx: Tx) -> None:
    """Nobody waits for events of a closed organization; before, they hear that it is closed."""
    realm = await lock_realm(tx, alone=False)
    if realm.deactivated:
        listening = await event_queues.delete_all(await tx.changing(), tx.realm_id)
        tx.append(QueuesEnded(user_ids=tuple(sorted(set(listening)))), NOBODY)


async def reactivate_realm(tx: Tx) -> bool:
    """Let people in again, with the keys and passwords that they had; whether it was closed."""
    realm = await lock_realm(tx, alone=True)
    if not realm.deactivated:
        return False
    await realms.update_deactivated(await tx.changing(), tx.realm_id, deactivated=False)
    entry = tx.append(RealmReactivated(), NOBODY)
    tx.at_position(entry, realms.changed(tx.realm_id))
    before, after = {"deactivated": True}, {"deactivated": False}
    audit.record(tx, entry, None, "realm_reactivated", before=before, after=after)
    return True
