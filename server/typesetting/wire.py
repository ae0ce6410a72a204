"""What the server and its typesetting process say to each other: frames of msgpack."""

import struct
from typing import Any, Final, Literal

import msgspec

HEADER: Final = struct.Struct("!I")
"""The length of the frame that follows."""


class Order(msgspec.Struct, frozen=True, array_like=True):
    """One job, and the processor time that it may take."""

    kind: Literal["code", "inline", "display"]
    text: str
    language: str
    cpu_seconds: float


class Delivery(msgspec.Struct, frozen=True, array_like=True):
    """What has become of it: nothing, spans of code, or an element of MathML."""

    spans: list[tuple[str, str]] | None = None
    element: list[Any] | None = None
    """[tag, attributes, kids]; a kid is a text or such a list."""


def frame(message: Order | Delivery) -> bytes:
    body = msgspec.msgpack.encode(message)
    return HEADER.pack(len(body)) + body
