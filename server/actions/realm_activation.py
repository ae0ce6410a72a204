"""Deactivate and reactivate a realm, without loss of data."""

from server.actions import audit
from server.actions.locked_realm import lock_as_owner, lock_realm
from server.domain.actor import Actor
from server.events.base import EVERYONE, NO_AUDIENCE
from server.events.log import QueuesEnded
from server.events.realm import RealmDeactivated, RealmReactivated
from server.transactions import Tx
from storage import event_queues, realms, sessions
from storage.ids import UserId


async def deactivate_as_owner(tx: Tx, actor: Actor) -> None:
    """Deactivate the realm as an owner. Raises BadRequestError for others."""
    await lock_as_owner(tx, actor)
    await deactivate_realm(tx, by=actor.user_id)


async def deactivate_realm(tx: Tx, *, by: UserId | None) -> bool:
    """Deactivate the realm and sign out all users; return whether it was active.

    Keys and passwords are disabled, sessions end, and scheduled messages are suspended.
    `end_queues` is to follow. `by` is recorded as the actor; None: an operator.
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
    """Delete all event queues of a deactivated realm, after they got the event of it."""
    realm = await lock_realm(tx, alone=False)
    if realm.deactivated:
        listening = await event_queues.delete_all(await tx.changing(), tx.realm_id)
        tx.append(QueuesEnded(user_ids=tuple(sorted(listening))), NO_AUDIENCE)


async def reactivate_realm(tx: Tx) -> bool:
    """Reactivate the realm, with its users' keys and passwords.

    Return whether it was deactivated.
    """
    realm = await lock_realm(tx, alone=True)
    if not realm.deactivated:
        return False
    await realms.update_deactivated(await tx.changing(), tx.realm_id, deactivated=False)
    entry = tx.append(RealmReactivated(), NO_AUDIENCE)
    tx.at_position(entry, realms.changed(tx.realm_id))
    before, after = {"deactivated": True}, {"deactivated": False}
    audit.record(tx, entry, None, "realm_reactivated", before=before, after=after)
    return True
