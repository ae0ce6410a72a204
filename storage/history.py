"""Pages of history: the messages of a place, of somebody or with a flag, around an anchor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, LiteralString

from storage.database import Connection
from storage.ids import ChannelId, MessageId, RealmId, UserId
from storage.messages import AS_ROWS, ROWS_OF, MessageRow

OLDEST: Final = MessageId(0)
NEWEST: Final = MessageId(2**63 - 1)
"""Anchors at the two ends of everything."""

MAX_UNREAD: Final = 50_000
"""How many unread messages are looked at, the newest of them."""

Flag = Literal["unread", "starred", "mentioned", "alerted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which messages: all that is said holds. Nothing said: the feed.

    The feed is what the reader's present subscriptions show, their direct messages, and what
    they starred or reacted to elsewhere. Senders and flags alone are looked for there.
    """

    channel_id: ChannelId | None = None
    conversation_ids: Sequence[int] | None = None
    """Topics or direct-message groups, in any of them."""
    only_direct: bool = False
    sender_id: UserId | None = None
    flags: Sequence[Flag] = ()
    ids: Sequence[MessageId] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How many messages on either side of the anchor, and whether it is wanted itself."""

    anchor: MessageId
    before: int
    after: int
    include_anchor: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[MessageRow]
    """By id, ascending."""
    found_anchor: bool
    found_oldest: bool
    """False also where the oldest is on the page and nothing shows that it is."""
    found_newest: bool


_HISTORY: Final[LiteralString] = """history_page(
    %(realm_id)s, %(reader_id)s, %(place)s, %(channel_id)s, %(conversation_ids)s::bigint[],
    %(below)s, %(before)s, %(from)s, %(after)s)"""
_OF_SENDER: Final[LiteralString] = """sender_page(
    %(realm_id)s, %(reader_id)s, %(place)s, %(channel_id)s, %(conversation_ids)s::bigint[],
    %(sender_id)s, %(below)s, %(before)s, %(from)s, %(after)s)"""
_CANDIDATES: Final[LiteralString] = """candidates_page(
    %(realm_id)s, %(reader_id)s, %(ids)s::bigint[], %(flags)s::text[], %(channel_id)s,
    %(conversation_ids)s::bigint[], %(only_direct)s, %(in_feed)s, %(sender_id)s, %(limit)s,
    %(below)s, %(before)s, %(from)s, %(after)s)"""


async def page(
    connection: Connection,
    realm_id: RealmId,
    reader_id: UserId,
    scope: Scope,
    window: Window,
    *,
    rendered: bool,
) -> Page:
    """The messages of the scope in the window that the reader may read. One round trip."""
    rows = await connection.many(
        MessageRow,
        ROWS_OF + _ids(scope) + AS_ROWS,
        rendered=rendered,
        **_parameters(realm_id, reader_id, scope, window),
    )
    return _cut(rows, window)


async def first_unread(
    connection: Connection, realm_id: RealmId, reader_id: UserId, scope: Scope
) -> MessageId | None:
    """The oldest unread message of the scope that the reader may read, if there is one."""
    unread = replace(scope, flags=("unread", *(flag for flag in scope.flags if flag != "unread")))
    first = Window(anchor=OLDEST, before=0, after=1)
    found: list[MessageId] = await connection.value(
        "SELECT " + _CANDIDATES,
        **_parameters(realm_id, reader_id, unread, first) | {"in_feed": _is_feed(scope)},
    )
    return found[0] if found else None


async def newest_id(
    connection: Connection, realm_id: RealmId, reader_id: UserId
) -> MessageId | None:
    """The newest message of the reader's feed."""
    newest = Window(anchor=NEWEST, before=1, after=0)
    found: list[MessageId] = await connection.value(
        "SELECT " + _HISTORY, **_parameters(realm_id, reader_id, Scope(), newest)
    )
    return found[0] if found else None


def _ids(scope: Scope) -> LiteralString:
    if scope.flags or scope.ids is not None:
        return _CANDIDATES
    return _HISTORY if scope.sender_id is None else _OF_SENDER


def _parameters(
    realm_id: RealmId, reader_id: UserId, scope: Scope, window: Window
) -> dict[str, Any]:
    conversation_ids = scope.conversation_ids
    start, after = _onwards(window)
    return {
        "realm_id": realm_id,
        "reader_id": reader_id,
        "place": _place(scope),
        "channel_id": scope.channel_id,
        "conversation_ids": None if conversation_ids is None else list(conversation_ids),
        "only_direct": scope.only_direct,
        "in_feed": _is_feed(scope),
        "sender_id": scope.sender_id,
        "flags": list(scope.flags),
        "ids": None if scope.ids is None else list(scope.ids),
        "limit": MAX_UNREAD,
        "below": window.anchor,
        "before": window.before,
        "from": start,
        "after": after,
    }


def _onwards(window: Window) -> tuple[int, int]:
    """Where what follows begins, and how many: the anchor and what lies above it are one piece."""
    if window.anchor == NEWEST:
        return NEWEST, 0
    if window.include_anchor:
        return window.anchor, window.after + 1
    return window.anchor + 1, window.after


def _place(scope: Scope) -> str:
    if scope.only_direct:
        return "direct"
    if scope.channel_id is None and scope.conversation_ids is None:
        return "feed"
    return "given"


def _is_feed(scope: Scope) -> bool:
    return _place(scope) == "feed" and not scope.flags and scope.ids is None


def _cut(rows: list[MessageRow], window: Window) -> Page:
    before = [row for row in rows if row.id < window.anchor]
    at = [row for row in rows if row.id == window.anchor and window.include_anchor]
    after = [row for row in rows if row.id > window.anchor][: window.after]
    return Page(
        rows=before + at + after,
        found_anchor=bool(at),
        found_oldest=window.anchor == OLDEST or len(before) < window.before,
        found_newest=window.anchor == NEWEST or len(after) < window.after,
    )
