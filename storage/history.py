"""Pages of history: messages of a narrow around an anchor."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal, LiteralString

from psycopg.types.json import Jsonb

from storage import message_bits
from storage.database import Connection
from storage.ids import ChannelId, MessageId, RealmId, UserId
from storage.message_bits import HAS_ATTACHMENT, HAS_IMAGE, HAS_LINK
from storage.messages import MessageRow, rows_of
from storage.name_folding import fold_name
from storage.search import Search

OLDEST: Final = MessageId(0)
NEWEST: Final = MessageId(2**63 - 1)
"""Anchors at the two ends of the history."""

MAX_UNREAD: Final = 50_000
"""Maximum number of unread messages that are searched, the newest."""

Flag = Literal["unread", "starred", "mentioned", "alerted"]
_FLAG_BITS: Final[dict[Flag, int]] = {
    "unread": message_bits.UNREAD,
    "starred": message_bits.STARRED,
    "mentioned": message_bits.MENTIONED | message_bits.TOPIC_WILDCARD_MENTIONED,
    "alerted": message_bits.HAS_ALERT_WORD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Without:
    """Terms that are negated: places, flags, senders."""

    channel_ids: tuple[ChannelId, ...] = ()
    conversation_ids: tuple[int, ...] = ()
    sender_ids: tuple[UserId, ...] = ()
    ids: tuple[MessageId, ...] = ()
    flags: tuple[Flag, ...] = ()
    mentioned: tuple[UserId, ...] = ()
    searches: tuple[Search, ...] = ()
    """Searches that must not match."""
    traits: int = 0
    """Trait bits that must not be set."""
    reaction: bool = False
    direct: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryScope:
    """Which messages: all conditions must hold. Without a place it is the feed.

    The feed holds what the reader's present subscriptions show, their direct messages, and what
    they starred or reacted to elsewhere. The reader's own flags are looked up everywhere: only
    messages of their history have them.
    """

    channel_ids: Sequence[ChannelId] | None = None
    """In any of these channels."""
    conversation_ids: Sequence[int] | None = None
    """Topics or direct-message groups, in any of them."""
    topic: str | None = None
    """With one channel and no `conversation_ids`: its topic of this name, if there is one."""
    in_feed: bool = False
    """Restrict the conversations to the feed, unless flags are looked up."""
    people: tuple[UserId, ...] = ()
    """With `only_direct` and no `conversation_ids`: the group of exactly these, sorted."""
    only_direct: bool = False
    sender_id: UserId | None = None
    flags: tuple[Flag, ...] = ()
    ids: Sequence[MessageId] | None = None
    mentioned: tuple[UserId, ...] = ()
    """Users who are all mentioned by name."""
    traits: int = 0
    """Bits of `messages.traits` that must all be set."""
    reacted: bool = False
    search: Search | None = None
    without: Without = Without()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryWindow:
    """Number of messages before and after the anchor, and whether to include it."""

    anchor: MessageId
    before: int
    after: int
    include_anchor: bool = True


@dataclass(frozen=True, slots=True)
class HistoryPage:
    rows: list[MessageRow]
    """By id, ascending."""
    found_anchor: bool
    found_oldest: bool
    """May be False though the oldest is on the page, if nothing proves it."""
    found_newest: bool


@dataclass(frozen=True, slots=True)
class PageOfIds:
    """A page of message ids only."""

    ids: list[MessageId]
    found_anchor: bool
    found_oldest: bool
    found_newest: bool


_CONVERSATIONS: Final[LiteralString] = "%(conversation_ids)s::bigint[]"
_OF_TOPIC: Final[LiteralString] = """ARRAY(
    SELECT x.topic_id FROM topics x
     WHERE x.realm_id = %(realm_id)s AND x.channel_id = (%(channel_ids)s::bigint[])[1]
       AND x.folded_name = %(topic)s)"""
_OF_PEOPLE: Final[LiteralString] = """ARRAY(
    SELECT x.dm_group_id FROM dm_groups x
     WHERE x.realm_id = %(realm_id)s AND x.user_ids = %(people)s::bigint[])"""
"""Part of the query: asking for it first would be another round trip."""
_HISTORY: Final[LiteralString] = """history_page(
    %(realm_id)s, %(reader_id)s, %(place)s, %(channel_ids)s::bigint[],
    %(conversation_ids)s::bigint[], %(below)s, %(before)s, %(from)s, %(after)s)"""
_NARROWED: Final[LiteralString] = """narrowed_page(
    %(realm_id)s, %(reader_id)s, %(place)s, %(channel_ids)s::bigint[],
    %(conversation_ids)s::bigint[], %(driver)s, %(terms)s, %(ids)s::bigint[], %(flags)s::text[],
    %(mentioned)s::bigint[], %(limit)s, %(below)s, %(before)s, %(from)s, %(after)s)"""
_HOLDING: Final = HAS_LINK | HAS_IMAGE | HAS_ATTACHMENT
MANY_CONVERSATIONS: Final = 200
"""Above this number conversations are not merged, but looked up in the feed or their channels."""


async def page(
    connection: Connection,
    realm_id: RealmId,
    reader_id: UserId,
    scope: HistoryScope,
    window: HistoryWindow,
    *,
    rendered: bool,
) -> HistoryPage:
    """Return the messages of the scope in the window that the reader may read. One round trip."""
    rows = await connection.many(
        MessageRow,
        rows_of(_ids(scope)),
        rendered=rendered,
        **_parameters(realm_id, reader_id, scope, window),
    )
    return _cut(rows, window)


async def page_of_ids(
    connection: Connection,
    realm_id: RealmId,
    reader_id: UserId,
    scope: HistoryScope,
    window: HistoryWindow,
) -> PageOfIds:
    """Return the same page, ids only."""
    ids: list[MessageId] = await connection.value(
        "SELECT " + _ids(scope), **_parameters(realm_id, reader_id, scope, window)
    )
    return _cut_ids(sorted(ids), window)


async def first_unread(
    connection: Connection, realm_id: RealmId, reader_id: UserId, scope: HistoryScope
) -> MessageId | None:
    """Return the oldest unread message of the scope that the reader may read, if there is one."""
    flags: tuple[Flag, ...] = ("unread", *(flag for flag in scope.flags if flag != "unread"))
    first = HistoryWindow(anchor=OLDEST, before=0, after=1)
    found: list[MessageId] = await connection.value(
        "SELECT " + _in_conversation(_NARROWED, scope),
        **_parameters(realm_id, reader_id, replace(scope, flags=flags), first)
        | {"place": _place(scope)},
    )
    return found[0] if found else None


async def first_since(
    connection: Connection,
    realm_id: RealmId,
    reader_id: UserId,
    scope: HistoryScope,
    moment: datetime,
) -> MessageId | None:
    """Return an anchor for the moment: the first message of any sender at or after it.

    Where messages were imported while the realm was in use, ids do not rise with time as a whole:
    it is the earliest one of the scope then.
    """
    stretches = await connection.tuples(
        """
        SELECT s.first_id, s.last_id, EXISTS (
               SELECT FROM imported_ranges r WHERE r.realm_id = %(realm_id)s) AS is_one_of_several
          FROM first_messages_since(%(realm_id)s, %(moment)s) s ORDER BY s.first_id
        """,
        realm_id=realm_id,
        moment=moment,
    )
    if not any(is_one_of_several for *_, is_one_of_several in stretches):
        return MessageId(stretches[0][0]) if stretches else None
    candidates: list[MessageId] = []
    for first_id, last_id, _ in stretches:
        window = HistoryWindow(anchor=MessageId(first_id), before=0, after=1)
        page = await page_of_ids(connection, realm_id, reader_id, scope, window)
        candidates += [each for each in page.ids if each <= last_id]
    found: MessageId | None = await connection.value(
        """
        SELECT id FROM messages
         WHERE realm_id = %(realm_id)s AND id = ANY(%(ids)s::bigint[])
         ORDER BY sent_at, id LIMIT 1
        """,
        realm_id=realm_id,
        ids=candidates,
    )
    return found


async def newest_ids(
    connection: Connection, realm_id: RealmId, reader_ids: Sequence[UserId]
) -> dict[UserId, MessageId]:
    """Return the newest message of each reader's feed, if it has one."""
    found = await connection.tuples(
        """
        SELECT r.reader_id, newest.id
          FROM unnest(%(reader_ids)s::bigint[]) AS r (reader_id)
         CROSS JOIN unnest(history_page(%(realm_id)s, r.reader_id, 'feed', NULL, NULL, %(newest)s,
                                        1, %(newest)s, 0)) AS newest (id)
        """,
        realm_id=realm_id,
        reader_ids=list(reader_ids),
        newest=NEWEST,
    )
    return dict(found)


