"""What scheduled messages and reminders share: a due time, and delivery exactly once."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, TypeVar

from server.actions.locked_realm import lock_realm
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, DomainError
from server.i18n import _
from server.transactions import Tx
from storage import users
from storage.database import Connection, Locking
from storage.ids import RealmId, UserId

Row = TypeVar("Row")

GIVEN_UP: Final = "The server could not send it."
MAX_WAITING: Final = 1_000
"""Maximum per user, of either kind: each list contains all, register's too."""

CountOfUser = Callable[[Connection, RealmId, UserId], Awaitable[int]]


class TakenError(DomainError):
    """Another process delivers it at this moment, or it has changed."""

    def __init__(self) -> None:
        super().__init__("It is being delivered, or has changed.")


def due_time(timestamp: int, now: datetime) -> datetime:
    """Return the requested time. Raises BadRequestError unless it is in the future."""
    if timestamp <= now.timestamp():
        raise BadRequestError(_("Scheduled delivery time must be in the future."))
    return datetime.fromtimestamp(timestamp, UTC)


async def check_room(tx: Tx, actor: Actor, full: str, count_of_user: CountOfUser) -> None:
    """Raise BadRequestError if the actor has reached the maximum.

    `full`: the marked text of the refusal, which names the `{limit}`.
    Locks the actor against adding others until the commit.
    """
    tx.must_be_exact()
    await lock_realm(tx, alone=False)
    await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    if await count_of_user(await tx.connection(), tx.realm_id, actor.user_id) >= MAX_WAITING:
        raise BadRequestError(_(full, limit=MAX_WAITING))


async def claim(tx: Tx, locking: Locking[Row], row: Row) -> None:
    """Lock the row, if unchanged, until the commit. Raises TakenError; never waits.

    It is locked from before the clock until it is deleted, so no other process delivers it.
    """
    if await locking.skipping(await tx.connection()) != [row]:
        raise TakenError


async def check_realm(tx: Tx) -> None:
    """Raise BadRequestError if nothing is sent in the realm any more. For exact writes."""
    realm = await (await tx.realm_cache()).realm()
    if realm.deactivated:
        raise BadRequestError(_("This organization has been deactivated."))
