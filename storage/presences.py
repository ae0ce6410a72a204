"""Presence: when users were last seen and last active; pings are written in batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from storage.database import Connection, Statement
from storage.ids import RealmId, UserId


@dataclass(frozen=True, slots=True)
class PresenceRow:
    """A user's presence, and what the visibility of their address depends on."""

    user_id: UserId
    email: str
    settings: dict[str, Any]
    active_at: datetime
    seen_at: datetime
    update_id: int


@dataclass(frozen=True, slots=True)
class Ping:
    """The ping of a user's clients."""

    user_id: UserId
    active_at: datetime | None
    """None if the user was idle."""
    seen_at: datetime


_SELECT: LiteralString = """
    SELECT p.user_id, u.email, u.settings, p.active_at, p.seen_at, p.update_id
      FROM presences p JOIN users u ON u.realm_id = p.realm_id AND u.user_id = p.user_id
     WHERE p.realm_id = %(realm_id)s AND u.realm_id = %(realm_id)s
       AND u.is_active AND u.bot_type IS NULL """


async def changed_since(
    connection: Connection, realm_id: RealmId, update_id: int
) -> list[PresenceRow]:
    """Return rows of active users with higher numbers, by number."""
    return await connection.many(
        PresenceRow,
        _SELECT + "AND p.update_id > %(update_id)s ORDER BY p.update_id, p.user_id",
        realm_id=realm_id,
        update_id=update_id,
    )


async def of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> list[PresenceRow]:
    """Return rows of those of these users who are active and have been seen."""
    return await connection.many(
        PresenceRow,
        _SELECT + "AND p.user_id = ANY(%(user_ids)s) ORDER BY p.user_id",
        realm_id=realm_id,
        user_ids=list(user_ids),
    )


def record(realm_id: RealmId, pings: Sequence[Ping]) -> Statement:
    """Record pings that are later than what is stored, under the realm's next number.

    Returns (user, active before, seen before) of each row written; None if there was none. Bots,
    deactivated users and those who hide their presence are left out.
    """
    return Statement(
        """
        SELECT r_user_id, r_active_before, r_seen_before
          FROM record_presences(%(realm_id)s, %(user_ids)s::bigint[],
                                %(active_at)s::timestamptz[], %(seen_at)s::timestamptz[])
        """,
        {
            "realm_id": realm_id,
            "user_ids": [ping.user_id for ping in pings],
            "active_at": [ping.active_at for ping in pings],
            "seen_at": [ping.seen_at for ping in pings],
        },
    )


async def arrive(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, now: datetime
) -> None:
    """Record that the user is active. Locks all presence writes of the realm until the commit."""
    update_id = await _next_update_id(connection, realm_id)
    await connection.execute(
        """
        INSERT INTO presences (realm_id, user_id, active_at, seen_at, update_id)
        VALUES (%(realm_id)s, %(user_id)s, %(now)s, %(now)s, %(update_id)s)
        ON CONFLICT (realm_id, user_id) DO UPDATE
           SET active_at = excluded.active_at, seen_at = excluded.seen_at,
               update_id = excluded.update_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        now=now,
        update_id=update_id,
    )


async def leave(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, latest: datetime
) -> None:
    """Record that the user has been away since `latest`. Locks as `arrive` does."""
    update_id = await _next_update_id(connection, realm_id)
    await connection.execute(
        """
        UPDATE presences
           SET active_at = least(active_at, %(latest)s), seen_at = least(seen_at, %(latest)s),
               update_id = %(update_id)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        latest=latest,
        update_id=update_id,
    )


async def _next_update_id(connection: Connection, realm_id: RealmId) -> int:
    turn: int = await connection.value("SELECT presence_turn(%(realm_id)s)", realm_id=realm_id)
    return turn
