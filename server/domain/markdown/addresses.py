"""Finds the addresses that people write without any markup: of pages, of people, and domains."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from server.domain.markdown.source import MARK

TRIGGER = r"https?://|www\.|@(?=[a-z0-9])|\.(?=[a-z]{2})"
"""What an address cannot be without; matched without regard to case."""

_TRIGGER = re.compile(TRIGGER, re.IGNORECASE)

# Domains without a scheme are links if their last part can hardly be anything else; parts that
# are words, as after a full stop without a space, need a path.
_TOP_LEVEL = (
    "ai|app|au|biz|blog|br|ca|ch|chat|cloud|cn|co|com|cz|de|dev|dk|edu|eu|fi|fr|gd|gl|gov|info|"
    "io|jp|kr|mil|net|nl|online|org|page|pl|ru|se|site|tech|tv|uk|wiki|xyz"
)
_TOP_LEVEL_WORDS = "am|as|at|be|do|id|in|is|it|me|my|no|so|to|us"
_DOMAIN_END = re.compile(
    rf"(?:\.(?:{_TOP_LEVEL})){{1,3}}(?:(?=:[0-9])|(?![\w-]|\.\w))"
    rf"|\.(?:{_TOP_LEVEL_WORDS})(?=/\w)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"https?://[\w\[]", re.IGNORECASE)
_WWW = re.compile(r"www\.[\w-]{1,63}\.[\w-]", re.IGNORECASE)
_NOT_BEFORE_DOMAIN = frozenset("@/\\_=#&%?$~.-+")
_AFTER_DOMAIN = re.compile(r"[/?#]|:[0-9]")

_RUN = re.compile(rf"[^\s<>\"`|\\{MARK}\u201c\u201d\u3000-\u3002\uff0c()\[\]]*")
_CLOSING = {")": "(", "]": "["}
_TRAILING = "?!.,:;*_~'([{"

_ALPHANUMERIC = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_MAIL_DOMAIN = re.compile(r"@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}", re.IGNORECASE)
_MAX_NAME = 64
"""Longer names of mailboxes and domains are not looked for, so that looking back costs little."""


class Address(NamedTuple):
    """Where in a text an address stands, and where it leads."""

    start: int
    end: int
    href: str


def pages_in(text: str) -> Iterator[Address]:
    """The addresses of pages in a text, in its order; no two overlap."""
    done = 0
    for trigger in _TRIGGER.finditer(text):
        if trigger.start() < done or trigger[0] == "@":
            continue
        found = find_address(text, trigger[0].lower(), trigger.start(), done)
        if found is not None:
            yield found
            done = found.end


def find_address(text: str, trigger: str, start: int, earliest: int) -> Address | None:
    """The address around a match of `TRIGGER` at `start`, no part of it before `earliest`."""
    if trigger == "@":
        return _mailbox(text, start, earliest)
    if trigger == ".":
        return _domain(text, start, earliest)
    return _page(text, start)


def _page(text: str, start: int) -> Address | None:
    if start and (text[start - 1].isalnum() or text[start - 1] in "\\_"):
        return None

    # What follows is certain to be an address, so that nothing is read twice.
    is_named = text[start] in "wW"
    if not (_WWW if is_named else _SCHEME).match(text, start):
        return None
    end = _end(text, start)
    return Address(start, end, ("http://" if is_named else "") + text[start:end])


def _domain(text: str, start: int, earliest: int) -> Address | None:
    match = _DOMAIN_END.match(text, start)
    if match is None:
        return None
    name = _before(text, start, earliest, ".-")
    begin = start - len(name)
    if not all(name.split(".")) or name[0] == "-" or text[begin - 1 : begin] in _NOT_BEFORE_DOMAIN:
        return None

    end = _end(text, match.end()) if _AFTER_DOMAIN.match(text, match.end()) else match.end()
    return Address(begin, end, "http://" + text[begin:end])


def _mailbox(text: str, start: int, earliest: int) -> Address | None:
    name = _before(text, start, earliest, ".+-_%").lstrip(".-%")
    match = _MAIL_DOMAIN.match(text, start)
    if not name or match is None:
        return None
    begin, end = start - len(name), start + len(match[0].rstrip("-"))
    return Address(begin, end, "mailto:" + text[begin:end])


def _before(text: str, start: int, earliest: int, punctuation: str) -> str:
    """The run of letters, digits and some punctuation that ends at `start`."""
    before = text[max(earliest, start - _MAX_NAME) : start]
    return before[len(before.rstrip(_ALPHANUMERIC + punctuation)) :]


def _end(text: str, start: int) -> int:
    """Where an address ends.

    That is before a bracket that it closes without opening it, and before the punctuation of the
    sentence around it.
    """
    depth = {"(": 0, "[": 0}
    end = start
    while True:
        run = _RUN.match(text, end)
        end = run.end() if run else end
        bracket = text[end : end + 1]
        if bracket in _CLOSING:
            depth[_CLOSING[bracket]] -= 1
            if depth[_CLOSING[bracket]] < 0:
                break
        elif bracket in depth:
            depth[bracket] += 1
        else:
            break
        end += 1
    return start + len(text[start:end].rstrip(_TRAILING))