def _ids(scope: HistoryScope) -> LiteralString:
    places = HistoryScope(
        channel_ids=scope.channel_ids,
        conversation_ids=scope.conversation_ids,
        in_feed=scope.in_feed,
        topic=scope.topic,
        people=scope.people,
        only_direct=scope.only_direct,
    )
    is_place = scope == places and not _has_many(scope)
    return _in_conversation(_HISTORY if is_place else _NARROWED, scope)


def _in_conversation(page: LiteralString, scope: HistoryScope) -> LiteralString:
    """Return the page query of the conversation that the scope names, if it names one."""
    if scope.topic is not None:
        return page.replace(_CONVERSATIONS, _OF_TOPIC)
    if scope.people:
        return page.replace(_CONVERSATIONS, _OF_PEOPLE)
    return page


def _parameters(
    realm_id: RealmId, reader_id: UserId, scope: HistoryScope, window: HistoryWindow
) -> dict[str, Any]:
    start, after = _onwards(window)
    return {
        "realm_id": realm_id,
        "reader_id": reader_id,
        "place": _place(scope),
        "channel_ids": _listed(scope.channel_ids),
        "conversation_ids": None if _has_many(scope) else _listed(scope.conversation_ids),
        "topic": None if scope.topic is None else fold_name(scope.topic),
        "people": list(scope.people),
        "driver": _driver(scope),
        "terms": Jsonb(terms_of(scope)),
        "ids": _listed(scope.ids),
        "flags": list(scope.flags),
        "mentioned": list(scope.mentioned),
        "limit": MAX_UNREAD,
        "below": window.anchor,
        "before": window.before,
        "from": start,
        "after": after,
    }


