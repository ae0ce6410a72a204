"""Narrows of compliance searches: of all messages, without access checks."""

from collections.abc import Sequence
from typing import Final

from server.domain.actor import Actor
from server.domain.errors import BadNarrowError
from server.domain.narrow import Term
from server.history.narrow import narrowed
from server.history.operands import Look
from server.realm_cache import RealmCache
from storage.database import Connection
from storage.history import HistoryScope

_OPERATORS: Final = frozenset(
    {
        *("channel", "channels", "topic", "dm", "dm-including", "sender", "id", "mentions"),
        *("search", "has"),
    }
)
_IS: Final = frozenset({"dm", "private", "resolved"})
"""Operands of `is` that do not depend on the reader."""


async def scope_of(
    realm_cache: RealmCache, connection: Connection, actor: Actor, terms: Sequence[Term]
) -> HistoryScope | None:
    """Return what the terms name; None if no message can match.

    Raises BadNarrowError for unknown operands, and for operators that depend on the reader.
    """
    for term in terms:
        if term.operator not in _OPERATORS and not (term.operator == "is" and term.operand in _IS):
            raise BadNarrowError(f"'{term.operator}' is not supported in compliance searches")
    look = Look(realm_cache, connection, actor, sees_everything=True)
    return (await narrowed(look, terms)).scope
