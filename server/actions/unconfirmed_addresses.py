"""Confirm addresses of accounts that were only entered."""

from dataclasses import replace

from server.actions import audit
from server.actions.locked_realm import LockedRealm, lock_as_administrator, locked_realm_of
from server.actions.user_audiences import UserAudiences
from server.domain.actor import Actor
from server.domain.avatars import avatar_of
from server.domain.errors import BadRequestError
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.events.users import AvatarChanged
from server.i18n import _
from server.transactions import Tx
from storage import unconfirmed_addresses, users
from storage.ids import UserId
from storage.users import UserRow


async def confirm_for(tx: Tx, actor: Actor, user_id: UserId) -> None:
    """Confirm a user's address as an administrator who knows that it is theirs.

    Raises BadRequestError if the user does not exist. Nothing happens if it is confirmed.
    """
    realm = await lock_as_administrator(tx, actor)
    found = await users.by_ids(await tx.connection(), tx.realm_id, [user_id])
    if not found or found[0].bot_type is not None:
        raise BadRequestError(_("No such user"))
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    await mark_confirmed(tx, await locked_realm_of(tx, realm, [row]), row, by=actor.user_id)


async def mark_confirmed(tx: Tx, context: LockedRealm, old: UserRow, *, by: UserId | None) -> None:
    """Record that the address of a locked user is theirs; `by` is recorded as the actor."""
    if old.email_confirmed:
        return
    await unconfirmed_addresses.confirm(await tx.changing(), tx.realm_id, old.user_id)
    changed = {old.user_id: {"email_confirmed": (False, True)}}
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_each(tx, entry, by, "user_email_confirmed", changed)
    tx.at_position(entry, users.changed(tx.realm_id, [old.user_id]))
    await append_default_avatar(tx, context, old, replace(old, email_confirmed=True))


async def append_default_avatar(tx: Tx, context: LockedRealm, old: UserRow, new: UserRow) -> None:
    """Publish the user's avatar if its source has changed: Gravatar is for confirmed addresses."""
    user_audiences = await UserAudiences.of(tx, context, [old, new])
    avatar = avatar_of(new, user_audiences.address)
    if avatar.source != avatar_of(old, user_audiences.address).source:
        event = AvatarChanged.to(new.user_id, avatar)
        tx.append(event, await user_audiences.audience_knowing(new))
