"""Marks what a search has found, in text and in rendered messages."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from html import escape, unescape
from typing import Final

OPEN: Final = '<span class="highlight">'
CLOSE: Final = "</span>"
_TAG_OR_TEXT: Final = re.compile(r"<[^>]*>|[^<]+")
_WORD: Final = re.compile(r"\w+")
_IMAGE: Final = re.compile(r'<img alt="([^"]*)"')
_BLOCK: Final = re.compile(
    r"</?(?:p|div|br|hr|li|ul|ol|h[1-6]|pre|blockquote|table|tr|td|th)\b[^>]*>"
)
"""As in the database's search_text: what is marked is what is searched."""
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Marks:
    """What is to be marked: texts wherever they occur, and whole words by their stems."""

    texts: tuple[tuple[str, bool], ...]
    """In small letters, a blank for whatever is between two words; whether it counts only where
    a word begins."""
    words: frozenset[str]
    """In small letters."""

    def in_html(self, html: str) -> str:
        """The rendered message with marks in its text, never in its tags.

        What goes on in another element is marked in both.
        """
        pattern = self._pattern()
        if pattern is None:
            return html
        pieces = _TAG_OR_TEXT.findall(html)
        shown = [_shown(piece) for piece in pieces]
        found = [match.span() for match in pattern.finditer("".join(shown))]
        written, start = [], 0
        for piece, text in zip(pieces, shown, strict=True):
            is_tag = piece.startswith("<")
            written.append(piece if is_tag else _marked(text, _within(found, start, len(text))))
            start += len(text)
        return "".join(written)

    def in_text(self, text: str) -> str:
        """Text as HTML, with marks."""
        pattern = self._pattern()
        found = [] if pattern is None else [match.span() for match in pattern.finditer(text)]
        return _marked(text, found)

    def _pattern(self) -> re.Pattern[str] | None:
        texts = sorted(self.texts, key=_length, reverse=True)
        ways = [_way(text, begins_words=begins) for text, begins in texts]
        whole = sorted(self.words, key=len, reverse=True)
        if whole:
            ways.insert(0, rf"\b(?:{'|'.join(re.escape(word) for word in whole)})\b")
        return re.compile("|".join(ways), re.IGNORECASE) if ways else None


def _length(text: tuple[str, bool]) -> int:
    return len(text[0])


def _way(text: str, *, begins_words: bool) -> str:
    parts = r"\W+".join(re.escape(part) for part in text.split())
    return rf"\b{parts}" if begins_words else parts


def _shown(piece: str) -> str:
    """What a reader sees of a piece of HTML: of a tag nothing, unless it is an image or a block."""
    if not piece.startswith("<"):
        return unescape(piece)
    image = _IMAGE.match(piece)
    if image is not None:
        return unescape(image[1])
    return "\n" if _BLOCK.match(piece) else ""


def _within(found: Iterable[Span], start: int, length: int) -> Iterator[Span]:
    """The parts of what was found that are in a piece, counted from its start."""
    for first, end in found:
        if first < start + length and end > start:
            yield max(first - start, 0), min(end - start, length)


def _marked(text: str, found: Iterable[Span]) -> str:
    marked, done = [], 0
    for start, end in found:
        if text[start:end].strip():
            marked += [escape(text[done:start]), OPEN, escape(text[start:end]), CLOSE]
            done = end
    return "".join([*marked, escape(text[done:])])


def words_in(htmls: Iterable[str]) -> Collection[str]:
    """The words of rendered messages, each once, in small letters."""
    words: set[str] = set()
    for html in htmls:
        shown = "".join(_shown(piece) for piece in _TAG_OR_TEXT.findall(html))
        words.update(_WORD.findall(shown.lower()))
    return words
