"""Limit how many accounts a directory deactivates within an hour."""

from datetime import datetime, timedelta
from typing import Final

from server.actions import audit
from server.actions.locked_realm import lock_as_owner, lock_realm
from server.domain.actor import Actor
from server.domain.scim import TooManyClosuresError, closures_limit
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.transactions import Tx
from storage import scim, users
from storage.database import Connection
from storage.ids import RealmId, UserId

WINDOW: Final = timedelta(hours=1)
ALLOWANCE: Final = timedelta(days=1)
"""How long an allowance lasts."""


async def check_closure(tx: Tx, *, maximum: int, now: datetime) -> None:
    """Raise TooManyClosuresError if the directory may deactivate no further account now.

    The caller has locked the realm's row exclusively. `maximum` is the server's setting.
    """
    connection = await tx.connection()
    remaining = await remaining_closures(connection, tx.realm_id, maximum, now=now)
    if remaining is not None and remaining <= 0:
        raise TooManyClosuresError(await _limit(connection, tx.realm_id, maximum, now=now))


async def remaining_closures(
    connection: Connection, realm_id: RealmId, maximum: int, *, now: datetime
) -> int | None:
    """Return how many accounts directories may deactivate now; None: any number."""
    ends_at = await scim.allowance(connection, realm_id)
    if ends_at is not None and now < ends_at:
        return None
    closed = await scim.count_closed(connection, realm_id, since=now - WINDOW)
    return max(0, await _limit(connection, realm_id, maximum, now=now) - closed)


async def _limit(connection: Connection, realm_id: RealmId, maximum: int, *, now: datetime) -> int:
    """Return how many they may deactivate within an hour."""
    closed = await scim.count_closed(connection, realm_id, since=now - WINDOW)
    people = await users.ids_by_role(connection, realm_id, without_bots=True)
    # The share is of those that were active when the hour began.
    return closures_limit(closed + sum(map(len, people.values())), maximum)


async def allow_closures_as_owner(tx: Tx, actor: Actor, *, now: datetime) -> datetime:
    """Allow any number of deactivations for a day, as an owner. Raises a DomainError."""
    await lock_as_owner(tx, actor)
    return await allow_closures(tx, by=actor.user_id, now=now)


async def allow_closures(tx: Tx, *, by: UserId | None, now: datetime) -> datetime:
    """Allow any number of deactivations for a day; return when it ends. None: the operator."""
    await lock_realm(tx, alone=True)
    ends_at = now + ALLOWANCE
    await scim.put_allowance(await tx.changing(), tx.realm_id, ends_at)
    after = {"ends_at": ends_at.timestamp()}
    audit.append_recorded(
        tx, by, "scim_closures_allowed", Tick(), NO_AUDIENCE, before={}, after=after
    )
    return ends_at
