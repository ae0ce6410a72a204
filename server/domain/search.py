"""What people type to search: words, and phrases in quotes."""

import re
from dataclasses import dataclass
from typing import Final

from server.domain.errors import BadNarrowError

MAX_LENGTH: Final = 1_000
MAX_WORDS: Final = 40
LANGUAGES: Final = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""Postgres's dictionaries of stems, by the code of a language."""
_PART: Final = re.compile(r'"([^"]*)"|([^\s"]+)')


@dataclass(frozen=True, slots=True)
class Wanted:
    """A word, or a phrase, that has to be there."""

    text: str
    """In small letters, with one blank between words."""
    is_phrase: bool = False


def language_of(code: str) -> str:
    """The dictionary for an organization with this language."""
    return LANGUAGES.get(re.split("[-_]", code.lower())[0], "simple")


def parse_search(operand: str) -> tuple[Wanted, ...]:
    """The words and phrases of a search. Raises BadNarrowError if there are none, or too many."""
    if len(operand) > MAX_LENGTH:
        raise BadNarrowError(f"search is too long (limit: {MAX_LENGTH} characters)")
    found = dict.fromkeys(
        Wanted(" ".join((phrase or word).lower().split()), is_phrase=bool(phrase))
        for phrase, word in _PART.findall(operand)
    )
    wanted = tuple(each for each in found if each.text)
    if not wanted:
        raise BadNarrowError("search has no words")
    if len(wanted) > MAX_WORDS:
        raise BadNarrowError(f"search has too many words (limit: {MAX_WORDS})")
    return wanted
