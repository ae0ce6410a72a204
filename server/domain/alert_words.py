"""Match all alert words of a realm in a message, in one pass over its words.

The phrases form an automaton (Aho and Corasick) over words instead of characters, so the cost
depends on the message's length only, not on the phrases.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final
from unicodedata import normalize

from server.domain.errors import BadRequestError
from server.domain.markdown.addresses import addresses_in
from server.domain.words import JOINING, tokens_of
from server.i18n import _
from storage.ids import UserId

MAX_LENGTH: Final = 100
MAX_WORDS: Final = 500
"""Maximum per user."""

_ASCII_TOKEN: Final = re.compile(rf"[a-z0-9{re.escape(''.join(JOINING))}]+|\S")
"""Matches the tokens of `tokens_of` in folded text."""


def clean_words(words: Iterable[str]) -> list[str]:
    """Return the requested words, trimmed and deduplicated without regard to case.

    Raises BadRequestError.
    """
    cleaned: dict[str, str] = {}
    for word in words:
        stripped = " ".join(word.split())
        if len(stripped) > MAX_LENGTH:
            raise BadRequestError(
                _("alert_words is too long (limit: {limit} characters)", limit=MAX_LENGTH)
            )
        if stripped:
            cleaned.setdefault(stripped.casefold(), stripped)
    return list(cleaned.values())


class _State:
    """State of the automaton: a prefix of some phrase."""

    __slots__ = ("fallback", "following", "next_found", "owners")

    def __init__(self) -> None:
        self.following: dict[str, _State] = {}
        self.owners: list[UserId] = []
        """Users of the phrase that ends here."""
        self.fallback: _State | None = None
        """The longest proper suffix that is a prefix of some phrase."""
        self.next_found: _State | None = None
        """The longest proper suffix that is a phrase."""


class AlertWords:
    """The phrases of one realm, with their users."""

    def __init__(self, phrases: Iterable[tuple[str, Sequence[UserId]]] = ()) -> None:
        self._start = _State()
        for phrase, owners in phrases:
            state = self._start
            for token in _tokens(phrase):
                state = state.following.setdefault(token, _State())
            if state is not self._start:
                state.owners.extend(owners)
        self._link()

    def _link(self) -> None:
        start = self._start
        waiting = deque(start.following.values())
        for state in waiting:
            state.fallback = start
        while waiting:
            state = waiting.popleft()
            for token, following in state.following.items():
                assert state.fallback is not None
                following.fallback = self._step(state.fallback, token)
                waiting.append(following)
            fallback = state.fallback
            assert fallback is not None
            state.next_found = fallback if fallback.owners else fallback.next_found

    def _step(self, state: _State, token: str) -> _State:
        """Return the next state for one more token."""
        while token not in state.following:
            if state.fallback is None:
                return state
            state = state.fallback
        return state.following[token]

    def owners_in(self, content: str) -> frozenset[UserId]:
        """Return the users with a phrase in the text, regardless of case and white space."""
        if not self._start.following:
            return frozenset()
        owners: set[UserId] = set()
        seen: set[_State] = set()
        state = self._start
        for token in _tokens(content):
            state = self._step(state, token)
            found = state if state.owners else state.next_found
            # Suffixes of a state that was visited have been visited with it.
            while found is not None and found not in seen:
                seen.add(found)
                owners.update(found.owners)
                found = found.next_found
        return frozenset(owners)


def _tokens(text: str) -> list[str]:
    """Return the words of a text and the characters between them; an address is one token."""
    folded = normalize("NFC", text).casefold()
    tokens: list[str] = []
    done = 0
    for address in addresses_in(folded):
        tokens += _words(folded[done : address.start])
        tokens.append(folded[address.start : address.end])
        done = address.end
    return tokens + _words(folded[done:])


def _words(text: str) -> list[str]:
    return _ASCII_TOKEN.findall(text) if text.isascii() else tokens_of(text)
