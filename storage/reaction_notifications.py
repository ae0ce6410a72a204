"""Notifications of reactions to one's own messages, collected for a while."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from storage import timers
from storage.database import Connection, Locking, Statement
from storage.ids import MessageId, Position, RealmId, UserId

MAX_LATER_MESSAGES: Final = 100
"""Maximum number of messages by which to decide whether the user has seen a reaction."""


@dataclass(frozen=True, slots=True)
class ReactionWindow:
    """An open window of a message; it is due when it ends."""

    realm_id: RealmId
    message_id: MessageId
    user_id: UserId
    """The sender of the message."""
    first_position: Position
    """The position of the reaction that opened it."""
    due_at: datetime


@dataclass(frozen=True, slots=True)
class RecipientRow:
    """The sender of a message, and their settings for the place where it is now."""

    settings: dict[str, Any]
    is_active: bool
    is_bot: bool
    channel_muted: bool
    policy: int
    """Visibility policy of the topic, as in server/domain/topic_policies.py; 0 without one."""


@dataclass(frozen=True, slots=True)
class NewReaction:
    """A reaction of which the sender of the message is to be notified."""

    position: Position
    user_id: UserId
    emoji_name: str
    emoji_code: str
    reaction_type: str


@dataclass(frozen=True, slots=True)
class _Locked:
    id: MessageId


_WAITING: Final[LiteralString] = """
      FROM (SELECT w.*, NULL::text AS failure FROM reaction_notifications w) t
     CROSS JOIN LATERAL (SELECT t.message_id) AS i (timer_id)"""
_COLUMNS: Final[LiteralString] = """
    SELECT t.realm_id, t.message_id, t.user_id, t.first_position, t.due_at"""


def open_window(
    realm_id: RealmId, message_id: MessageId, user_id: UserId, *, due_at: datetime
) -> Statement:
    """Open a window at the current position, if the sender of the message wants notifications.

    One that is open stays as it is. The message's row is locked.
    """
    return Statement(
        """
        INSERT INTO reaction_notifications (realm_id, message_id, user_id, first_position, due_at)
        SELECT u.realm_id, %(message_id)s, u.user_id, current_position(), %(due_at)s
          FROM users u
         WHERE u.realm_id = %(realm_id)s AND u.user_id = %(user_id)s AND u.is_active
           AND u.bot_type IS NULL AND u.settings @> '{"enable_reaction_notifications": true}'
        ON CONFLICT (realm_id, message_id) DO NOTHING
        """,
        {"realm_id": realm_id, "message_id": message_id, "user_id": user_id, "due_at": due_at},
    )


def locking_message(realm_id: RealmId, message_id: MessageId) -> Locking[_Locked]:
    """Return the query that locks the message, if it is there: reactions to it wait."""
    return Locking(
        _Locked,
        "SELECT m.id FROM messages m WHERE m.realm_id = %(realm_id)s AND m.id = %(message_id)s",
        {"realm_id": realm_id, "message_id": message_id},
        expected=1,
    )


def locking(realm_id: RealmId, message_id: MessageId) -> Locking[ReactionWindow]:
    """Return the query that locks the window of a message."""
    return Locking(
        ReactionWindow,
        _COLUMNS
        + """
          FROM reaction_notifications t
         WHERE t.realm_id = %(realm_id)s AND t.message_id = %(message_id)s
        """,
        {"realm_id": realm_id, "message_id": message_id},
        expected=1,
    )


async def delete(connection: Connection, realm_id: RealmId, message_id: MessageId) -> None:
    """Delete a locked window."""
    await connection.execute(
        """
        DELETE FROM reaction_notifications
         WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s
        """,
        realm_id=realm_id,
        message_id=message_id,
    )


async def due(connection: Connection, window: timers.DueWindow) -> list[ReactionWindow]:
    """Return windows that have ended, of each realm the oldest first."""
    return await connection.many(ReactionWindow, timers.due(_COLUMNS, _WAITING), **window.params())


async def among(
    connection: Connection, timer_keys: Sequence[timers.TimerKey]
) -> list[ReactionWindow]:
    """Return those of these that are still open, as they are by now."""
    query = timers.among(_COLUMNS, _WAITING)
    return await connection.many(ReactionWindow, query, **timers.keys(timer_keys))


async def recipient(
    connection: Connection, realm_id: RealmId, user_id: UserId, message_id: MessageId
) -> RecipientRow | None:
    """Return the user's state for their message.

    None if they may not read it any more, it is gone, or the realm is deactivated.
    """
    return await connection.one(
        RecipientRow,
        """
        SELECT u.settings, u.is_active, u.bot_type IS NOT NULL AS is_bot,
               coalesce(here.is_muted, false) AS channel_muted,
               coalesce(t.visibility_policy, 0)::integer AS policy
          FROM message_states(%(realm_id)s, %(user_id)s, ARRAY[%(message_id)s::bigint]) s
          JOIN users u ON u.realm_id = %(realm_id)s AND u.user_id = %(user_id)s
          LEFT JOIN subscriptions here ON here.realm_id = %(realm_id)s
               AND here.user_id = %(user_id)s AND here.channel_id = s.channel_id AND here.active
          LEFT JOIN user_topics t ON t.realm_id = %(realm_id)s AND t.user_id = %(user_id)s
               AND t.topic_id = s.conversation_id AND s.channel_id IS NOT NULL
         WHERE s.accessible AND s.sender_id = %(user_id)s
           AND NOT (SELECT r.deactivated FROM realms r WHERE r.realm_id = %(realm_id)s)
        """,
        realm_id=realm_id,
        user_id=user_id,
        message_id=message_id,
    )


async def unseen(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    message_id: MessageId,
    *,
    since: Position,
    until: Position | None = None,
) -> list[NewReaction]:
    """Return the reactions of others since a position that the user has not seen, oldest first.

    Without those of bots, and of users that are deactivated or muted. A user who has read a message
    of the conversation has seen all reactions that are older than it.
    """
    return await connection.many(
        NewReaction,
        """
        WITH later AS MATERIALIZED (
            SELECT array_agg(n.id) AS ids
              FROM messages m
             CROSS JOIN LATERAL (
                   SELECT n.id FROM messages n
                    WHERE n.realm_id = %(realm_id)s AND n.conversation_id = m.conversation_id
                      AND n.id > %(since)s
                    ORDER BY n.id DESC LIMIT %(later)s) n
             WHERE m.realm_id = %(realm_id)s AND m.id = %(message_id)s
        ), seen AS MATERIALIZED (
            SELECT max(s.id) AS until
              FROM later CROSS JOIN LATERAL
                   message_states(%(realm_id)s, %(user_id)s, coalesce(later.ids, '{}')) s
             WHERE s.accessible AND s.received AND NOT s.unread
        )
        SELECT r.position, r.user_id, r.emoji_name, r.emoji_code, r.reaction_type
          FROM reactions r
          JOIN users u ON u.realm_id = r.realm_id AND u.user_id = r.user_id
               AND u.is_active AND u.bot_type IS NULL AND NOT u.is_system_bot
         WHERE r.realm_id = %(realm_id)s AND r.message_id = %(message_id)s
           AND r.position >= %(since)s
           AND r.position <= coalesce(%(until)s::bigint, r.position)
           AND r.position > coalesce((SELECT seen.until FROM seen), 0)
           AND r.user_id <> %(user_id)s
           AND NOT EXISTS (SELECT FROM muted_users x
                            WHERE x.realm_id = %(realm_id)s AND x.user_id = %(user_id)s
                              AND x.muted_user_id = r.user_id AND x.muted_at IS NOT NULL)
         ORDER BY r.position
        """,
        realm_id=realm_id,
        user_id=user_id,
        message_id=message_id,
        since=since,
        until=until,
        later=MAX_LATER_MESSAGES,
    )
