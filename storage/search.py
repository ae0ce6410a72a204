"""Full-text search: queries of the index, and its maintenance. docs/adr/0013-search.md."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, LiteralString

from storage.database import Connection
from storage.ids import ChannelId, MessageId, Position, RealmId

MAX_LENGTH_OF_KEY: Final = 6
SHORTEST_END: Final = 3
"""Minimum length of an indexed suffix, for words in ASCII letters."""
_LIKE: Final = re.compile(r"[\\%_]")
_REGEX: Final = re.compile(r"[!-/:-@\[-^`{-~]")
_SIGMA: Final = "\N{GREEK SMALL LETTER SIGMA}"
_FINAL_SIGMA: Final = "\N{GREEK SMALL LETTER FINAL SIGMA}"
"""How texts indexed before migration 0068 spell it at the end of a word."""
_GAP: Final = "[^\\w\x01]+"
"""What may separate the words of a phrase, but not a boundary between two texts."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word or phrase to search for."""

    text: str
    """Folded, with one space between the words of a phrase."""
    runs: tuple[str, ...]
    """Its runs of letters and digits."""
    stem: str | None

    @property
    def is_phrase(self) -> bool:
        """Whether it has several words, which must follow each other."""
        return " " in self.text

    @property
    def begins_words(self) -> bool:
        """Whether it matches only at the beginning of a word, as phrases and short words do."""
        first = self.runs[0] if self.runs and self.text.startswith(self.runs[0]) else ""
        is_short = len(first) < SHORTEST_END or self.is_phrase
        return first != "" and first.isascii() and is_short

    @property
    def pattern(self) -> str | None:
        """LIKE pattern, for folded text."""
        is_plain = not (self.begins_words or self.is_phrase or _SIGMA in self.text)
        return _within(self.text) if is_plain else None

    @property
    def start(self) -> str | None:
        """Regular expression, if LIKE cannot express it."""
        if self.pattern is not None:
            return None
        words = _GAP.join(_escaped(part, _REGEX) for part in self.text.split())
        words = words.replace(_SIGMA, f"[{_SIGMA}{_FINAL_SIGMA}]")
        return rf"\m{words}" if self.begins_words else words

    @property
    def query(self) -> str:
        """Index query, with @ for where the keys of a block begin.

        Empty if it cannot be expressed.
        """
        *first, last = self.runs or ("",)
        # A word ends with each run but the last, so its end is known.
        keys = [_key(run, ends=True) for run in first]
        if last and not (keys and len(last) < SHORTEST_END):
            keys.append(_key(last, ends=False))
        runs = " & ".join(keys)
        if self.stem is None:
            return runs
        stems = f"{_key(self.stem, ends=False)} | '@={self.stem}'"
        # The stem's key finds all words that begin with it.
        return f"({stems})" if self.text.startswith(self.stem) else f"({runs} | {stems})"


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """A query of the index, for messages of these topics; None for all."""

    query: str
    topic_ids: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """Words that must all occur in a message's text or topic."""

    language: str
    words: tuple[Word, ...]
    parts: tuple[IndexQuery, ...] = ()
    """Index queries for possible matches; empty if the index cannot help."""

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON for the database's functions."""
        return {
            "language": self.language,
            "patterns": [word.pattern for word in self.words],
            "starts": [word.start for word in self.words],
            "stems": [word.stem for word in self.words],
            "parts": [
                {
                    "template": part.query,
                    "topics": None if part.topic_ids is None else list(part.topic_ids),
                }
                for part in self.parts
            ],
        }


def _escaped(text: str, special: re.Pattern[str]) -> str:
    return special.sub(r"\\\g<0>", text)


def _within(text: str) -> str:
    return f"%{_escaped(text, _LIKE)}%"


def _key(run: str, *, ends: bool) -> str:
    """Return the key of a suffix, exact or as a prefix: one key is found faster than many."""
    is_one = ends or len(run) >= MAX_LENGTH_OF_KEY
    key = f"'@{run[:MAX_LENGTH_OF_KEY]}'{'' if is_one else ':*'}"
    if len(run) > MAX_LENGTH_OF_KEY or not run.endswith(_SIGMA):
        return key
    return f"({key} | '@{run[:-1]}{_FINAL_SIGMA}')"


async def words_of(
    connection: Connection, language: str, texts: Sequence[tuple[str, bool]]
) -> Search:
    """Return the parsed search; phrases (True beside the text) are not stemmed.

    Stop words of the language are removed, unless there are no others.
    """
    rows = await connection.tuples(
        """
        SELECT ARRAY(SELECT r[1] FROM regexp_matches(lower(w.text), '[[:alnum:]_]+', 'g') AS r),
               tsvector_to_array(to_tsvector(%(language)s::regconfig, w.text))
          FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS w(text, n) ORDER BY w.n
        """,
        language=language,
        texts=[text for text, _ in texts],
    )
    words: list[Word] = []
    omitted: list[Word] = []
    for (text, is_phrase), (runs, lexemes) in zip(texts, rows, strict=True):
        is_plain = runs == [text] and not is_phrase
        stem = lexemes[0] if is_plain and len(lexemes) == 1 else None
        word = Word(text, tuple(runs), stem if stem and re.fullmatch(r"\w+", stem) else None)
        (omitted if is_plain and not lexemes else words).append(word)
    return Search(language, tuple(words or omitted))


