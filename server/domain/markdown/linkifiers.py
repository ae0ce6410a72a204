"""Linkifiers of a realm: patterns of text that become links."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Final, NamedTuple, TypedDict

import re2
import uritemplate

from server.domain.markdown.addresses import pages_in
from server.domain.markdown.links import safe_href
from server.domain.markdown.source import MARK
from server.domain.words import ends_word, stands_free

MAX_MATCHES: Final = 200
"""Maximum per message, for all linkifiers; what follows stays text."""
_MAX_MEMORY: Final = 1 << 20
_MAX_SPAN: Final = 1_000
_CACHE_SIZE: Final = 100
"""Size of one linkifier's cache of addresses: the same thing is often mentioned again."""
_WHOLE: Final = 1
"""The group around a pattern."""
_BEFORE: Final = r"(?:^|[^\p{Latin}0-9#$%&+\-=@\\^_`/])"
_BEHIND: Final = r"(?:$|[^\p{Latin}\pN])"
"""What must surround a match: word boundaries by `server.domain.words`. RE2 has no lookahead, so a
pattern that could match more has to know here.
"""


class TopicLink(TypedDict):
    """A link in a topic's name."""

    text: str
    url: str


class LinkMatch(NamedTuple):
    """A part of a text that is a link."""

    start: int
    end: int
    href: str


class Linkifier:
    """One pattern in RE2's syntax, and the RFC 6570 template of its links.

    Raises ValueError for an invalid pattern or template.
    """

    def __init__(self, pattern: str, url_template: str) -> None:
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MAX_MEMORY
        bounded = f"{_BEFORE}({pattern}){_BEHIND}"
        try:
            self._pattern: Any = re2.compile(bounded.encode(), options=options)
        except re2.error as error:
            raise ValueError(f"not a pattern of RE2: {error}") from error
        self._template = uritemplate.URITemplate(url_template)
        # RE2 returns the names in bytes, like the pattern.
        self._groups = {name.decode(): n for name, n in self._pattern.groupindex.items()}
        self._expanded = lru_cache(_CACHE_SIZE)(self._expand)
        unknown = {*self._template.variable_names} - {*self._groups}
        if unknown:
            raise ValueError(f"the template names {sorted(unknown)}, the pattern does not")

    def is_in(self, text: bytes) -> bool:
        """Return whether there may be a match in a text or in one of its pieces."""
        return self._pattern.search(text) is not None

    def matches(self, text: bytes) -> Iterator[tuple[int, int, str]]:
        """Yield matches as places in the UTF-8 bytes, with the address."""
        at = 0
        while match := self._pattern.search(text, at):
            start, end = match.span(_WHOLE)
            if end == start:
                return
            yield start, end, self._href(match)
            at = end

    def _href(self, match: Any) -> str:
        start, end = match.span(_WHOLE)
        expand = self._expanded if end - start <= _MAX_SPAN else self._expand
        return expand(*[match.group(n) for n in self._groups.values()])

    def _expand(self, *found: bytes | None) -> str:
        # A group that took no part in the match is undefined, which is not the empty string.
        pairs = zip(self._groups, found, strict=True)
        return str(
            self._template.expand({name: text.decode() for name, text in pairs if text is not None})
        )


class Linkifiers:
    """All linkifiers of a realm in order of precedence."""

    def __init__(self, linkifiers: Iterable[Linkifier] = ()) -> None:
        self._linkifiers = tuple(linkifiers)

    def __len__(self) -> int:
        return len(self._linkifiers)

    def within(self, text: str) -> "Linkifiers":
        """Return those that may match in the text or in a piece of it, usually none."""
        if not self._linkifiers:
            return self
        encoded = text.encode()
        found = [each for each in self._linkifiers if each.is_in(encoded)]
        return Linkifiers(found) if found else NO_LINKIFIERS

    def matches(self, text: str, limit: int = MAX_MATCHES) -> list[LinkMatch]:
        """Return the links in a text in order; no two overlap, and each is within one line."""
        if not self._linkifiers or not limit:
            return []
        taken: list[LinkMatch] = []
        encoded = text.encode()
        places = _Places(text, encoded)
        found = chain.from_iterable(each.matches(encoded) for each in self._linkifiers)
        for first, last, address in islice(found, limit):
            href = safe_href(address)
            start, end = places.of(first), places.of(last)
            if href is None or "://" not in href or last - first > _MAX_SPAN:
                continue
            if _stands_free(text, start) and ends_word(text, end):
                taken.append(LinkMatch(start, end, href))
        return _without_overlaps(taken, text)

    def topic_links(self, topic: str) -> list[TopicLink]:
        """Return the links in a topic's name in order, as messages list them.

        If an address and a linkifier's match overlap, the linkifier wins.
        """
        links = self.matches(topic)
        for start, end, address in pages_in(topic):
            href = safe_href(address)
            if href is not None and not any(x.start < end and start < x.end for x in links):
                links.append(LinkMatch(start, end, href))
        return [{"text": topic[link.start : link.end], "url": link.href} for link in sorted(links)]


def _stands_free(text: str, at: int) -> bool:
    """Return whether a match may begin at this place, which is not within a path either."""
    return stands_free(text, at) and text[max(0, at - 1) : at] not in {"/", "`"}


NO_LINKIFIERS: Final = Linkifiers()


class _Places:
    """Maps byte offsets of a text to character offsets."""

    def __init__(self, text: str, encoded: bytes) -> None:
        self._encoded = encoded
        self._is_ascii = text.isascii()
        self._known = {0: 0}
        self._last = 0

    def of(self, byte: int) -> int:
        if self._is_ascii:
            return byte
        if byte not in self._known:
            last = self._last if self._last <= byte else 0
            between = self._encoded[last:byte].decode()
            self._known[byte] = self._known[last] + len(between)
            self._last = byte
        return self._known[byte]


def _without_overlaps(found: list[LinkMatch], text: str) -> list[LinkMatch]:
    # In the order of the text: a link overlaps at most its neighbours.
    kept: list[LinkMatch] = []
    for link in found:
        shown = text[link.start : link.end]
        is_whole = not {"\n", "`", MARK} & {*shown}
        at = bisect_left(kept, link)
        is_free = (at == 0 or kept[at - 1].end <= link.start) and (
            at == len(kept) or link.end <= kept[at].start
        )
        if is_whole and is_free:
            kept.insert(at, link)
    return kept
