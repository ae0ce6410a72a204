"""Replace the dialect's own inline syntax by numbered marks.

Mentions, channel links, bare addresses and formulas are taken out before the parser sees the text,
because their characters would mean emphasis, table cells or links to it. Where the parser then
reports a mark inside code or an address, the token's source is restored; a token is one line, and
without backticks unless something that exists has them in its name.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from server.domain.markdown import addresses, emoji
from server.domain.markdown.linkifiers import MAX_MATCHES, LinkMatch
from server.domain.markdown.links import safe_href
from server.domain.markdown.nodes import Inline, Link, Math, Text, Time
from server.domain.markdown.references import Reading, channel_at, group_at, user_at
from server.domain.markdown.resolver import MentionResolver
from server.domain.markdown.source import MARK
from server.domain.words import begins_word, stands_free

MAX_TOKENS = 500
"""Further tokens stay text: no honest message has so many, and each may be looked up."""


@dataclass(frozen=True, slots=True)
class Token:
    source: str
    node: Inline


Found = tuple[int, int, Inline]
"""Begin and end of a token, and its node."""

Reader = Callable[[str, int, MentionResolver], Reading | None]

MAX_EMOJI = 500
"""Likewise for emoji, which are not looked up."""

MAX_SEARCHES = 500
"""Maximum number of searches of linkifiers: each searches each piece between fences."""

_SYNTAX = rf"@_?\*\*?|#\*\*|\$\$|<(?=[a-z])|{addresses.TRIGGER}|{emoji.TRIGGER}"
_TRIGGER = re.compile(_SYNTAX, re.IGNORECASE)
_TRIGGER_OR_EMOTICON = re.compile(f"{emoji.EMOTICON_TRIGGER}|{_SYNTAX}", re.IGNORECASE)
_MARKED = re.compile(f"{MARK}([0-9]{{1,4}}){MARK}")

_MATH = re.compile(r"\$\$(?!_\$\$)((?:[^$`\n\\]|\\[^\n`])+)\$\$(?!\$)")
_TIME = re.compile(r"<time:([0-9A-Z:.+\- ]{4,40})>")
_DATE = re.compile(r"[0-9]{4}(?:[0-9]{4}|-[0-9]{2}-[0-9]{2}|-?W[0-9]{2}(?:-?[1-7])?)(?:[T ]|$)")
_ANGLE = re.compile(r"<((?:https?://|mailto:|tel:|xmpp:)[^\s<>`\"]+)>", re.IGNORECASE)


class Scanner:
    """Extracts the tokens of one message's pieces, numbered throughout."""

    def __init__(
        self, resolver: MentionResolver, content: str, *, translate_emoticons: bool = False
    ) -> None:
        self.tokens: list[Token] = []
        self._resolver = resolver
        self._linkifiers = resolver.linkifiers.within(content)
        self._trigger = _TRIGGER_OR_EMOTICON if translate_emoticons else _TRIGGER
        self._tries_left = MAX_TOKENS
        self._emoji_left = MAX_EMOJI
        self._links_left = MAX_MATCHES
        self._searches_left = MAX_SEARCHES

    def extract(self, text: str) -> str:
        """Return the text with marks for its tokens."""
        pieces: list[str] = []
        done = 0
        for start, end, node in self._found_in(text):
            pieces += (text[done:start], MARK, str(len(self.tokens)), MARK)
            self.tokens.append(Token(text[start:end], node))
            done = end
        pieces.append(text[done:])
        return "".join(pieces)

    def _found_in(self, text: str) -> Iterator[Found]:
        """Yield the tokens in the order of the text, up to the limits."""
        links = iter(self._links_in(text))
        link = next(links, None)
        done = 0
        for trigger in self._trigger.finditer(text):
            # The first to begin wins; of two at one place, the dialect's own syntax.
            while link is not None and link.start < trigger.start():
                if link.start >= done:
                    yield (found := _linkified(text, link))
                    done = found[1]
                link = next(links, None)
            if trigger.start() < done:
                continue
            if self._tries_left == 0:
                break
            token = self._token_at(text, trigger, done)
            if token is not None:
                yield token
                done = token[1]
        while link is not None:
            if link.start >= done:
                yield _linkified(text, link)
            link = next(links, None)

    def _links_in(self, text: str) -> list[LinkMatch]:
        """Return the linkifiers' matches, unless the message has exhausted its limit."""
        self._searches_left -= len(self._linkifiers)
        if self._searches_left < 0:
            return []
        links = self._linkifiers.matches(text, self._links_left)
        self._links_left -= len(links)
        return links

    def _token_at(self, text: str, trigger: re.Match[str], earliest: int) -> Found | None:
        start = trigger.start()
        match trigger[0].lower():
            case "@**" | "@_**":
                found = self._mention_at(text, start, user_at)
            case "@*" | "@_*":
                found = self._mention_at(text, start, group_at)
            case "#**":
                found = self._mention_at(text, start, channel_at)
            case "$$":
                found = _math_at(text, start)
            case "<":
                found = _angle_at(text, start)
            case what if what == ":" or emoji.is_character(what) or trigger[0] in emoji.EMOTICONS:
                return self._emoji_at(text, start, trigger[0])
            case address:
                found = _address_at(text, address, start, earliest)
        self._tries_left -= found is not None
        return found

    def _emoji_at(self, text: str, start: int, what: str) -> Found | None:
        if self._emoji_left == 0:
            return None
        found: tuple[int, Inline] | None
        if what == ":":
            found = emoji.named_at(text, start, self._resolver)
        elif what in emoji.EMOTICONS:
            found = start + len(what), emoji.emoticon(what)
        else:
            found = emoji.character_at(text, start)
        if found is None:
            return None
        self._emoji_left -= 1
        return start, *found

    def _mention_at(self, text: str, start: int, read: Reader) -> Found | None:
        if not stands_free(text, start):
            return None
        found = read(text, start, self._resolver)
        if found is None or _hides_fence(text, start, found[0]):
            self._tries_left -= 1
            return None
        return start, *found


