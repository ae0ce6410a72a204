"""Text as search compares it: one form for what is written in several."""

import unicodedata
from dataclasses import dataclass
from typing import Final

SIGMA: Final = "\N{GREEK SMALL LETTER SIGMA}"
FINAL_SIGMA: Final = "\N{GREEK SMALL LETTER FINAL SIGMA}"
"""What a sigma is at the end of a word."""
_DOTTED_I: Final = "i\N{COMBINING DOT ABOVE}"
_JAMO: Final = ("\u1160", "\u11ff")
"""The vowels and last consonants of Korean syllables that are written in parts."""
Span = tuple[int, int]


def folded(text: str) -> str:
    """As the database's search_folded: composed, in small letters, with one sigma and one i."""
    if text.isascii():
        return text.lower()
    small = unicodedata.normalize("NFC", text).lower()
    return small.replace(FINAL_SIGMA, SIGMA).replace(_DOTTED_I, "i")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text that knows where in the text each of its characters was."""

    text: str
    places: tuple[Span, ...] | None
    """None: everything is where it was, as it nearly always is."""

    @classmethod
    def of(cls, text: str) -> "Folded":
        whole = folded(text)
        if text.isascii() or (len(whole) == len(text) and unicodedata.is_normalized("NFC", text)):
            return cls(whole, None)
        pieces: list[str] = []
        places: list[Span] = []
        starts = [i for i, each in enumerate(text) if i == 0 or not _goes_with_the_last(each)]
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            piece = folded(text[start:end])
            pieces.append(piece)
            is_even = len(piece) == end - start
            places += [
                (start + n, start + n + 1) if is_even else (start, end) for n in range(len(piece))
            ]
        return cls("".join(pieces), tuple(places))

    def place(self, span: Span) -> Span:
        """Return where in the text this part of the folded one was; the part is not empty."""
        if self.places is None:
            return span
        start, end = span
        return self.places[start][0], self.places[end - 1][1]


def _goes_with_the_last(character: str) -> bool:
    """Return whether it may become one letter with what stands before it."""
    first, last = _JAMO
    return unicodedata.category(character)[0] == "M" or first <= character <= last
