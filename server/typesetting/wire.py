"""What the server and its typesetting process exchange, encoded as msgpack."""

from typing import Any, Literal

import msgspec


class TypesetRequest(msgspec.Struct, frozen=True, array_like=True):
    """One job, and the processor time that it may take."""

    kind: Literal["code", "inline", "display", "difference"]
    text: str
    language: str
    cpu_seconds: float
    newer: str = ""
    """Of a difference: the HTML that stands beside `text`, which is older."""


class TypesetOutput(msgspec.Struct, frozen=True, array_like=True):
    """What has become of it: nothing, spans of code, an element of MathML, or HTML."""

    spans: list[tuple[str, str]] | None = None
    element: list[Any] | None = None
    """[tag, attributes, kids]; a kid is a text or such a list."""
    html: str | None = None
