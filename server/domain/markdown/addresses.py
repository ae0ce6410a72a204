"""Find addresses written without markup: URLs, email addresses and domains."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from server.domain.words import begins_word, ends_word, is_in_words, leaves_writing_system

TRIGGER = r"https?://|www\.|@(?=[a-z0-9])|\.(?=[a-z]{2})"
"""What every address contains; matched case-insensitively."""

_TRIGGER = re.compile(TRIGGER, re.IGNORECASE)

# Domains without a scheme become links if their top-level domain is unlikely to be anything else;
# those that are words, as after a full stop without a space, need a path.
_TOP_LEVEL = (
    "ai|app|au|biz|blog|br|ca|ch|chat|cloud|cn|co|com|cz|de|dev|dk|edu|eu|fi|fr|gd|gl|gov|info|"
    "io|jp|kr|mil|net|nl|online|org|page|pl|ru|se|site|tech|tv|uk|wiki|xyz"
)
_TOP_LEVEL_WORDS = "am|as|at|be|do|id|in|is|it|me|my|no|so|to|us"
_DOMAIN_END = re.compile(
    rf"(?:\.(?:{_TOP_LEVEL})){{1,3}}(?:(?=:[0-9])|(?![a-z0-9_-]|\.[a-z0-9_]))"
    rf"|\.(?:{_TOP_LEVEL_WORDS})(?=/\w)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"https?://[\w\[]", re.IGNORECASE)
_WWW = re.compile(r"www\.[\w-]{1,63}\.[\w-]", re.IGNORECASE)
_NOT_BEFORE_DOMAIN = frozenset("@/\\_=#&%?$~.-+")
_AFTER_DOMAIN = re.compile(r"[/?#]|:[0-9]")

_RUN = re.compile(r"[!#-';=?@A-Z^_a-z{}~*+,./0-9:-]*")
"""ASCII characters of addresses, except brackets that come in pairs."""
_CLOSING = {")": "(", "]": "["}
_BEYOND_ASCII = frozenset("\u00b7\u2010\u2011\u2013\u200c\u200d\u30a0\u30fb")
"""Characters that join non-ASCII words in readable URLs."""
_BEFORE_OTHER_SCRIPTS = frozenset("/=&#-_+%~:@(")
"""Characters, besides the dots of a domain, after which an address may continue in another
script."""
_TRAILING = "?!.,:;*_~'([{" + "".join(_BEYOND_ASCII)

_ALPHANUMERIC = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_MAIL_DOMAIN = re.compile(r"@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}", re.IGNORECASE)
_MAX_NAME = 64
"""Longer names of mailboxes and domains are not matched, so that backtracking is bounded."""


class Address(NamedTuple):
    """Place of an address in a text, and its target."""

    start: int
    end: int
    href: str


def pages_in(text: str) -> Iterator[Address]:
    """Yield the URLs in a text in order; no two overlap."""
    return _found_in(text, without="@")


def addresses_in(text: str) -> Iterator[Address]:
    """Yield the URLs and email addresses."""
    return _found_in(text, without="")


def _found_in(text: str, *, without: str) -> Iterator[Address]:
    done = 0
    for trigger in _TRIGGER.finditer(text):
        if trigger.start() < done or trigger[0] == without:
            continue
        found = find_address(text, trigger[0].lower(), trigger.start(), done)
        if found is not None:
            yield found
            done = found.end


def find_address(text: str, trigger: str, start: int, earliest: int) -> Address | None:
    """Return the address around a match of `TRIGGER` at `start`, not reaching before `earliest`."""
    if trigger == "@":
        return _mailbox(text, start, earliest)
    if trigger == ".":
        return _domain(text, start, earliest)
    return _page(text, start)


def _page(text: str, start: int) -> Address | None:
    if not begins_word(text, start) or text[max(0, start - 1) : start] in {"\\", "_"}:
        return None

    # What follows is certain to be an address, so that nothing is scanned twice.
    is_named = text[start] in "wW"
    if not (_WWW if is_named else _SCHEME).match(text, start):
        return None
    end = _end(text, start)
    return Address(start, end, ("http://" if is_named else "") + text[start:end])


def _domain(text: str, start: int, earliest: int) -> Address | None:
    match = _DOMAIN_END.match(text, start)
    if match is None or not ends_word(text, match.end()):
        return None
    name = _before(text, start, earliest, ".-")
    begin = start - len(name)
    if not all(name.split(".")) or name[0] == "-" or not begins_word(text, begin):
        return None
    if text[begin - 1 : begin] in _NOT_BEFORE_DOMAIN:
        return None

    end = _end(text, match.end()) if _AFTER_DOMAIN.match(text, match.end()) else match.end()
    return Address(begin, end, "http://" + text[begin:end])


def _mailbox(text: str, start: int, earliest: int) -> Address | None:
    name = _before(text, start, earliest, ".+-_%").lstrip(".-%")
    match = _MAIL_DOMAIN.match(text, start)
    if not name or match is None:
        return None
    begin, end = start - len(name), start + len(match[0].rstrip("-"))
    if not begins_word(text, begin) or not ends_word(text, end):
        return None
    return Address(begin, end, "mailto:" + text[begin:end])


def _before(text: str, start: int, earliest: int, punctuation: str) -> str:
    """Return the run of letters, digits and some punctuation that ends at `start`."""
    before = text[max(earliest, start - _MAX_NAME) : start]
    return before[len(before.rstrip(_ALPHANUMERIC + punctuation)) :]


def _end(text: str, start: int) -> int:
    """Return where an address ends.

    That is before an unmatched closing bracket, before the punctuation of the sentence around it,
    and beyond ASCII before what is in no word, or in one of another script.
    """
    depth = {"(": 0, "[": 0}
    end = start
    while True:
        run = _RUN.match(text, end)
        end = run.end() if run else end
        next_one = text[end : end + 1]
        if next_one in _CLOSING:
            depth[_CLOSING[next_one]] -= 1
            if depth[_CLOSING[next_one]] < 0:
                break
        elif next_one in depth:
            depth[next_one] += 1
        elif not _goes_on(text, start, end):
            break
        end += 1
    return start + len(text[start:end].rstrip(_TRAILING))


def _goes_on(text: str, start: int, at: int) -> bool:
    """Return whether the non-ASCII character at this place continues the address."""
    character, before = text[at : at + 1], text[at - 1]
    if character <= "\x7f":
        return False
    if not is_in_words(character):
        return character in _BEYOND_ASCII
    if before == ".":
        return text.find("/", start + len("https://"), at) < 0
    if before.isascii() and not before.isalnum():
        return before in _BEFORE_OTHER_SCRIPTS
    return not leaves_writing_system(text, at)