_MATCHED: Final[LiteralString] = """
    SELECT f.matched, array_agg(f.topic_id)
      FROM (SELECT t.topic_id, array_agg(w.n::integer ORDER BY w.n) AS matched
              FROM (SELECT x.topic_id, search_folded(x.name) AS name
                      FROM topics x WHERE x.realm_id = %(realm_id)s
"""
_IN_CHANNELS: Final[LiteralString] = (
    " AND x.channel_id = ANY ((SELECT %(channel_ids)s::bigint[])::bigint[])"
)
"""Hides the number of channels from the planner: it would plan anew at each search, for longer than
the query takes.
"""
_BY_WORDS: Final[LiteralString] = """
                    OFFSET 0) t
              JOIN unnest((SELECT %(likes)s::text[]), (SELECT %(stem_likes)s::text[]),
                          (SELECT %(phrases)s::text[])) WITH ORDINALITY AS w(text, stem, phrase, n)
                   ON t.name LIKE w.text OR t.name LIKE w.stem OR t.name ~ w.phrase
             GROUP BY t.topic_id) f
     GROUP BY f.matched
"""


async def planned(
    connection: Connection,
    realm_id: RealmId,
    search: Search,
    channel_ids: Sequence[ChannelId] | None,
) -> Search:
    """Return the search with its parts: some words may be in the topic, others in the text."""
    rows = await connection.tuples(
        _MATCHED + ("" if channel_ids is None else _IN_CHANNELS) + _BY_WORDS,
        realm_id=realm_id,
        channel_ids=None if channel_ids is None else list(channel_ids),
        likes=[None if word.is_phrase else _within(word.text) for word in search.words],
        phrases=[word.start if word.is_phrase else None for word in search.words],
        stem_likes=[None if word.stem is None else f"%{word.stem}%" for word in search.words],
    )
    parts = [IndexQuery(_query_of(search.words)), *(_part(search, *row) for row in rows)]
    if any(part.query == "" and part.topic_ids is None for part in parts):
        return search
    return replace(search, parts=tuple(parts))


def _part(search: Search, matched: Sequence[int], topic_ids: Sequence[int]) -> IndexQuery:
    rest = [word for n, word in enumerate(search.words, start=1) if n not in matched]
    return IndexQuery(_query_of(rest), topic_ids)


def _query_of(words: Iterable[Word]) -> str:
    return " & ".join(query for query in (word.query for word in words) if query)


async def stems_of(connection: Connection, language: str, words: Sequence[str]) -> dict[str, str]:
    """Return the stem of each word; of texts with several words, all stems with spaces between."""
    found = await connection.values(
        """
        SELECT array_to_string(tsvector_to_array(to_tsvector(%(language)s::regconfig, w.word)), ' ')
          FROM unnest(%(words)s::text[]) WITH ORDINALITY AS w(word, n) ORDER BY w.n
        """,
        language=language,
        words=list(words),
    )
    return dict(zip(words, found, strict=True))


# -- maintaining the index


@dataclass(frozen=True, slots=True)
class Behind:
    """A realm with an incomplete index."""

    realm_id: RealmId
    language: str | None
    """Language code of the realm; None if not set."""


async def lagging(connection: Connection) -> list[Behind]:
    """Return realms with messages that are not in the index, or have been edited."""
    return await connection.many(
        Behind,
        """
        SELECT r.realm_id, r.settings ->> 'default_language' AS language
          FROM clocks_now(ARRAY(SELECT realm_id FROM realms)) c
          JOIN realms r USING (realm_id)
          LEFT JOIN search_progress p USING (realm_id)
         WHERE c.position > coalesce(p.indexed, 0)
            OR EXISTS (SELECT FROM search_stale s WHERE s.realm_id = r.realm_id)
        """,
    )


