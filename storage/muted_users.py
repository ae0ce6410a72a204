"""Muted users: messages they send count as read at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection, Statement
from storage.ids import Position, RealmId, UserId
from storage.read_state import MAX_UNREAD


@dataclass(frozen=True, slots=True)
class MutedUserRow:
    muted_user_id: UserId
    muted_at: datetime


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[MutedUserRow]:
    """Return the users that this user mutes now, in the order of muting."""
    return await connection.many(
        MutedUserRow,
        """
        SELECT muted_user_id, muted_at FROM muted_users
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND muted_at IS NOT NULL
         ORDER BY muted_at, muted_user_id
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


async def senders_read(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> dict[UserId, dict[UserId, Position]]:
    """Return, for each user, senders, and the position up to which their messages count as read."""
    found: dict[UserId, dict[UserId, Position]] = {}
    for user_id, muted_user_id, read_below in await connection.tuples(
        """
        SELECT user_id, muted_user_id, read_below FROM muted_users
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    ):
        found.setdefault(user_id, {})[muted_user_id] = read_below
    return found


def mute(
    realm_id: RealmId,
    user_id: UserId,
    muted_user_id: UserId,
    *,
    muted_at: datetime,
    audience: bytes,
    write_id: str,
) -> Statement:
    """Under the clock's lock: mute the user; return whether they were not muted yet.

    Appends muted_users, and update_message_flags for their messages that were unread.
    """
    return Statement(
        """
        SELECT mute_user(%(realm_id)s, %(user_id)s, %(muted_user_id)s, %(muted_at)s, %(limit)s,
                         %(audience)b, %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_id": user_id,
            "muted_user_id": muted_user_id,
            "muted_at": muted_at,
            "limit": MAX_UNREAD,
            "audience": audience,
            "write_id": write_id,
        },
    )


def unmute(
    realm_id: RealmId, user_id: UserId, muted_user_id: UserId, *, audience: bytes, write_id: str
) -> Statement:
    """Under the clock's lock: unmute the user; return whether they were muted. Appends muted_users.

    What they have sent so far stays read.
    """
    return Statement(
        """
        SELECT unmute_user(%(realm_id)s, %(user_id)s, %(muted_user_id)s, %(audience)b,
                           %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_id": user_id,
            "muted_user_id": muted_user_id,
            "audience": audience,
            "write_id": write_id,
        },
    )
