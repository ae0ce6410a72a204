"""Mark messages as read and unread, under the clock's lock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from storage.database import Statement
from storage.ids import ChannelId, MessageId, RealmId, UserId
from storage.read_state import MAX_UNREAD


@dataclass(frozen=True, slots=True)
class ReadMarker:
    """A user and the messages they mark as read, and the audience of their event."""

    user_id: UserId
    message_ids: Iterable[MessageId]
    audience: bytes


def mark_reads(realm_id: RealmId, readers: Iterable[ReadMarker], *, write_id: str) -> Statement:
    """Under the clock's lock: mark for each reader those of the messages that are unread.

    Each reader occurs once. Returns (user_id, message_id) of what changed, sorted. Appends
    update_message_flags for each reader, at most 1,000 messages an entry; nothing changed, no
    entry.
    """
    each = list(readers)
    pairs = [(reader.user_id, i) for reader in each for i in sorted(set(reader.message_ids))]
    return Statement(
        """
        SELECT r_user_id, r_id
          FROM mark_reads(%(realm_id)s, %(user_ids)s::bigint[], %(message_ids)s::bigint[],
                          %(readers)s::bigint[], %(audiences)b::bytea[], %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_ids": [user_id for user_id, _ in pairs],
            "message_ids": [message_id for _, message_id in pairs],
            "readers": [reader.user_id for reader in each],
            "audiences": [reader.audience for reader in each],
            "write_id": write_id,
        },
    )


def read_from_the_start(realm_id: RealmId, user_id: UserId) -> Statement:
    """With the send of a message: mark it as read for a user. For Send.statement."""
    return Statement(
        "SELECT read_from_the_start(%(realm_id)s, %(reader_id)s, message_id)::text",
        {"realm_id": realm_id, "reader_id": user_id},
    )


def mark_unread(
    realm_id: RealmId,
    user_id: UserId,
    message_ids: Iterable[MessageId],
    *,
    empty_topic_name: str,
    audience: bytes,
    write_id: str,
) -> Statement:
    """Under the clock's lock: flag those of the messages that are read and may be unread.

    Returns (ids that changed, channels left out because the user is not subscribed), both sorted.
    Appends as mark_reads does; `empty_topic_name` is the empty topic's name for old clients.
    """
    return Statement(
        """
        SELECT r_changed, r_ignored_channel_ids
          FROM mark_unread(%(realm_id)s, %(user_id)s, %(message_ids)s::bigint[],
                           %(empty_topic_name)s, %(audience)b, %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_id": user_id,
            "message_ids": list(message_ids),
            "empty_topic_name": empty_topic_name,
            "audience": audience,
            "write_id": write_id,
        },
    )


def mark_conversation_read(
    realm_id: RealmId, user_id: UserId, conversation_id: int, *, audience: bytes, write_id: str
) -> Statement:
    """Under the clock's lock: mark a topic or a direct-message group as read.

    It does not check whether the user may read there.
    """
    return _mark_shown_read(
        realm_id, user_id, None, conversation_id, audience=audience, write_id=write_id
    )


def mark_channel_read(
    realm_id: RealmId, user_id: UserId, channel_id: ChannelId, *, audience: bytes, write_id: str
) -> Statement:
    """Under the clock's lock: mark a channel as read.

    It does not check whether the user may read there.
    """
    return _mark_shown_read(
        realm_id, user_id, channel_id, None, audience=audience, write_id=write_id
    )


def mark_left_read(
    realm_id: RealmId, left: Sequence[tuple[UserId, ChannelId]], *, write_id: str
) -> Statement:
    """Under the clock's lock: mark a channel as read for users who join or leave it.

    Appends update_message_flags for each of them, at most 1,000 messages an entry.
    """
    return Statement(
        """
        SELECT mark_left_read(%(realm_id)s, %(user_ids)s::bigint[], %(channel_ids)s::bigint[],
                              %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_ids": [user_id for user_id, _ in left],
            "channel_ids": [channel_id for _, channel_id in left],
            "write_id": write_id,
        },
    )


def mark_hidden_read(realm_id: RealmId, channel_id: ChannelId, *, write_id: str) -> Statement:
    """Under the clock's lock: mark as read what users marked as unread without being given it.

    The channel hides it from them from now on. Appends an event for each.
    """
    return Statement(
        """
        SELECT clear_unread_flag(%(realm_id)s, u.user_id, u.ids),
               append_flag_entries(%(realm_id)s, 'add', 'read', u.ids, to_users(ARRAY[u.user_id]),
                                   %(write_id)s::uuid)
          FROM (SELECT f.user_id, array_agg(f.message_id ORDER BY f.message_id) AS ids
                  FROM message_flags f
                  JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = f.message_id
                 WHERE f.realm_id = %(realm_id)s AND f.flags & {UNREAD} <> 0
                   AND m.channel_id = %(channel_id)s AND NOT EXISTS (
                       SELECT FROM subscriptions s
                        WHERE s.realm_id = %(realm_id)s AND s.user_id = f.user_id
                          AND s.channel_id IN (m.origin_channel_id, m.channel_id)
                          AND was_given(s, m))
                 GROUP BY f.user_id) u
        """,
        {"realm_id": realm_id, "channel_id": channel_id, "write_id": write_id},
    )


def _mark_shown_read(
    realm_id: RealmId,
    user_id: UserId,
    channel_id: ChannelId | None,
    conversation_id: int | None,
    *,
    audience: bytes,
    write_id: str,
) -> Statement:
    return Statement(
        """
        SELECT mark_shown_read(%(realm_id)s, %(user_id)s, %(channel_id)s, %(conversation_id)s,
                               %(audience)b, %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_id": user_id,
            "channel_id": channel_id,
            "conversation_id": conversation_id,
            "audience": audience,
            "write_id": write_id,
        },
    )


def mark_all_read(
    realm_id: RealmId,
    user_id: UserId,
    *,
    audience: bytes,
    write_id: str,
    limit: int = MAX_UNREAD,
) -> Statement:
    """Under the clock's lock: mark everything as read.

    Appends the newest `limit` that were unread, and that this is all.
    """
    return Statement(
        """
        SELECT mark_all_read(%(realm_id)s, %(user_id)s, %(limit)s, %(audience)b,
                             %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_id": user_id,
            "limit": limit,
            "audience": audience,
            "write_id": write_id,
        },
    )
