"""Text folding for search: one form for several spellings."""

import unicodedata
from dataclasses import dataclass
from typing import Final

SIGMA: Final = "\N{GREEK SMALL LETTER SIGMA}"
FINAL_SIGMA: Final = "\N{GREEK SMALL LETTER FINAL SIGMA}"
"""The form of sigma at the end of a word."""
_DOTTED_I: Final = "i\N{COMBINING DOT ABOVE}"
_JAMO: Final = ("\u1160", "\u11ff")
"""Range of the vowels and last consonants of decomposed Korean syllables."""
Span = tuple[int, int]


def folded(text: str) -> str:
    """Fold like the database's search_folded: composed, lower case, with one sigma and one i."""
    if text.isascii():
        return text.lower()
    small = unicodedata.normalize("NFC", text).lower()
    return small.replace(FINAL_SIGMA, SIGMA).replace(_DOTTED_I, "i")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text that maps each of its characters to its place in the original."""

    text: str
    places: tuple[Span, ...] | None
    """None if all places are the same, as is usual."""

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
        """Return the span in the original of a span in the folded text, which is not empty."""
        if self.places is None:
            return span
        start, end = span
        return self.places[start][0], self.places[end - 1][1]


def _goes_with_the_last(character: str) -> bool:
    """Return whether it may combine with the character before it."""
    first, last = _JAMO
    return unicodedata.category(character)[0] == "M" or first <= character <= last
