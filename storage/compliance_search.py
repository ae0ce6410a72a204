"""Search of all messages of a realm, and of held ones in the archive, without access checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from psycopg.types.json import Jsonb

from storage import message_bits
from storage.database import Connection
from storage.history import NEWEST, HistoryScope, terms_of
from storage.ids import ChannelId, MessageId, RealmId, UserId

BLOCK_BITS: Final = 13
"""The index has the messages in blocks of 8192 ids."""
MAX_BLOCKS: Final = 256
FIRST_PIECE: Final = 1_000
MAX_PIECE: Final = 10_000
BEGINNING: Final = NEWEST
"""The id below which a search begins."""
MAX_PIECES: Final = 100
"""Pieces of candidates that one search looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplianceScope:
    """A narrow and a range of sending times."""

    narrow: HistoryScope
    since: datetime | None
    until: datetime | None
    """The first moment after the range."""


@dataclass(frozen=True, slots=True)
class FoundMessage:
    id: MessageId
    sender_id: UserId
    sender_full_name: str
    sent_at: datetime
    edited_at: datetime | None
    channel_id: ChannelId | None
    channel: str | None
    topic: str | None
    user_ids: list[UserId] | None
    """Of a direct message: the participants."""
    content: str
    former_contents: list[str]
    """Before each edit, the newest first."""
    deleted_at: datetime | None
    deleter_id: UserId | None


@dataclass(frozen=True, slots=True)
class FoundPage:
    messages: list[FoundMessage]
    """Newest first."""
    next_before: MessageId | None
    """Where the search goes on; None: everything was looked at."""


_MATCHES: Final[LiteralString] = """
    (%(channel_ids)s::bigint[] IS NULL OR m.channel_id = ANY (%(channel_ids)s::bigint[]))
    AND (%(conversation_ids)s::bigint[] IS NULL
         OR m.conversation_id = ANY (%(conversation_ids)s::bigint[]))
    AND (%(ids)s::bigint[] IS NULL OR m.id = ANY (%(ids)s::bigint[]))
    AND (%(sender_id)s::bigint IS NULL OR m.sender_id = %(sender_id)s)
    AND (%(direct)s::boolean IS NULL OR (m.channel_id IS NULL) = %(direct)s)
    AND (%(since)s::timestamptz IS NULL OR m.sent_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR m.sent_at < %(until)s)"""
"""Conditions on a message `m` that need no other table."""
_FORMER: Final[LiteralString] = """
    ARRAY(SELECT e ->> 'prev_content' FROM jsonb_array_elements(m.edit_history) e
           WHERE e ? 'prev_content')"""


async def page(
    connection: Connection,
    realm_id: RealmId,
    scope: ComplianceScope,
    *,
    below: MessageId,
    limit: int,
) -> FoundPage:
    """Return the newest matching messages below an id, of the tables and of the archive."""
    params = _parameters(scope)
    ids, reached = await _live_ids(
        connection, realm_id, params, scope.narrow, below=below, limit=limit
    )
    live = await _messages(connection, realm_id, ids)
    archived = await _archived(
        connection, realm_id, params, below=below, above=reached, limit=limit
    )
    found = sorted([*live, *archived], key=lambda each: each.id, reverse=True)
    if len(found) > limit:
        return FoundPage(found[:limit], found[limit - 1].id)
    return FoundPage(found, MessageId(reached + 1) if reached >= 0 else None)


async def _live_ids(
    connection: Connection,
    realm_id: RealmId,
    params: dict[str, Any],
    narrow: HistoryScope,
    *,
    below: MessageId,
    limit: int,
) -> tuple[list[MessageId], int]:
    """Return matching messages, newest first; and the id down to which all were looked at.

    That is -1 at the end, and otherwise below the last one that was looked at.
    """
    position: int = await connection.value(
        "SELECT position FROM realm_clock WHERE realm_id = %(realm_id)s", realm_id=realm_id
    )
    edge = min(below, position + 1) - 1
    found: list[MessageId] = []
    blocks, size = 1, FIRST_PIECE
    for _ in range(MAX_PIECES):
        if edge < 0 or len(found) > limit:
            break
        if narrow.search is not None and narrow.search.parts:
            low = max(0, ((edge >> BLOCK_BITS) - blocks + 1) << BLOCK_BITS)
            piece: list[MessageId] = await connection.value(
                "SELECT search_window(%(realm_id)s, %(search)s, %(low)s, %(high)s)",
                realm_id=realm_id,
                **params | {"low": low, "high": edge},
            )
            edge, blocks = low - 1, min(MAX_BLOCKS, 4 * blocks)
        else:
            piece = await _candidates(connection, realm_id, params, edge, size)
            edge = min(piece) - 1 if len(piece) == size else -1
            size = min(MAX_PIECE, 4 * size)
        found += await _filtered(connection, realm_id, params, piece)
    if len(found) > limit:
        return found[: limit + 1], found[limit] - 1
    return found, max(edge, -1)