def _listed(ids: Sequence[int] | None) -> list[int] | None:
    return None if ids is None else list(ids)


def _has_many(scope: HistoryScope) -> bool:
    ids = scope.conversation_ids
    return ids is not None and len(ids) > MANY_CONVERSATIONS


def _driver(scope: HistoryScope) -> str:
    """Return the SQL for the ids that the other terms filter."""
    if scope.flags or scope.mentioned or scope.ids is not None:
        return "ids"
    if scope.search is not None and scope.search.parts:
        return "search"
    if scope.sender_id is not None:
        return "sender"
    if scope.traits & _HOLDING:
        return "held"
    return "reacted" if scope.reacted else "history"


def terms_of(scope: HistoryScope) -> dict[str, Any]:
    """Return all terms except places, as narrow_filter takes them."""
    without = scope.without
    terms: dict[str, Any] = {
        "sender": scope.sender_id,
        "traits": scope.traits,
        "reacted": True if scope.reacted else (False if without.reaction else None),
        "direct": True if scope.only_direct else (False if without.direct else None),
        "not_traits": without.traits,
        "not_channels": list(without.channel_ids),
        "not_conversations": list(without.conversation_ids),
        "not_senders": list(without.sender_ids),
        "not_ids": list(without.ids),
        "not_mentioned": list(without.mentioned),
        "search": None if scope.search is None else scope.search.as_json(),
        "not_searches": [each.as_json() for each in without.searches],
        "not_flags": functools.reduce(int.__or__, (_FLAG_BITS[f] for f in without.flags), 0),
    }
    if _has_many(scope) and scope.conversation_ids is not None:
        terms["conversations"] = list(scope.conversation_ids)
    return terms


def _onwards(window: HistoryWindow) -> tuple[int, int]:
    """Return start and length of the later part: the anchor and what lies above it."""
    if window.anchor == NEWEST:
        return NEWEST, 0
    if window.include_anchor:
        return window.anchor, window.after + 1
    return window.anchor + 1, window.after


def _place(scope: HistoryScope) -> str:
    if scope.only_direct:
        return "direct"
    if scope.in_feed and not scope.flags:
        return "feed"
    if scope.channel_ids is not None or (
        scope.conversation_ids is not None and not _has_many(scope)
    ):
        return "given"
    return "any" if scope.flags else "feed"


def _cut(rows: list[MessageRow], window: HistoryWindow) -> HistoryPage:
    cut = _cut_ids([row.id for row in rows], window)
    wanted = set(cut.ids)
    return HistoryPage(
        rows=[row for row in rows if row.id in wanted],
        found_anchor=cut.found_anchor,
        found_oldest=cut.found_oldest,
        found_newest=cut.found_newest,
    )


def _cut_ids(ids: list[MessageId], window: HistoryWindow) -> PageOfIds:
    before = [i for i in ids if i < window.anchor]
    at = [i for i in ids if i == window.anchor and window.include_anchor]
    after = [i for i in ids if i > window.anchor][: window.after]
    return PageOfIds(
        ids=before + at + after,
        found_anchor=bool(at),
        found_oldest=window.anchor == OLDEST or len(before) < window.before,
        found_newest=window.anchor == NEWEST or len(after) < window.after,
    )
