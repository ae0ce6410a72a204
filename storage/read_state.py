"""Read state: sets of ranges by channel and by conversation, and flagged exceptions.

A message is unread if the user may read it and either it is flagged so, or they received it and no
set of the place where it was sent covers it. docs/adr/0003-no-row-per-recipient.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from storage.database import Connection, Statement
from storage.ids import ChannelId, MessageId, RealmId, UserId

MAX_UNREAD: Final = 50_000
"""Maximum number of unread messages that are reported, the newest."""

DIRECT: Final = ChannelId(0)
"""Stands for all direct messages among the channels with folded reads."""

MANY_SKIPPED: Final = 100
"""Number of covered messages skipped in a channel that makes folding worth its write."""
FAR_BEHIND: Final = 50_000
"""Number of positions a fold must gain where it saves no look-ups yet."""


@dataclass(frozen=True, slots=True)
class UnreadConversation:
    """Unread messages of a topic or a direct-message group."""

    conversation_id: int
    channel_id: ChannelId | None
    topic: str | None
    """None for a direct-message group."""
    user_ids: list[UserId] | None
    """Users of the group, sorted; None for a topic."""
    message_ids: list[MessageId]
    """Sorted."""


@dataclass(frozen=True, slots=True)
class Unread:
    conversations: list[UnreadConversation]
    mentioned: frozenset[MessageId]
    """Messages that mention the user by name or group."""
    wildcards: frozenset[MessageId]
    """Wildcard and group mentions, unless the user has muted the topic, or its channel without
    unmuting or following the topic.
    """
    is_cut: bool
    """Whether there are older ones that are not reported."""
    foldable: list[ChannelId]
    """Channels where `folds` would make the next read cheaper."""

    @property
    def count(self) -> int:
        return sum(len(each.message_ids) for each in self.conversations)


@dataclass(frozen=True, slots=True)
class Fold:
    """What a channel's set may absorb; it stays true however late it is written."""

    channel_id: ChannelId
    read: str


async def unread(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, limit: int = MAX_UNREAD
) -> Unread:
    """Return all unread messages, at most the newest `limit`.

    One round trip; two if anything is unread, three if there are wildcard mentions.
    """
    rows = await connection.tuples(
        """
        SELECT u.r_channel_id, u.r_conversation_id, u.r_ids, u.r_skipped, u.r_floor,
               CASE WHEN u.r_channel_id <> 0 AND u.r_ids <> '{}' THEN (
                    SELECT t.name FROM topics t
                     WHERE t.realm_id = %(realm_id)s AND t.topic_id = u.r_conversation_id) END,
               CASE WHEN u.r_channel_id = 0 AND u.r_ids <> '{}' THEN (
                    SELECT g.user_ids FROM dm_groups g
                     WHERE g.realm_id = %(realm_id)s AND g.dm_group_id = u.r_conversation_id) END
          FROM unread_messages(%(realm_id)s, %(user_id)s, %(limit)s) u
        """,
        realm_id=realm_id,
        user_id=user_id,
        limit=limit + 1,
    )
    conversations = _merged(rows)
    is_cut = _cut_to(conversations, limit)
    mentions = await _mentions(connection, realm_id, user_id, conversations)
    wildcards = {i for i, by_name in mentions if not by_name}
    return Unread(
        conversations=conversations,
        mentioned=frozenset(i for i, by_name in mentions if by_name),
        wildcards=await _where_not_muted(connection, realm_id, user_id, conversations, wildcards),
        is_cut=is_cut,
        foldable=_foldable(rows, saw_all=not is_cut),
    )


def _merged(rows: Iterable[tuple[Any, ...]]) -> list[UnreadConversation]:
    """Return one entry per conversation: blocks, and moved messages, have rows of their own."""
    found: dict[int, UnreadConversation] = {}
    for channel_id, conversation_id, ids, _, _, topic, user_ids in rows:
        if not ids:
            continue
        known = found.get(conversation_id)
        if known is None:
            found[conversation_id] = UnreadConversation(
                conversation_id, channel_id or None, topic, user_ids, ids
            )
        else:
            known.message_ids.extend(ids)
    for each in found.values():
        each.message_ids.sort()
    return list(found.values())


def _cut_to(conversations: list[UnreadConversation], limit: int) -> bool:
    """Cut to the newest `limit`; return whether anything was removed."""
    every = [i for each in conversations for i in each.message_ids]
    if len(every) <= limit:
        return False
    every.sort()
    oldest = every[-limit]
    for each in conversations:
        each.message_ids[:] = [i for i in each.message_ids if i >= oldest]
    conversations[:] = [each for each in conversations if each.message_ids]
    return True