async def _candidates(
    connection: Connection, realm_id: RealmId, params: dict[str, Any], edge: int, size: int
) -> list[MessageId]:
    return await connection.values(
        f"""
        SELECT m.id FROM messages m
         WHERE m.realm_id = %(realm_id)s AND m.id <= %(edge)s AND {_MATCHES}
         ORDER BY m.id DESC LIMIT %(size)s
        """,  # noqa: S608 - conditions from above
        realm_id=realm_id,
        **params | {"edge": edge, "size": size},
    )


async def _filtered(
    connection: Connection, realm_id: RealmId, params: dict[str, Any], piece: Sequence[MessageId]
) -> list[MessageId]:
    """Return those of the messages that match all terms, newest first."""
    if not piece:
        return []
    return await connection.values(
        f"""
        SELECT m.id FROM messages m
         WHERE m.realm_id = %(realm_id)s AND {_MATCHES}
           AND m.id = ANY (narrow_filter(%(realm_id)s, 0, true, false, '{{}}', '{{}}', '{{}}',
                                         '{{}}', '{{}}', %(terms)s, %(piece)s::bigint[]))
           AND NOT EXISTS (
               SELECT FROM unnest(%(mentioned)s::bigint[]) AS n(user_id)
                WHERE NOT EXISTS (
                      SELECT FROM message_flags f
                       WHERE f.realm_id = %(realm_id)s AND f.user_id = n.user_id
                         AND f.message_id = m.id AND f.flags & %(mention)s <> 0))
         ORDER BY m.id DESC
        """,  # noqa: S608 - conditions from above
        realm_id=realm_id,
        **params | {"piece": list(piece)},
    )


async def _messages(
    connection: Connection, realm_id: RealmId, ids: Sequence[MessageId]
) -> list[FoundMessage]:
    return await connection.many(
        FoundMessage,
        f"""
        SELECT m.id, m.sender_id, u.full_name AS sender_full_name, m.sent_at, m.edited_at,
               m.channel_id, c.name AS channel, t.name AS topic, d.user_ids, m.content,
               {_FORMER} AS former_contents, NULL::timestamptz AS deleted_at,
               NULL::bigint AS deleter_id
          FROM messages m
          JOIN users u ON u.realm_id = %(realm_id)s AND u.user_id = m.sender_id
          LEFT JOIN channels c ON c.realm_id = %(realm_id)s AND c.channel_id = m.channel_id
          LEFT JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = m.conversation_id
               AND m.channel_id IS NOT NULL
          LEFT JOIN dm_groups d ON d.realm_id = %(realm_id)s AND m.channel_id IS NULL
               AND d.dm_group_id = m.conversation_id
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY (%(ids)s::bigint[])
        """,  # noqa: S608 - expression from above
        realm_id=realm_id,
        ids=list(ids),
    )


async def _archived(
    connection: Connection,
    realm_id: RealmId,
    params: dict[str, Any],
    *,
    below: int,
    above: int,
    limit: int,
) -> list[FoundMessage]:
    """Return matching messages of the archive that are held, newest first.

    The archive has no mentions: a search for them finds nothing there.
    """
    return await connection.many(
        FoundMessage,
        f"""
        SELECT m.id, m.sender_id, u.full_name AS sender_full_name, m.sent_at, m.edited_at,
               m.channel_id, coalesce(e.context ->> 'channel', c.name) AS channel,
               coalesce(e.context ->> 'topic', t.name) AS topic, d.user_ids, m.content,
               {_FORMER} AS former_contents, e.expired_at AS deleted_at, e.actor_id AS deleter_id
          FROM expired_messages e
         CROSS JOIN LATERAL jsonb_populate_record(NULL::messages, e.message) AS m
          JOIN users u ON u.realm_id = %(realm_id)s AND u.user_id = m.sender_id
          LEFT JOIN channels c ON c.realm_id = %(realm_id)s AND c.channel_id = m.channel_id
          LEFT JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = m.conversation_id
               AND m.channel_id IS NOT NULL
          LEFT JOIN dm_groups d ON d.realm_id = %(realm_id)s AND m.channel_id IS NULL
               AND d.dm_group_id = m.conversation_id
         WHERE e.realm_id = %(realm_id)s AND e.id < %(below)s AND e.id > %(above)s
           AND {_MATCHES} AND is_held_in_archive(e) AND %(mentioned)s::bigint[] = '{{}}'
           AND archive_matches(e, m, %(terms)s, coalesce(e.context ->> 'topic', t.name, ''))
         ORDER BY m.id DESC LIMIT %(limit)s + 1
        """,  # noqa: S608 - conditions from above
        realm_id=realm_id,
        **params | {"below": below, "above": above, "limit": limit},
    )


def _parameters(scope: ComplianceScope) -> dict[str, Any]:
    narrow = scope.narrow
    terms = terms_of(narrow)
    return {
        "channel_ids": _listed(narrow.channel_ids),
        "conversation_ids": _listed(narrow.conversation_ids),
        "ids": _listed(narrow.ids),
        "sender_id": narrow.sender_id,
        "direct": terms["direct"],
        "since": scope.since,
        "until": scope.until,
        "mentioned": list(narrow.mentioned),
        "mention": message_bits.MENTIONED,
        "search": None if narrow.search is None else Jsonb(narrow.search.as_json()),
        "terms": Jsonb(terms),
    }


def _listed(ids: Sequence[int] | None) -> list[int] | None:
    return None if ids is None else list(ids)
