"""Messages between the server and its typesetting process, encoded as msgpack."""

from typing import Any, Literal

import msgspec


class TypesetRequest(msgspec.Struct, frozen=True, array_like=True):
    """One job, and its limit of processor time."""

    kind: Literal["code", "inline", "display", "difference"]
    text: str
    language: str
    cpu_seconds: float
    newer: str = ""
    """For a difference: the newer HTML; `text` is the older."""


class TypesetOutput(msgspec.Struct, frozen=True, array_like=True):
    """The result: nothing, spans of code, an element of MathML, or HTML."""

    spans: list[tuple[str, str]] | None = None
    element: list[Any] | None = None
    """[tag, attributes, kids]; a kid is a text or such a list."""
    html: str | None = None