async def index_some(
    connection: Connection, realm_id: RealmId, language: str, *, limit: int
) -> bool:
    """Index up to `limit` messages; return whether there is more to do.

    In a transaction. Only one process at a time works on a realm; for others there is nothing to
    do.
    """
    await connection.execute(
        """
        INSERT INTO search_progress (realm_id, language) VALUES (%(realm_id)s, %(language)s)
        ON CONFLICT DO NOTHING
        """,
        realm_id=realm_id,
        language=language,
    )
    rows = await connection.tuples(
        """
        SELECT p.indexed, p.language, c.position
          FROM search_progress p
         CROSS JOIN clocks_now(ARRAY[%(realm_id)s::bigint]) c
         WHERE p.realm_id = %(realm_id)s FOR UPDATE OF p SKIP LOCKED
        """,
        realm_id=realm_id,
    )
    if not rows:
        return False
    [(indexed, known, position)] = rows
    if known != language:
        # The language has changed, and so the stems: rebuild the index.
        await _forget(connection, realm_id)
        indexed = Position(0)
    ids = await _index_between(connection, realm_id, language, (indexed, position), limit)
    reached = ids[-1] if len(ids) == limit else position
    await connection.execute(
        """
        UPDATE search_progress SET indexed = %(reached)s, language = %(language)s
         WHERE realm_id = %(realm_id)s AND (indexed, language) <> (%(reached)s, %(language)s)
        """,
        realm_id=realm_id,
        reached=reached,
        language=language,
    )
    edited = await _index_stale(connection, realm_id, language, limit)
    return len(ids) == limit or edited == limit


async def _index_between(
    connection: Connection,
    realm_id: RealmId,
    language: str,
    span: tuple[Position, Position],
    limit: int,
) -> list[MessageId]:
    """Index messages above the first position and up to the second; return their ids.

    Without locks: concurrent edits and deletions leave a mark.
    """
    return await connection.values(
        """
        WITH wanted AS MATERIALIZED (
            SELECT m.id, m.rendered_content FROM messages m
             WHERE m.realm_id = %(realm_id)s AND m.id > %(above)s AND m.id <= %(until)s
             ORDER BY m.id LIMIT %(limit)s
        ), indexed AS (
            INSERT INTO message_terms (realm_id, message_id, words, text)
            SELECT %(realm_id)s, w.id, search_words(%(language)s::regconfig, x.text), x.text
              FROM wanted w
             CROSS JOIN LATERAL (SELECT search_text(w.rendered_content) AS text OFFSET 0) x
             -- What has been edited already may be there. Looked up in the order of the key, so
             -- that a plan that was made while there were few goes on doing so.
             WHERE (SELECT (t.realm_id, t.message_id) = (%(realm_id)s, w.id) FROM message_terms t
                     WHERE (t.realm_id, t.message_id) >= (%(realm_id)s, w.id)
                     ORDER BY t.realm_id, t.message_id LIMIT 1) IS NOT TRUE
        )
        SELECT id FROM wanted ORDER BY id
        """,
        realm_id=realm_id,
        above=span[0],
        until=span[1],
        limit=limit,
        language=language,
    )


async def _index_stale(connection: Connection, realm_id: RealmId, language: str, limit: int) -> int:
    """Index edited messages again, skipping locked ones, and remove deleted ones.

    Return how many.
    """
    done = await connection.values(
        """
        WITH wanted AS MATERIALIZED (
            SELECT x.message_id FROM search_stale x WHERE x.realm_id = %(realm_id)s
             ORDER BY x.message_id LIMIT %(limit)s
        ), held AS MATERIALIZED (
            -- The message before its mark, in the order in which edits lock them.
            SELECT m.realm_id, m.id, m.rendered_content FROM messages m
             WHERE m.realm_id = %(realm_id)s AND m.id IN (SELECT w.message_id FROM wanted w)
               FOR NO KEY UPDATE SKIP LOCKED
        ), indexed AS (
            INSERT INTO message_terms (realm_id, message_id, words, text)
            SELECT s.realm_id, s.id, search_words(%(language)s::regconfig, x.text), x.text
              FROM held s
             CROSS JOIN LATERAL (SELECT search_text(s.rendered_content) AS text OFFSET 0) x
             WHERE s.realm_id = %(realm_id)s
                ON CONFLICT (realm_id, message_id) DO UPDATE
               SET words = excluded.words, text = excluded.text
        ), forgotten AS (
            DELETE FROM message_terms t USING wanted w
             WHERE t.realm_id = %(realm_id)s AND t.message_id = w.message_id
               AND NOT EXISTS (SELECT FROM messages m
                                WHERE m.realm_id = %(realm_id)s AND m.id = w.message_id)
        )
        DELETE FROM search_stale x
         WHERE x.realm_id = %(realm_id)s AND x.message_id IN (SELECT w.message_id FROM wanted w)
           AND (x.message_id IN (SELECT s.id FROM held s)
                OR NOT EXISTS (SELECT FROM messages m
                                WHERE m.realm_id = %(realm_id)s AND m.id = x.message_id))
        RETURNING x.message_id
        """,
        realm_id=realm_id,
        limit=limit,
        language=language,
    )
    return len(done)


async def _forget(connection: Connection, realm_id: RealmId) -> None:
    await connection.execute(
        "DELETE FROM message_terms WHERE realm_id = %(realm_id)s", realm_id=realm_id
    )
