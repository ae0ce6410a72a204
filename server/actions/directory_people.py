"""People of a directory outside: they join with their first sign-in, and are known as there."""

from datetime import datetime

from server.actions.email_changes import readdress
from server.actions.locked_realm import lock_realm, locked_realm_of
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
    """Return an account for a user whom the directory knows, there by this id.

    Raises BadRequestError where the organization is not open to them, and as `create_users` does.
    """
    # Who is the same person in another window is told so once that one's account is there.
    tx.must_be_exact()
    user_id = await admit(tx, new, now=now)
    if directory_id is not None:
        await directory_ids.insert(await tx.changing(), tx.realm_id, user_id, directory_id)
    return user_id


async def know_by_directory_id(tx: Tx, user_id: UserId, directory_id: str) -> None:
    """Keep which entry is a user's, so that they are known though all in it changes."""
    await lock_realm(tx, alone=True)
    await directory_ids.insert(await tx.changing(), tx.realm_id, user_id, directory_id)


async def call_as_directory_does(tx: Tx, user_id: UserId, full_name: str) -> None:
    """Call a user like this, as if they had changed it. Raises BadRequestError."""
    realm = await lock_realm(tx, alone=True)
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    context = await locked_realm_of(tx, realm, [row])
    await rename(tx, Actor(tx.realm_id, row), context, row, full_name)


async def write_as_directory_does(tx: Tx, user_id: UserId, email: str) -> None:
    """Give a user the address that they have there; the old one is told.

    Raises BadRequestError for one that the organization does not take, or that a user has.
    """
    await readdress(tx, user_id, email)
