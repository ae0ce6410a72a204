"""Finds all alert words of an organization in a message, in one pass over its words.

The phrases form an automaton (Aho and Corasick) over words instead of characters, so that a
message costs what its own length asks, however many phrases there are and whatever is in them.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final
from unicodedata import normalize

from server.domain.errors import BadRequestError
from server.domain.markdown.addresses import addresses_in
from server.domain.words import JOINING, tokens_of
from storage.ids import UserId

MAX_LENGTH: Final = 100
MAX_WORDS: Final = 500
"""Of one user."""

_ASCII_TOKEN: Final = re.compile(rf"[a-z0-9{re.escape(''.join(JOINING))}]+|\S")
"""As `tokens_of` finds them, in folded text."""


def clean_words(words: Iterable[str]) -> list[str]:
    """Return what a request asks for: without blanks, each once whatever its case.

    Raises BadRequestError.
    """
    cleaned: dict[str, str] = {}
    for word in words:
        stripped = " ".join(word.split())
        if len(stripped) > MAX_LENGTH:
            raise BadRequestError(f"alert_words is too long (limit: {MAX_LENGTH} characters)")
        if stripped:
            cleaned.setdefault(stripped.casefold(), stripped)
    return list(cleaned.values())


class _State:
    """How much of some phrase has been read."""

    __slots__ = ("fallback", "following", "next_found", "owners")

    def __init__(self) -> None:
        self.following: dict[str, _State] = {}
        self.owners: list[UserId] = []
        """Of the phrase that is complete here."""
        self.fallback: _State | None = None
        """The longest shorter ending of what was read that begins some phrase."""
        self.next_found: _State | None = None
        """The longest shorter ending that is a phrase."""


class AlertWords:
    """The phrases of one organization, and who has them."""

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
        """Return the state after one more token."""
        while token not in state.following:
            if state.fallback is None:
                return state
            state = state.fallback
        return state.following[token]

    def owners_in(self, content: str) -> frozenset[UserId]:
        """Whoever has a phrase that is in the text, whatever its case and white space."""
        if not self._start.following:
            return frozenset()
        owners: set[UserId] = set()
        seen: set[_State] = set()
        state = self._start
        for token in _tokens(content):
            state = self._step(state, token)
            found = state if state.owners else state.next_found
            # What comes after a state that was seen has been seen with it.
            while found is not None and found not in seen:
                seen.add(found)
                owners.update(found.owners)
                found = found.next_found
        return frozenset(owners)


def _tokens(text: str) -> list[str]:
    """Return the words of a text and what is between them; an address is one of its own."""
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
