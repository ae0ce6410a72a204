"""When people were last seen, and last active: written by pings, many at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from storage.database import Connection, Statement
from storage.ids import RealmId, UserId


@dataclass(frozen=True, slots=True)
class PresenceRow:
    """Somebody's presence, and what their address depends on."""

    user_id: UserId
    email: str
    settings: dict[str, Any]
    active_at: datetime
    seen_at: datetime
    update_id: int


@dataclass(frozen=True, slots=True)
class Ping:
    """What somebody's clients have said."""

    user_id: UserId
    active_at: datetime | None
    """None: nobody sat there."""
    seen_at: datetime


_SELECT: LiteralString = """
    SELECT p.user_id, u.email, u.settings, p.active_at, p.seen_at, p.update_id
      FROM presences p JOIN users u ON u.realm_id = p.realm_id AND u.user_id = p.user_id
     WHERE p.realm_id = %(realm_id)s AND u.realm_id = %(realm_id)s
       AND u.is_active AND u.bot_type IS NULL """


async def changed_since(
    connection: Connection, realm_id: RealmId, update_id: int
) -> list[PresenceRow]:
    """Return those of active people with higher numbers, by number."""
    return await connection.many(
        PresenceRow,
        _SELECT + "AND p.update_id > %(update_id)s ORDER BY p.update_id, p.user_id",
        realm_id=realm_id,
        update_id=update_id,
    )


async def of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> list[PresenceRow]:
    """Return those of these people who are active and have been seen."""
    return await connection.many(
        PresenceRow,
        _SELECT + "AND p.user_id = ANY(%(user_ids)s) ORDER BY p.user_id",
        realm_id=realm_id,
        user_ids=list(user_ids),
    )


def record(realm_id: RealmId, pings: Sequence[Ping]) -> Statement:
    """Keep what is later than what is known, under the realm's next number.

    Returns (user, active before, seen before) of each who is kept; None for whom nothing was known.
    Bots are left out, and people who are deactivated or do not want it to be known.
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
    """They are here and active. Nobody else writes presence in the realm until the commit."""
    update_id = await _turn(connection, realm_id)
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
    """They have not been here since then at the latest. As for the rest, see `arrive`."""
    update_id = await _turn(connection, realm_id)
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


async def _turn(connection: Connection, realm_id: RealmId) -> int:
    turn: int = await connection.value("SELECT presence_turn(%(realm_id)s)", realm_id=realm_id)
    return turn
