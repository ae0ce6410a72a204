"""Highlight search matches in text and in rendered messages."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import escape, unescape
from typing import Final

from server.domain.folding import Folded, Span, folded

OPEN: Final = '<span class="highlight">'
CLOSE: Final = "</span>"
_TAG_OR_TEXT: Final = re.compile(r"<[^>]*>|[^<]+")
_WORD: Final = re.compile(r"\w+")
_IMAGE: Final = re.compile(r'<img alt="([^"]*)"')
_BLOCK: Final = re.compile(
    r"</?(?:p|div|br|hr|li|ul|ol|h[1-6]|pre|blockquote|table|tr|td|th)\b[^>]*>"
)
"""Block elements, as in the database's search_text: highlights match what is searched."""


@dataclass(frozen=True, slots=True)
class HighlightedMessage:
    """A rendered message, and its visible text."""

    html: str
    pieces: list[str]
    """Tags, and the texts between them."""
    seen: list[str]
    """The visible text of each piece."""
    text: str
    """All visible text."""

    @classmethod
    def of(cls, html: str) -> "HighlightedMessage":
        pieces = _TAG_OR_TEXT.findall(html)
        seen = [_shown(piece) for piece in pieces]
        return cls(html, pieces, seen, "".join(seen))


@dataclass(frozen=True)
class Marks:
    """What to highlight: texts wherever they occur, and whole words by their stems."""

    texts: tuple[tuple[str, bool], ...]
    """Folded, with a space for any separator; whether it matches only at the beginning of a
    word."""
    words: frozenset[str]
    """Folded."""

    def in_html(self, shown: HighlightedMessage) -> str:
        """Return the rendered message with highlights in its text, never in its tags.

        A match across elements is highlighted in each.
        """
        found = self._found(shown.text)
        if not found:
            return shown.html
        by_piece = zip(shown.pieces, shown.seen, _by_piece(shown.seen, found), strict=True)
        return "".join(
            _marked(seen, spans) if spans and not piece.startswith("<") else piece
            for piece, seen, spans in by_piece
        )

    def in_text(self, text: str) -> str:
        """Return plain text as HTML with highlights."""
        return _marked(text, self._found(text))

    def _found(self, text: str) -> list[Span]:
        if not self._ways:
            return []
        known = Folded.of(text)
        found = (match.span() for match in self._pattern.finditer(known.text))
        return [known.place(span) for span in found if span[0] < span[1]]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self._ways)

    @cached_property
    def _ways(self) -> str:
        """Return a regular expression; empty if there is nothing to find."""
        texts = sorted(self.texts, key=_length, reverse=True)
        ways = [_way(text, begins_words=begins) for text, begins in texts]
        whole = sorted(self.words, key=len, reverse=True)
        if whole:
            ways.insert(0, rf"(?:{'|'.join(_beginning(word) for word in whole)})\b")
        return "|".join(ways)


def _length(text: tuple[str, bool]) -> int:
    return len(text[0])


def _way(text: str, *, begins_words: bool) -> str:
    first, *others = text.split()
    parts = [_beginning(first) if begins_words else re.escape(first), *map(re.escape, others)]
    return r"\W+".join(parts)


def _beginning(word: str) -> str:
    r"""Return `\bword` as a pattern that is searched for the word's first letter."""
    first = re.escape(word[0])
    return rf"{first}(?<!\w{first}){re.escape(word[1:])}"


def _shown(piece: str) -> str:
    """Return the visible text of a piece of HTML: nothing for a tag, except images and blocks."""
    return _shown_of_tag(piece) if piece.startswith("<") else unescape(piece)


@lru_cache(maxsize=200)
def _shown_of_tag(piece: str) -> str:
    image = _IMAGE.match(piece)
    if image is not None:
        return unescape(image[1])
    return "\n" if _BLOCK.match(piece) else ""


def _by_piece(pieces: Iterable[str], found: Sequence[Span]) -> Iterator[list[Span]]:
    """Yield for each piece the parts of the matches in it, relative to its start.

    `found` is sorted, so each match is looked at only where it is.
    """
    start = at = 0
    for piece in pieces:
        end, spans = start + len(piece), []
        while at < len(found) and found[at][0] < end:
            first, last = found[at]
            spans.append((max(first, start) - start, min(last, end) - start))
            if last > end:
                break  # it goes on in the next piece
            at += 1
        yield spans
        start = end


def _marked(text: str, found: Iterable[Span]) -> str:
    marked, done = [], 0
    for start, end in found:
        if text[start:end].strip():
            marked += [escape(text[done:start]), OPEN, escape(text[start:end]), CLOSE]
            done = end
    return "".join([*marked, escape(text[done:])])


def words_in(texts: Iterable[str]) -> set[str]:
    """Return the words of the texts, each once, folded."""
    words: set[str] = set()
    for text in texts:
        words.update(_WORD.findall(folded(text)))
    return words
