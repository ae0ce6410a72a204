"""Fetch history: pages around an anchor, narrowed, and single messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from server.domain.actor import Actor
from server.domain.errors import BadRequestError, MissingParameterError
from server.domain.highlights import HighlightedMessage, Marks, words_in
from server.domain.narrow import Term
from server.domain.user_settings import UserSettings
from server.events.base import ClientView
from server.events.messages import MessageObject
from server.history.narrow import among, narrowed
from server.history.operands import Look
from server.history.render import show
from server.i18n import _
from server.realm_cache import RealmCache
from storage import history, messages
from storage import read_receipts as receipts
from storage.database import Connection
from storage.history import NEWEST, OLDEST, HistoryPage, HistoryScope, HistoryWindow, PageOfIds
from storage.ids import MessageId, RealmId, UserId
from storage.messages import MessageRow
from storage.search import Search, stems_of

MAX_MESSAGES: Final = 5_000
MAX_STEMS: Final = 20_000
MAX_KEPT_WORD: Final = 30
"""Maximum length of a word that is cached with its stems; a realm's cache takes four megabytes."""
SHOWN_NEWEST: Final = 10**16
"""The wire number of the newest message: clients keep ids below 2^53."""
NamedAnchor = Literal["newest", "oldest", "first_unread"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """Parameters of a request for history."""

    terms: Sequence[Term] = ()
    anchor: int | NamedAnchor | datetime | None = "newest"
    """None: the narrow contains the anchor."""
    before: int = 0
    after: int = 0
    include_anchor: bool = True
    view: ClientView


@dataclass(frozen=True, slots=True)
class Fetched:
    anchor: int
    page: HistoryPage
    messages: list[MessageObject]


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """A message's content and topic as HTML, with search highlights."""

    content: str
    subject: str


async def page(
    realm_cache: RealmCache, connection: Connection, actor: Actor, wanted: HistoryRequest
) -> Fetched:
    """Return a page of what the actor may read. Raises BadNarrowError, BadRequestError."""
    located = await _locate(realm_cache, connection, actor, wanted)
    if located is None:
        return Fetched(_shown(NEWEST), HistoryPage([], False, True, True), [])
    scope, window = located
    page = await history.page(
        connection,
        actor.realm_id,
        actor.user_id,
        scope,
        window,
        rendered=wanted.view.apply_markdown,
    )
    shown = await show(realm_cache, page.rows, wanted.view, actor)
    if scope.search is not None:
        html = (
            {row.id: row.content for row in page.rows}
            if wanted.view.apply_markdown
            else await _html(connection, actor.realm_id, page.rows)
        )
        matches = await _matches(realm_cache, connection, scope.search, page.rows, html)
        for message, match in zip(shown, matches, strict=True):
            message.match_content, message.match_subject = match.content, match.subject
    return Fetched(_shown(window.anchor), page, shown)


async def page_of_ids(
    realm_cache: RealmCache, connection: Connection, actor: Actor, wanted: HistoryRequest
) -> PageOfIds:
    """Return the ids that `page` would return. Raises BadNarrowError, BadRequestError."""
    located = await _locate(realm_cache, connection, actor, wanted)
    if located is None:
        return PageOfIds([], False, True, True)
    return await history.page_of_ids(connection, actor.realm_id, actor.user_id, *located)


async def _locate(
    realm_cache: RealmCache, connection: Connection, actor: Actor, wanted: HistoryRequest
) -> tuple[HistoryScope, HistoryWindow] | None:
    """Return the scope and window; None if no message can match."""
    if wanted.before + wanted.after > MAX_MESSAGES:
        raise BadRequestError(
            _("Too many messages requested (maximum {limit}).", limit=MAX_MESSAGES)
        )
    where = await narrowed(Look(realm_cache, connection, actor), wanted.terms)
    if where.scope is None:
        return None
    asked = where.near if wanted.anchor is None else wanted.anchor
    if asked is None:
        raise MissingParameterError("anchor")
    window = HistoryWindow(
        anchor=await _anchor(connection, actor, where.scope, asked),
        before=wanted.before,
        after=wanted.after,
        include_anchor=wanted.include_anchor,
    )
    return where.scope, window


async def _html(
    connection: Connection, realm_id: RealmId, rows: Sequence[MessageRow]
) -> dict[MessageId, str]:
    return await messages.rendered(connection, realm_id, [row.id for row in rows])


async def _matches(
    realm_cache: RealmCache,
    connection: Connection,
    search: Search | None,
    rows: Sequence[MessageRow],
    html: Mapping[MessageId, str],
) -> list[SearchMatch]:
    """Return content and topic of each message with search highlights."""
    contents = {row.id: HighlightedMessage.of(html.get(row.id, "")) for row in rows}
    topics = {row.topic or "" for row in rows}
    marks = Marks((), frozenset())
    if search is not None:
        stems = {word.stem for word in search.words if word.stem is not None}
        words = words_in([*(each.text for each in contents.values()), *topics]) if stems else set()
        found = await _with_stems(realm_cache, connection, search.language, stems, words)
        texts = tuple((word.text, word.begins_words) for word in search.words)
        marks = Marks(texts, frozenset(found))
    subjects = {topic: marks.in_text(topic) for topic in topics}
    return [SearchMatch(marks.in_html(contents[row.id]), subjects[row.topic or ""]) for row in rows]


@dataclass(frozen=True, slots=True)
class _Stems:
    """Cache of a realm's words and their stems: messages share most words."""

    words: set[str] = field(default_factory=set)
    by_stem: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Words by stem; a word that the dictionary splits has several stems."""

    def add(self, stems: Mapping[str, str]) -> None:
        self.words.update(stems)
        for word, theirs in stems.items():
            for stem in theirs.split():
                self.by_stem[stem] = (*self.by_stem.get(stem, ()), word)


async def _with_stems(
    realm_cache: RealmCache,
    connection: Connection,
    language: str,
    stems: set[str],
    words: set[str],
) -> set[str]:
    """Return those of the words that have one of the stems."""
    key = ("stems", language)
    kept: _Stems = realm_cache.recall(key) or _Stems()
    new = words - kept.words
    found = await stems_of(connection, language, list(new)) if new else {}
    chosen = {word for word, theirs in found.items() if not stems.isdisjoint(theirs.split())}
    chosen.update(*(words.intersection(kept.by_stem.get(stem, ())) for stem in stems))
    kept.add({word: theirs for word, theirs in found.items() if len(word) <= MAX_KEPT_WORD})
    realm_cache.remember(key, kept if len(kept.words) <= MAX_STEMS else _Stems())
    return chosen


async def matching(
    realm_cache: RealmCache,
    connection: Connection,
    actor: Actor,
    message_ids: Sequence[MessageId],
    terms: Sequence[Term],
) -> dict[str, SearchMatch]:
    """Return those of the messages that the actor may read and that match the terms, by id.

    Each with its content and topic, with search highlights.
    """
    if len(message_ids) > MAX_MESSAGES:
        raise BadRequestError(
            _("Too many messages requested (maximum {limit}).", limit=MAX_MESSAGES)
        )
    where, rows = await _narrowed_rows(realm_cache, connection, actor, message_ids, terms)
    search = None if where is None else where.search
    html = await _html(connection, actor.realm_id, rows)
    matches = await _matches(realm_cache, connection, search, rows, html)
    return {str(row.id): match for row, match in zip(rows, matches, strict=True)}


async def by_ids(
    realm_cache: RealmCache,
    connection: Connection,
    actor: Actor,
    message_ids: Sequence[MessageId],
    view: ClientView,
    terms: Sequence[Term] = (),
) -> list[MessageObject]:
    """Return those of the messages that the actor may read and that match the terms, by id."""
    if len(message_ids) > MAX_MESSAGES:
        raise BadRequestError(
            _("Too many messages requested (maximum {limit}).", limit=MAX_MESSAGES)
        )
    if terms:
        _terms, found = await _narrowed_rows(realm_cache, connection, actor, message_ids, terms)
        message_ids = [row.id for row in found]
    rows = await messages.for_reader(
        connection, actor.realm_id, actor.user_id, message_ids, rendered=view.apply_markdown
    )
    return await show(realm_cache, rows, view, actor)


async def _narrowed_rows(
    realm_cache: RealmCache,
    connection: Connection,
    actor: Actor,
    message_ids: Sequence[MessageId],
    terms: Sequence[Term],
) -> tuple[HistoryScope | None, list[MessageRow]]:
    where = await narrowed(Look(realm_cache, connection, actor), terms)
    if where.scope is None:
        return None, []
    everything = HistoryWindow(anchor=OLDEST, before=0, after=len(message_ids))
    page = await history.page(
        connection,
        actor.realm_id,
        actor.user_id,
        among(where.scope, message_ids),
        everything,
        rendered=False,
    )
    return where.scope, page.rows


async def read_receipts(
    realm_cache: RealmCache, connection: Connection, actor: Actor, message_id: MessageId
) -> list[UserId]:
    """Return the readers of the message who send read receipts. Raises BadRequestError."""
    realm_id = actor.realm_id
    if not await messages.for_reader(
        connection, realm_id, actor.user_id, [message_id], rendered=False
    ):
        raise BadRequestError(_("Invalid message(s)"))
    if not (await realm_cache.settings()).enable_read_receipts:
        raise BadRequestError(_("Read receipts are disabled in this organization."))
    return await receipts.readers(
        connection,
        realm_id,
        message_id,
        actor.user_id,
        sends_by_default=UserSettings().send_read_receipts,
    )


async def one(
    realm_cache: RealmCache,
    connection: Connection,
    actor: Actor,
    message_id: MessageId,
    view: ClientView,
) -> tuple[MessageObject, str]:
    """Return the message for the actor, and its Markdown. Raises BadRequestError."""
    shown = await by_ids(realm_cache, connection, actor, [message_id], view)
    raw = await messages.for_reader(
        connection, actor.realm_id, actor.user_id, [message_id], rendered=False
    )
    if not shown or not raw:
        raise BadRequestError(_("Invalid message(s)"))
    return shown[0], raw[0].content


async def _anchor(
    connection: Connection, actor: Actor, scope: HistoryScope, anchor: int | NamedAnchor | datetime
) -> MessageId:
    if isinstance(anchor, datetime):
        first = await history.first_since(connection, actor.realm_id, actor.user_id, scope, anchor)
        return NEWEST if first is None else first
    if anchor == "newest":
        return NEWEST
    if anchor == "oldest":
        return OLDEST
    if anchor == "first_unread":
        first = await history.first_unread(connection, actor.realm_id, actor.user_id, scope)
        return NEWEST if first is None else first
    return NEWEST if anchor >= SHOWN_NEWEST else MessageId(max(anchor, OLDEST))


def _shown(anchor: MessageId) -> int:
    return SHOWN_NEWEST if anchor == NEWEST else anchor
