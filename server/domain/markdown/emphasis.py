"""Let emphasis begin and end beside punctuation, where CommonMark's flanking rule forbids it.

A run of asterisks or tildes between punctuation and a letter may only open or only close in
CommonMark, whichever the blank would be on. Text without blanks has emphasis there all the time:
`**「注意」**正文`. The parser keeps its rule; it sees a letter (`FLANK`) where a run may do both.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple
from unicodedata import category

from server.domain.markdown.source import FLANK, HIDDEN, LINE_MARKS

_RUNS = re.compile(r"(?<!\\)(?:\*+|~~+)+")
_RUN = re.compile(r"\*+|~+")
_EDGE = "\n\n"
"""Stands for the outside of the text."""
_QUOTATION = frozenset("\"'")
_STARTS = frozenset("([{")
_BLANKS = frozenset(" \t\n\u3000")
"""Not the spaces that French has within quotation marks."""
_NO_TEXT = frozenset("|>")
"""At a cell's or a quote's edge, the parser decides."""
_TERMINAL = frozenset(
    ",;:!?.\u2025\u2026\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f\uff61\uff64"  # CJK
    "\u060c\u061b\u061f\u0964\u0965"  # Arabic, Devanagari
)
"""Characters that end a sentence or a part of one, and begin none."""

MAX_UNUSED = 200
"""Maximum number of runs without meaning, after which no more are examined."""

_LATE = re.compile(r"[.,;:!?)\]}\"'%](?:\*+|~~+)+[A-Za-z0-9]")
"""A run that might close if CommonMark has no use for it."""
_ARGUMENT = re.compile(r"\w+[,;]")
_BRACKET = re.compile(r"[()\[\]{}]")
_WORD = re.compile(r"\w")


class _Around(NamedTuple):
    """The two characters on either side of a run, or of several in a row.

    They are the original characters, also where `protect` has replaced them.
    """

    before_last: str
    last: str
    following: str
    after_following: str

    @property
    def opens(self) -> bool:
        """Whether a run there may open in CommonMark."""
        return _opens(self.last, self.following)

    @property
    def closes(self) -> bool:
        return _opens(self.following, self.last)

    @property
    def is_free(self) -> bool:
        """Whether it may open, or close, also because it is beside non-ASCII text."""
        if self.opens == self.closes or not (_is_beyond(self.last) or _is_beyond(self.following)):
            return False
        return self.may_close if self.opens else self.may_open

    @property
    def may_close(self) -> bool:
        """Whether the punctuation before it may be the last of what is emphasized."""
        kind = category(self.last)
        if kind == "Ps" or self.last in _NO_TEXT:
            return False
        if kind[0] == "S":
            return _is_beyond(self.following)
        return not (_is_quotation(self.last) and _begins(self.before_last))

    @property
    def may_open(self) -> bool:
        """Whether the punctuation behind it may be the first of what is emphasized."""
        first, second = self.following, self.after_following
        if category(first) == "Pe" or first in _NO_TEXT or second in _BLANKS:
            return False
        if first in _TERMINAL:
            return first == "." and second.isalnum()
        return not (_is_quotation(first) and _is_punctuation(second))


def free_flanks(text: str) -> str:
    """Return the protected text with `FLANK` beside runs that may open or close, unlike CommonMark.

    That is beside punctuation or letters beyond ASCII, and where only a character put in by
    `protect` hides from the parser that it is punctuation.
    """
    if text.isascii() or ("*" not in text and "~~" not in text):
        return text
    padded = _padded(text)
    freed = _RUNS.sub(lambda match: _freed(match, padded), padded)
    return freed[len(_EDGE) : -len(_EDGE)]


def _padded(text: str) -> str:
    return _EDGE + text + _EDGE


def _freed(match: re.Match[str], padded: str) -> str:
    start, end = match.span()
    around = padded[start - 2 : start] + padded[end : end + 2]
    return flanked(match[0]) if _is_freed(around) else match[0]


@lru_cache(maxsize=4096)
def _is_freed(seen: str) -> bool:
    """Return whether a run opens or closes unlike the parser thinks."""
    last, following = seen[1], seen[2]
    around = _around(seen)
    opens = not _opens(last, following) and (around.opens or around.is_free)
    closes = not _opens(following, last) and (around.closes or around.is_free)
    return opens or closes


def _around(seen: str) -> _Around:
    return _Around(*[_EDGE[0] if each in LINE_MARKS else HIDDEN.get(each, each) for each in seen])


def flanked(runs: str) -> str:
    """Return runs in a row that may all open and close."""
    return FLANK + "".join([run + FLANK for run in _RUN.findall(runs)])


def _opens(last: str, following: str) -> bool:
    """Return whether a run between the two may open; swapped: whether it may close."""
    if following.isspace():
        return False
    return not _is_punctuation(following) or last.isspace() or _is_punctuation(last)


def _is_punctuation(character: str) -> bool:
    return category(character)[0] in "PS"


def _is_quotation(character: str) -> bool:
    return character in _QUOTATION or category(character) in {"Pi", "Pf"}


def _begins(before: str) -> bool:
    """Return whether a quotation mark behind this opens a quotation."""
    return before in _BLANKS or category(before) == "Ps" or before in _NO_TEXT


def _is_beyond(character: str) -> bool:
    return character > "\x7f"


# -- runs that CommonMark has no use for


def may_have_unused(text: str) -> bool:
    """Return whether `unused_freed` may have something to do."""
    return _LATE.search(text) is not None


def unused_freed(source: str, events: Iterable[tuple[Any, Any]]) -> str:
    """Return the source with `FLANK` beside runs behind ASCII punctuation that close an open one.

    `events` are the parser's, with their places in bytes. Only runs that it leaves as text change,
    so whatever is emphasized stays so: `**bold.**tail`.
    """
    parents = _parents_of_unused(source, events)
    pieces: list[str] = []
    done = 0
    for closing in _closing(source, parents):
        pieces += (source[done : closing.start], flanked(source[closing.start : closing.end]))
        done = closing.end
    return "".join([*pieces, source[done:]])


def _parents_of_unused(source: str, events: Iterable[tuple[Any, Any]]) -> dict[int, int]:
    """Return the places of asterisks and tildes that are text, with the number of their parent."""
    encoded = source.encode()
    parents: dict[int, int] = {}
    open_elements = [0]
    byte = place = 0
    for number, (event, span) in enumerate(events):
        kind = event if isinstance(event, str) else next(iter(event))
        if kind == "Start":
            open_elements.append(number)
        elif kind == "End":
            open_elements.pop()
        elif kind == "Text":
            place += len(encoded[byte : span["start"]].decode())
            text = encoded[span["start"] : span["end"]].decode()
            parents.update(
                (place + at, open_elements[-1]) for at, each in enumerate(text) if each in "*~"
            )
            place, byte = place + len(text), span["end"]
    return parents


class _Unused(NamedTuple):
    """Asterisks and tildes in a row that are text, or those of them that are."""

    start: int
    end: int
    runs: str
    parent: int
    around: _Around


def _closing(source: str, parents: dict[int, int]) -> Iterator[_Unused]:
    """Yield runs that close an earlier one. All between the two is used, so this costs little."""
    opening: _Unused | None = None
    for unused in islice(_unused(source, parents), MAX_UNUSED):
        if opening is not None and _closes_late(source, opening, unused):
            yield unused
            opening = None
        elif unused.around.opens or unused.around.closes:
            opening = unused if _opens_word(unused) else None


def _unused(source: str, parents: dict[int, int]) -> Iterator[_Unused]:
    padded = _padded(source)
    for match in _RUNS.finditer(source):
        start, end = match.span()
        places = [at for at in range(start, end) if at in parents]
        if places:
            runs = "".join([source[at] for at in places])
            # In the padded text everything is two characters further on.
            around = _around(padded[start : start + 2] + padded[end + 2 : end + 4])
            yield _Unused(start, end, runs, parents[places[0]], around)


def _opens_word(unused: _Unused) -> bool:
    """Return whether a run begins emphasis, and is not an operator or a part of a pattern."""
    around = unused.around
    if not around.opens or around.following in _TERMINAL:
        return False
    if around.last.isalpha() and around.last.isascii():
        return len(unused.runs) > 1 and around.following.isalpha()
    return around.last in _STARTS or _begins(around.last) or _is_beyond(around.last)


def _closes_late(source: str, opening: _Unused, closing: _Unused) -> bool:
    """Return whether a run that the parser ignores closes an earlier one."""
    inner = source[opening.end : closing.start]
    return (
        _LATE.match(source, closing.start - 1) is not None
        and closing.around.may_close
        and closing.runs == opening.runs[::-1]
        and closing.parent == opening.parent
        and "\n" not in inner
        and _WORD.search(inner) is not None
        and not _is_code(opening.around.last, opening.runs, inner)
    )


def _is_code(before: str, runs: str, inner: str) -> bool:
    """Return whether it may be code: `int *a,*b`, `f(**a,**b)`, `2 *(3)*x`."""
    if not _are_paired(inner):
        return True
    if _ARGUMENT.fullmatch(inner):
        return len(runs) == 1 or before in _STARTS
    return len(runs) == 1 and inner[0] == "(" and inner[-1] == ")"


def _are_paired(text: str) -> bool:
    """Return whether each closing bracket in the text has an opening one; others may stay open."""
    pairs = {")": "(", "]": "[", "}": "{"}
    open_ones: list[str] = []
    for bracket in _BRACKET.findall(text):
        if bracket not in pairs:
            open_ones.append(bracket)
        elif not open_ones or open_ones.pop() != pairs[bracket]:
            return False
    return True
