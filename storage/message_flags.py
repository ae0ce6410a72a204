"""Flags of one reader on one message: the exceptions that have rows, and how they change."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from storage.database import Connection, Statement
from storage.ids import MessageId, RealmId, UserId
from storage.message_bits import (
    COLLAPSED,
    HAS_ALERT_WORD,
    HIDE_LINK_PREVIEWS,
    HISTORICAL,
    MENTIONED,
    STARRED,
    TOPIC_WILDCARD_MENTIONED,
)

Settable = Literal["starred", "collapsed", "hide_link_previews"]
"""Flags with a bit that readers set themselves."""
_SETTABLE: Final[dict[Settable, int]] = {
    "starred": STARRED,
    "collapsed": COLLAPSED,
    "hide_link_previews": HIDE_LINK_PREVIEWS,
}
_NAMES: Final = {
    **{bit: (name,) for name, bit in _SETTABLE.items()},
    MENTIONED: ("mentioned",),
    HAS_ALERT_WORD: ("has_alert_word",),
    HISTORICAL: ("historical",),
    TOPIC_WILDCARD_MENTIONED: ("topic_wildcard_mentioned", "wildcard_mentioned"),
}


def names(flags: int) -> tuple[str, ...]:
    """Return the names of these flags on the wire; `unread` is the absence of one."""
    return tuple(name for bit, named in _NAMES.items() if flags & bit for name in named)


@functools.lru_cache(maxsize=1_000)
def of_reader(flags: int, *, unread: bool, received: bool, has_wildcard: bool) -> tuple[str, ...]:
    """Return all wire flags of a reader: those that have a bit and those that follow."""
    found = set(names(flags))
    if not unread:
        found.add("read")
    if not received:
        found.add("historical")
    elif has_wildcard:
        found |= {"stream_wildcard_mentioned", "wildcard_mentioned"}
    return tuple(sorted(found))


def change(
    realm_id: RealmId,
    user_id: UserId,
    message_ids: Iterable[MessageId],
    *,
    flag: Settable,
    operation: Literal["add", "remove"],
    audience: bytes,
    write_id: str,
) -> Statement:
    """Under the clock's lock: set or clear a flag on those of the messages that the user may read.

    Returns the ids that changed, sorted. Appends update_message_flags for them, at most 1,000 an
    entry; nothing changed, no entry.
    """
    return Statement(
        """
        SELECT set_message_flag(%(realm_id)s, %(user_id)s, %(message_ids)s::bigint[],
                                %(bit)s::integer, %(flag)s, %(operation)s, %(audience)b,
                                %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_id": user_id,
            "message_ids": list(message_ids),
            "bit": _SETTABLE[flag],
            "flag": flag,
            "operation": operation,
            "audience": audience,
            "write_id": write_id,
        },
    )


def remember(realm_id: RealmId, user_id: UserId, message_ids: Iterable[MessageId]) -> Statement:
    """Under the clock's lock: add readable messages to the user's history."""
    return Statement(
        "SELECT mark_historical(%(realm_id)s, %(user_id)s, %(message_ids)s::bigint[])",
        {"realm_id": realm_id, "user_id": user_id, "message_ids": list(message_ids)},
    )


@dataclass(frozen=True, slots=True)
class StateRow:
    """State of one message for one user."""

    user_id: UserId
    message_id: MessageId
    flag_bits: int
    accessible: bool
    received: bool
    unread: bool
    has_wildcard: bool

    @property
    def flags(self) -> tuple[str, ...]:
        """Their wire names."""
        return of_reader(
            self.flag_bits,
            unread=self.unread,
            received=self.received,
            has_wildcard=self.has_wildcard,
        )


async def states(
    connection: Connection,
    realm_id: RealmId,
    *,
    user_ids: Iterable[UserId],
    message_ids: Iterable[MessageId],
) -> list[StateRow]:
    """Return the state of each message for each user, readable or not."""
    return await connection.many(
        StateRow,
        """
        SELECT u.id AS user_id, s.id AS message_id, s.flags AS flag_bits, s.accessible,
               s.received, s.unread, s.traits & {CHANNEL_WILDCARD} <> 0 AS has_wildcard
          FROM unnest(%(user_ids)s::bigint[]) AS u(id)
         CROSS JOIN LATERAL
               message_states(%(realm_id)s, u.id, %(message_ids)s::bigint[]) AS s
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        message_ids=list(message_ids),
    )


async def mentioned_in(
    connection: Connection, realm_id: RealmId, message_id: MessageId
) -> set[UserId]:
    """Return the users that the message mentions: by name, by a group, or by its topic."""
    return set(
        await connection.values(
            """
            SELECT user_id FROM message_flags
             WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s
               AND flags & {MENTIONED | TOPIC_WILDCARD_MENTIONED} <> 0
            """,
            realm_id=realm_id,
            message_id=message_id,
        )
    )


async def starred_ids(
    connection: Connection, realm_id: RealmId, user_id: UserId
) -> list[MessageId]:
    """Return the messages that the user has starred and may read, sorted."""
    return await connection.values(
        """
        SELECT s.id
          FROM (SELECT ARRAY(
               SELECT f.message_id FROM message_flags f
                WHERE f.realm_id = %(realm_id)s AND f.user_id = %(user_id)s
                  AND f.flags & {STARRED} <> 0) AS ids OFFSET 0) starred
         CROSS JOIN LATERAL message_states(%(realm_id)s, %(user_id)s, starred.ids) s
         WHERE starred.ids <> '{}' AND s.accessible ORDER BY s.id
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
