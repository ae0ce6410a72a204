"""Word boundaries in any script, also without blanks.

A word is made of letters, marks and digits. It ends before any other character, and where the
script changes (Unicode's annex 24): Latin words are set off from Chinese or Thai text around them
as they are from a blank. Digits belong to the script before them, and marks to their letter. Signs
of the dialect's own syntax (`@`, `#`) count as Latin where text touches them.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final
from unicodedata import category

from fontTools.unicodedata import script_extension

JOINING: Final = frozenset("#$%&+-=@\\^_")
"""Signs that join what stands on both sides: `parley-like`, `C++`, `a@b`."""

_LATIN: Final = frozenset({"Latn"})
_INHERITING: Final = frozenset({"Zyyy", "Zinh", "Zzzz"})
_LOOK_BACK: Final = 40
"""Maximum number of digits and marks that are skipped to find the script before."""
_WRITTEN_TOGETHER: Final = (
    frozenset({"Hani", "Hira", "Kana"}),
    frozenset({"Hani", "Hang"}),
    frozenset({"Hani", "Bopo"}),
)
"""Scripts of one writing system, which names may mix."""


def begins_word(text: str, at: int) -> bool:
    """Return whether a word may begin at this place, not inside another."""
    if at <= 0 or at >= len(text) or not is_in_words(text[at - 1]):
        return True
    following = _scripts(text[at]) if is_in_words(text[at]) else _LATIN
    return following is not None and not following & _scripts_before(text, at)


def stands_free(text: str, at: int) -> bool:
    """Return whether it begins a word, and is not joined to the text before it by a sign."""
    return begins_word(text, at) and not (at > 0 and text[at - 1] in JOINING)


def ends_word(text: str, at: int) -> bool:
    """Return whether a whole word, or the end of one, ends at this place."""
    if at <= 0 or at >= len(text) or not is_in_words(text[at]):
        return True
    following = _scripts(text[at])
    return following is not None and not following & _scripts_before(text, at)


def leaves_writing_system(text: str, at: int) -> bool:
    """Return whether a word in another writing system begins at this place.

    Japanese is one, of three scripts. Latin letters leave none: they are used in all of them.
    """
    following = _scripts(text[at])
    if following is None or following & _LATIN:
        return False
    if not is_in_words(text[at - 1]):
        return False
    before = _scripts_before(text, at)
    if following & before:
        return False
    return not any(following & system and before & system for system in _WRITTEN_TOGETHER)


def tokens_of(text: str) -> list[str]:
    """Return words with their joining signs, and each other character that is no blank."""
    tokens: list[str] = []
    for is_word, characters in groupby(text, _is_in_tokens):
        if is_word:
            tokens += _of_one_script("".join(characters))
        else:
            tokens += [each for each in characters if not each.isspace()]
    return tokens


@lru_cache(maxsize=8192)
def _is_in_tokens(character: str) -> bool:
    return character in JOINING or is_in_words(character)


def _of_one_script(text: str) -> list[str]:
    """Return a run of words and joining signs, in pieces."""
    if text.isascii():
        return [text]
    cuts = [0, *_changes(text), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def _changes(text: str) -> Iterator[int]:
    current: frozenset[str] | None = None
    for at, character in enumerate(text):
        if not is_in_words(character):
            continue
        found = _scripts(character)
        if found is None:
            current = current or _LATIN
        else:
            if current is not None and not found & current:
                yield at
            current = found


@lru_cache(maxsize=8192)
def is_in_words(character: str) -> bool:
    """Return whether it is a letter, a mark or a digit."""
    return category(character)[0] in "LMN"


@lru_cache(maxsize=8192)
def _scripts(character: str) -> frozenset[str] | None:
    """Return the scripts that use it; None if it takes that of the character before it."""
    found = frozenset(script_extension(character))
    is_mark = category(character)[0] == "M"
    return None if is_mark or found <= _INHERITING else found


def _scripts_before(text: str, at: int) -> frozenset[str]:
    """Return the script of the word that ends at this place."""
    for before in range(at - 1, max(-1, at - 1 - _LOOK_BACK), -1):
        if not is_in_words(text[before]):
            break
        found = _scripts(text[before])
        if found is not None:
            return found
    return _LATIN
