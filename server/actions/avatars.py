"""Change avatars of users and bots."""

from dataclasses import replace

from server.actions import audit
from server.actions.locked_realm import LockedRealm, lock_context
from server.actions.user_audiences import UserAudiences
from server.domain.actor import Actor
from server.domain.avatars import Avatar, avatar_of, medium_key
from server.domain.channels import Standing
from server.domain.errors import BadRequestError
from server.events.users import AvatarChanged
from server.i18n import _
from server.jobs import BlobRemoval, enqueue
from server.transactions import Tx
from storage import avatars, users
from storage.users import UserRow


def check_may_change(standing: Standing) -> None:
    """Raise BadRequestError if the realm does not allow this person a new avatar."""
    if standing.settings.avatar_changes_disabled and not standing.person.is_administrator:
        raise BadRequestError(_("Avatar changes are disabled in this organization."))


async def change_own_avatar(tx: Tx, actor: Actor, avatar_key: str | None) -> Avatar:
    """Set or remove the actor's avatar; return it. Raises BadRequestError.

    The new picture is in the store already; the previous one is deleted.
    """
    context = await lock_context(tx, actor)
    check_may_change(context.standing(actor.user_id))
    [row] = await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    if row.avatar_key is not None or avatar_key is not None:
        row = await set_avatar(tx, actor, context, row, avatar_key)
    return avatar_of(row, (await tx.realm_cache()).address_of(context.realm))


async def set_avatar(
    tx: Tx, actor: Actor, context: LockedRealm, old: UserRow, avatar_key: str | None
) -> UserRow:
    """Set the avatar of a locked user; publish it to those who know them."""
    new = replace(old, avatar_key=avatar_key, avatar_version=old.avatar_version + 1)
    connection = await tx.changing()
    await avatars.update(
        connection,
        tx.realm_id,
        new.user_id,
        avatar_key=new.avatar_key,
        avatar_version=new.avatar_version,
    )
    user_audiences = await UserAudiences.of(tx, context, [old])
    avatar = avatar_of(new, user_audiences.address)
    knowing = await user_audiences.audience_knowing(new)
    entry = tx.append(AvatarChanged.to(new.user_id, avatar), knowing)
    tx.at_position(entry, users.changed(tx.realm_id, [new.user_id]))
    version = {"avatar_version": (old.avatar_version, new.avatar_version)}
    audit.record_each(tx, entry, actor.user_id, "avatar_changed", {new.user_id: version})
    if old.avatar_key is not None:
        keys = (old.avatar_key, medium_key(old.avatar_key))
        enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=keys))
    return new
