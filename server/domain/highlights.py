"""Marks what a search has found, in text and in rendered messages."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from html import escape, unescape
from typing import Final

OPEN: Final = '<span class="highlight">'
CLOSE: Final = "</span>"
_TAG_OR_TEXT: Final = re.compile(r"<[^>]*>|[^<]+")
_WORD: Final = re.compile(r"\w+")
_SHORT: Final = 3


@dataclass(frozen=True, slots=True)
class Marks:
    """What is to be marked: texts wherever they occur, and whole words by their stems."""

    texts: tuple[str, ...]
    """In small letters. Of one or two ASCII letters: only where a word begins."""
    words: frozenset[str]
    """In small letters."""

    def in_html(self, html: str) -> str:
        """The rendered message with marks in its text, never in its tags."""
        pattern = self._pattern()
        if pattern is None:
            return html
        pieces = _TAG_OR_TEXT.findall(html)
        return "".join(p if p.startswith("<") else _marked(pattern, unescape(p)) for p in pieces)

    def in_text(self, text: str) -> str:
        """Text as HTML, with marks."""
        pattern = self._pattern()
        return escape(text) if pattern is None else _marked(pattern, text)

    def _pattern(self) -> re.Pattern[str] | None:
        ways = [_way(text) for text in sorted(self.texts, key=len, reverse=True)]
        whole = sorted(self.words, key=len, reverse=True)
        if whole:
            ways.insert(0, rf"\b(?:{'|'.join(re.escape(word) for word in whole)})\b")
        return re.compile("|".join(ways), re.IGNORECASE) if ways else None


def _way(text: str) -> str:
    parts = r"\s+".join(re.escape(part) for part in text.split())
    is_short = len(text) < _SHORT and text.isascii() and text.isalnum()
    return rf"\b{parts}" if is_short else parts


def _marked(pattern: re.Pattern[str], text: str) -> str:
    marked, end = [], 0
    for match in pattern.finditer(text):
        marked += [escape(text[end : match.start()]), OPEN, escape(match[0]), CLOSE]
        end = match.end()
    return "".join([*marked, escape(text[end:])])


def words_in(htmls: Iterable[str]) -> Collection[str]:
    """The words of rendered messages, each once, in small letters."""
    words: set[str] = set()
    for html in htmls:
        for piece in _TAG_OR_TEXT.findall(html):
            if not piece.startswith("<"):
                words.update(_WORD.findall(unescape(piece).lower()))
    return words
