"""What scheduled messages and reminders have in common: a time, and that they are sent once."""

from datetime import UTC, datetime
from typing import Final, TypeVar

from server.directory import Directory
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, DomainError
from server.domain.system_bots import NOTIFICATION_BOT
from server.events.base import Tx
from storage.database import Locking

Row = TypeVar("Row")

CLIENT: Final = "Internal"
"""What the notification bot sends with."""
GIVEN_UP: Final = "The server could not send it."


class TakenError(DomainError):
    """Somebody else delivers it at this moment, or it is no longer what it was."""

    def __init__(self) -> None:
        super().__init__("It is being delivered, or has changed.")


def due_time(timestamp: int, now: datetime) -> datetime:
    """The time that a client gives. Raises BadRequestError unless it is yet to come."""
    if timestamp <= now.timestamp():
        raise BadRequestError("Scheduled delivery time must be in the future.")
    return datetime.fromtimestamp(timestamp, UTC)


async def claim(tx: Tx, locking: Locking[Row], row: Row) -> None:
    """Hold the row, as it was read before, until the commit. Raises TakenError; never waits.

    Whoever delivers holds it from before the clock until it is gone, so nobody else does.
    """
    if await locking.skipping(await tx.connection()) != [row]:
        raise TakenError


async def notification_bot(directory: Directory) -> Actor:
    """The bot that writes to people on the server's behalf. Raises BadRequestError."""
    row = await directory.user_by_email(NOTIFICATION_BOT.email)
    if row is None:
        raise BadRequestError("This organization has no notification bot.")
    return Actor(directory.realm_id, row, CLIENT)


async def check_realm(tx: Tx) -> None:
    """Raise BadRequestError if nothing is sent in the realm any more. For exact writes."""
    realm = await (await tx.directory()).realm()
    if realm.deactivated:
        raise BadRequestError("This organization has been deactivated.")
