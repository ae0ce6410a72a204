"""How users are shown in responses and events: names, addresses, pictures."""

import hashlib
import re
from collections.abc import Iterator
from typing import Final

DOMAIN: Final = "leaks.test"
KNOWN, UNKNOWN, ODD = "known", "unknown", "odd"
"""Forms in which a user is shown: by name, as an inaccessible user, and otherwise."""
_WRITTEN: Final = frozenset(
    {
        "content",
        "raw_content",
        "rendered_content",
        "orig_content",
        "orig_rendered_content",
        "prev_content",
        "prev_rendered_content",
        "content_html_diff",
        "match_content",
    }
)
"""Fields of what people have written, which stays as it is."""
_NAME: Final = re.compile(r"\bUser ([0-9]+)\b")
_MOST: Final = 100
"""More people there are in no organization of a history."""


def name_of(number: int) -> str:
    return f"User {number}"


def address_of(number: int) -> str:
    return f"user{number}@{DOMAIN}"


_ADDRESS: Final = re.compile(rf"\buser([0-9]+)@{re.escape(DOMAIN)}")
_HIDDEN: Final = re.compile(rf"user[0-9]+@[0-9a-z-]+\.{re.escape(DOMAIN)}")
_GRAVATARS: Final = {
    hashlib.md5(address_of(number).encode(), usedforsecurity=False).hexdigest(): number
    for number in range(_MOST)
}
_GRAVATAR: Final = re.compile(r"\bavatar/([0-9a-f]{32})\b")


def named_in(value: object) -> frozenset[int]:
    """The users with their names anywhere in it, except in what people have written."""
    return frozenset(int(each[1]) for text in _texts(value) for each in _NAME.finditer(text))


def addressed_in(value: object) -> frozenset[int]:
    """The users with their addresses in it, or with pictures that are found by an address."""
    found: set[int] = set()
    for text in _texts(value):
        found.update(int(each[1]) for each in _ADDRESS.finditer(text))
        for each in _GRAVATAR.finditer(text):
            if each[1] in _GRAVATARS:
                found.add(_GRAVATARS[each[1]])
    return frozenset(found)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for name, held in value.items():
            yield name
            if name not in _WRITTEN:
                yield from _texts(held)


def how_shown(number: int, shown: str) -> str:
    """How this name or address shows the person of this number."""
    if shown in (name_of(number), address_of(number)):
        return KNOWN
    return UNKNOWN if shown == "Unknown user" or _HIDDEN.fullmatch(shown) else ODD
