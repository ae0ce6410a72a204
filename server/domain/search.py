"""Parse search queries: words, and phrases in quotes."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from server.domain.errors import BadNarrowError
from server.domain.folding import folded

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
"""Stemming dictionaries of Postgres, by language code."""
_PART: Final = re.compile(r'"([^"]*)"|([^\s"]+)')
_NEEDED_BEFORE: Final = re.compile(r"(?:--|(?<!\.)\.|[#@+$£€¥₹])$")
_NEEDED_AFTER: Final = re.compile(r"^(?:\++|[#%$£€¥₹])")
"""Punctuation that belongs to a word: `.net`, `#12`, `--help`; `c++`, `c#`, `100%`."""
_JOINERS: Final = "\u200c\u200d"
_EMOJI_STYLE: Final = "\ufe0f"


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """A required word, or several that follow each other."""

    text: str
    """Folded, with one space between words for any punctuation."""
    is_phrase: bool = False
    """Whether it is not stemmed: a phrase in quotes, or words like `fox,brown`."""


def language_of(code: str) -> str:
    """Return the dictionary for a realm with this language."""
    return LANGUAGES.get(re.split("[-_]", code.lower())[0], "simple")


def parse_search(operand: str) -> tuple[SearchTerm, ...]:
    """Return the words and phrases of a search.

    Raises BadNarrowError if there are none, or too many.

    Punctuation around words is ignored, unless it belongs to one; and so is punctuation alone,
    unless it is in quotes or there is nothing else.
    """
    if len(operand) > MAX_LENGTH:
        raise BadNarrowError(f"search is too long (limit: {MAX_LENGTH} characters)")
    parts: list[tuple[str, str]] = _PART.findall(folded(operand))
    found = [_wanted(phrase or word, is_quoted=bool(phrase)) for phrase, word in parts]
    known = [each for each in found if each is not None]
    if not known:
        known = [SearchTerm(word) for _, word in parts]
    wanted = tuple(each for each in dict.fromkeys(known) if each.text)
    if not wanted:
        raise BadNarrowError("search has no words")
    if len(wanted) > MAX_WORDS:
        raise BadNarrowError(f"search has too many words (limit: {MAX_WORDS})")
    return wanted


def _wanted(text: str, *, is_quoted: bool) -> SearchTerm | None:
    """Return the search term; None if it is only punctuation."""
    text = text.replace(_EMOJI_STYLE, "")
    words = [word for token in text.split() for word in _words(token)]
    if words:
        return SearchTerm(" ".join(words), is_phrase=is_quoted or len(words) > 1)
    if is_quoted or any(unicodedata.category(each) == "So" for each in text):
        return SearchTerm(" ".join(text.split()), is_phrase=is_quoted)
    return None


def _words(token: str) -> list[str]:
    """Return the words in text without blanks, with the punctuation that they need."""
    spans: list[tuple[int, int]] = []
    for at, each in enumerate(token):
        continues = bool(spans) and spans[-1][1] == at
        if _is_letter(each) or (continues and _goes_with_letters(each)):
            spans[-1:] = [(spans[-1][0], at + 1)] if continues else [*spans[-1:], (at, at + 1)]
    if not spans:
        return []
    words = [token[start:end] for start, end in spans]
    before = _NEEDED_BEFORE.search(token[: spans[0][0]])
    after = _NEEDED_AFTER.search(token[spans[-1][1] :])
    words[0] = (before[0] if before else "") + words[0]
    words[-1] += after[0] if after else ""
    return words


def _is_letter(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LN"


def _goes_with_letters(character: str) -> bool:
    return character in _JOINERS or unicodedata.category(character)[0] == "M"