def _hides_fence(text: str, start: int, end: int) -> bool:
    """Return whether the parser would see a fence before the token without the token's backtick."""
    if "`" not in text[start:end]:
        return False
    line = text.rfind("\n", 0, start) + 1
    return "```" in text[line:start]


def restore(text: str, tokens: list[Token]) -> str:
    """Return the text with the source of its tokens in place of their marks."""
    if MARK not in text:
        return text
    return _MARKED.sub(lambda match: _source(match, tokens), text).replace(MARK, "\ufffd")


def split(text: str, tokens: list[Token]) -> list[str | Token]:
    """Return the text as runs of plain text and the tokens between them."""
    parts: list[str | Token] = []
    for index, part in enumerate(_MARKED.split(text)):
        if index % 2 and int(part) < len(tokens):
            parts.append(tokens[int(part)])
        elif part:
            parts.append(part.replace(MARK, "\ufffd"))
    return parts


def _source(match: re.Match[str], tokens: list[Token]) -> str:
    number = int(match[1])
    return tokens[number].source if number < len(tokens) else match[1]


def _math_at(text: str, start: int) -> Found | None:
    if not begins_word(text, start) or text[max(0, start - 1) : start] in {"$", "\\"}:
        return None
    match = _MATH.match(text, start)
    return (start, match.end(), Math(match[1])) if match else None


def _angle_at(text: str, start: int) -> Found | None:
    """Return an address, or a time, in angle brackets that are not a link's destination."""
    if text[max(0, start - 2) : start] == "](":
        return None
    if match := _ANGLE.match(text, start):
        return (start, match.end(), _bare_link(match[1], match[1]))
    if match := _TIME.match(text, start):
        moment = _moment(match[1])
        return (start, match.end(), Time(moment, match[1])) if moment else None
    return None


def _moment(text: str) -> datetime | None:
    """Return the time of an ISO 8601 text, UTC by default."""
    # The standard library takes any character between date and time.
    if not _DATE.match(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _address_at(text: str, trigger: str, start: int, earliest: int) -> Found | None:
    address = addresses.find_address(text, trigger, start, earliest)
    if address is None:
        return None
    shown = text[address.start : address.end]
    return (address.start, address.end, _bare_link(address.href, shown))


def _bare_link(href: str, shown: str) -> Inline:
    safe = safe_href(href)
    return Text(shown) if safe is None else Link(safe, kids=[Text(shown)])


def _linkified(text: str, link: LinkMatch) -> Found:
    return link.start, link.end, Link(link.href, kids=[Text(text[link.start : link.end])])
