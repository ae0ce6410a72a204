"""What scheduled messages and reminders have in common: a time, and that they are sent once."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, TypeVar

from server.actions.locked_realm import lock_realm
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, DomainError
from server.transactions import Tx
from storage import users
from storage.database import Connection, Locking
from storage.ids import RealmId, UserId

Row = TypeVar("Row")

GIVEN_UP: Final = "The server could not send it."
MAX_WAITING: Final = 1_000
"""Of one user, of either kind: each list of them shows all, register's too."""

CountOfUser = Callable[[Connection, RealmId, UserId], Awaitable[int]]


class TakenError(DomainError):
    """Somebody else delivers it at this moment, or it is no longer what it was."""

    def __init__(self) -> None:
        super().__init__("It is being delivered, or has changed.")


def due_time(timestamp: int, now: datetime) -> datetime:
    """Return the time that a client gives. Raises BadRequestError unless it is yet to come."""
    if timestamp <= now.timestamp():
        raise BadRequestError("Scheduled delivery time must be in the future.")
    return datetime.fromtimestamp(timestamp, UTC)


async def check_room(tx: Tx, actor: Actor, what: str, count_of_user: CountOfUser) -> None:
    """Raise BadRequestError if the actor has put off so much that nothing can be added.

    Until the commit they put off nothing else.
    """
    tx.must_be_exact()
    _ = await lock_realm(tx, alone=False)
    await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    if await count_of_user(await tx.connection(), tx.realm_id, actor.user_id) >= MAX_WAITING:
        raise BadRequestError(f"Too many {what} (limit: {MAX_WAITING})")


async def claim(tx: Tx, locking: Locking[Row], row: Row) -> None:
    """Hold the row, as it was read before, until the commit. Raises TakenError; never waits.

    Whoever delivers holds it from before the clock until it is gone, so no other user does.
    """
    if await locking.skipping(await tx.connection()) != [row]:
        raise TakenError


async def check_realm(tx: Tx) -> None:
    """Raise BadRequestError if nothing is sent in the realm any more. For exact writes."""
    realm = await (await tx.realm_cache()).realm()
    if realm.deactivated:
        raise BadRequestError("This organization has been deactivated.")
