"""Users of an external directory: they join at their first sign-in, with the directory's data."""

from datetime import datetime

from server.actions.avatars import set_avatar
from server.actions.directory_claims import acting_owner
from server.actions.email_changes import readdress
from server.actions.locked_realm import lock_context, lock_realm, locked_realm_of
from server.actions.sign_up import admit
from server.actions.user_settings import rename
from server.actions.users import NewUser
from server.domain.actor import Actor
from server.transactions import Tx
from storage import directory_ids, users
from storage.ids import UserId


async def join_from_directory(
    tx: Tx, new: NewUser, *, directory_id: str | None, now: datetime
) -> UserId:
    """Create an account for a user with this directory id.

    Raises BadRequestError if the realm is not open to them, and as `create_users` does.
    """
    # A concurrent sign-in of the same person is refused once the account exists.
    tx.must_be_exact()
    user_id = await admit(tx, new, now=now)
    if directory_id is not None:
        await directory_ids.insert(await tx.changing(), tx.realm_id, user_id, directory_id)
    return user_id


async def know_by_directory_id(tx: Tx, user_id: UserId, directory_id: str) -> None:
    """Store the user's directory id, so that they are identified even if all other data changes."""
    await lock_realm(tx, alone=True)
    await directory_ids.insert(await tx.changing(), tx.realm_id, user_id, directory_id)


async def call_as_directory_does(tx: Tx, user_id: UserId, full_name: str) -> None:
    """Rename a user to their name in the directory. Raises BadRequestError."""
    realm = await lock_realm(tx, alone=True)
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    context = await locked_realm_of(tx, realm, [row])
    await rename(tx, Actor(tx.realm_id, row), context, row, full_name)


async def show_as_directory_does(tx: Tx, user_id: UserId, avatar_key: str, *, version: int) -> None:
    """Give a user the picture that the directory has, on behalf of an owner.

    It is in the store already, to become that of this version: nothing happens if the user has
    another one by now. The previous picture is deleted. Raises BadRequestError.
    """
    await lock_realm(tx, alone=True)
    actor = await acting_owner(tx, user_id)
    if actor is None:
        return
    context = await lock_context(tx, actor, [user_id])
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    if row.is_active and row.avatar_version + 1 == version:
        await set_avatar(tx, actor, context, row, avatar_key)


async def write_as_directory_does(tx: Tx, user_id: UserId, email: str) -> None:
    """Change a user's address to that in the directory; notify the old one by email.

    Raises BadRequestError for one that the realm does not accept, or that is taken.
    """
    await readdress(tx, user_id, email)