async def _mentions(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    conversations: Sequence[UnreadConversation],
) -> list[tuple[MessageId, bool]]:
    """Return which of the unread messages mention the user: (id, whether by name)."""
    if not conversations:
        return []
    rows = await connection.tuples(
        """
        SELECT m.id, bool_or(m.by_name)
          FROM mentions_since(%(realm_id)s, %(user_id)s, %(since)s) m GROUP BY m.id
        """,
        realm_id=realm_id,
        user_id=user_id,
        since=min(each.message_ids[0] for each in conversations),
    )
    if not rows:
        return []
    unread_ids = {i for each in conversations for i in each.message_ids}
    return [(i, by_name) for i, by_name in rows if i in unread_ids]


async def _where_not_muted(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    conversations: Sequence[UnreadConversation],
    wildcards: set[MessageId],
) -> frozenset[MessageId]:
    """Return the wildcard mentions in direct messages and in topics that the user has not muted."""
    topics = [
        each
        for each in conversations
        if each.channel_id is not None and not wildcards.isdisjoint(each.message_ids)
    ]
    if not topics:
        return frozenset(wildcards)
    muted: set[int] = set(
        await connection.values(
            """
            SELECT t.topic_id
              FROM unnest(%(channel_ids)s::bigint[], %(topic_ids)s::bigint[])
                   AS t(channel_id, topic_id)
             WHERE place_is_muted(%(realm_id)s, %(user_id)s, t.channel_id, t.topic_id)
            """,
            realm_id=realm_id,
            user_id=user_id,
            channel_ids=[each.channel_id for each in topics],
            topic_ids=[each.conversation_id for each in topics],
        )
    )
    silent = {i for each in topics if each.conversation_id in muted for i in each.message_ids}
    return frozenset(wildcards - silent)


def _foldable(rows: Iterable[tuple[Any, ...]], *, saw_all: bool) -> list[ChannelId]:
    """Return the channels where a fold would pay.

    Below the reported messages it is not known what a set could absorb.
    """
    skipped: dict[ChannelId, int] = {}
    oldest: dict[ChannelId, int] = {}
    floors: dict[ChannelId, int] = {}
    for channel_id, _, ids, looked_at, floor, _, _ in rows:
        if floor is not None:
            floors[channel_id] = floor
            continue
        skipped[channel_id] = skipped.get(channel_id, 0) + looked_at
        if ids:
            oldest[channel_id] = min(ids[0], oldest.get(channel_id, ids[0]))
    worth = {c for c, n in skipped.items() if n >= MANY_SKIPPED}
    if saw_all:
        behind = floors.items()
        worth |= {c for c, floor in behind if c not in oldest or oldest[c] > floor + FAR_BEHIND}
    return sorted(worth)


async def folds(
    connection: Connection, realm_id: RealmId, user_id: UserId, channel_ids: Iterable[ChannelId]
) -> list[Fold]:
    """Return what the sets of these channels may absorb, so that reads look at less."""
    return await connection.many(
        Fold,
        """
        SELECT channel_id, read::text AS read
          FROM foldable_reads(%(realm_id)s, %(user_id)s, %(channel_ids)s::bigint[])
        """,
        realm_id=realm_id,
        user_id=user_id,
        channel_ids=list(channel_ids),
    )


def fold(realm_id: RealmId, user_id: UserId, folds: Sequence[Fold]) -> Statement:
    """Under the clock's lock: merge the result of `folds` into the sets.

    Nothing visible changes.
    """
    return Statement(
        """
        SELECT fold_reads(%(realm_id)s, %(user_id)s, %(channel_ids)s::bigint[],
                          %(reads)s::text[])
        """,
        {
            "realm_id": realm_id,
            "user_id": user_id,
            "channel_ids": [each.channel_id for each in folds],
            "reads": [each.read for each in folds],
        },
    )


async def perhaps_unread(
    connection: Connection,
    realm_id: RealmId,
    channel_id: ChannelId,
    user_ids: Sequence[UserId] | None,
) -> list[UserId]:
    """Return those of these users (None: of all) who may have unread messages in the channel.

    They have received them elsewhere, before they were moved here, or have marked them as unread:
    what came by subscription is not considered.
    """
    return await connection.values(
        """
        SELECT f.user_id FROM message_flags f
          JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = f.message_id
         WHERE f.realm_id = %(realm_id)s AND f.flags & {UNREAD} <> 0
           AND (%(user_ids)s::bigint[] IS NULL OR f.user_id = ANY(%(user_ids)s))
           AND m.channel_id = %(channel_id)s
        UNION
        SELECT s.user_id
          FROM (SELECT m.origin_channel_id AS channel_id,
                       range_agg(int8range(m.id, m.id, '[]')) AS ids
                  FROM messages m
                 WHERE m.realm_id = %(realm_id)s AND m.channel_id = %(channel_id)s
                   AND m.conversation_id <> m.origin_conversation_id
                 GROUP BY m.origin_channel_id) origin
          JOIN subscriptions s ON s.realm_id = %(realm_id)s AND s.channel_id = origin.channel_id
           AND (%(user_ids)s::bigint[] IS NULL OR s.user_id = ANY(%(user_ids)s))
           AND s.spans && origin.ids
        """,
        realm_id=realm_id,
        channel_id=channel_id,
        user_ids=None if user_ids is None else list(user_ids),
    )
