"""The typesetting process: highlights code, sets formulas, and compares states of a message."""

import html
import re
from functools import lru_cache
from typing import Any, Final
from xml.etree import ElementTree as ET

import math_core
import msgspec
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from server.runtime.sandbox_worker import serve
from server.typesetting.differences import difference
from server.typesetting.wire import TypesetOutput, TypesetRequest

MEMORY_BYTES: Final = 1 << 30
_MAX_DEPTH: Final = 60
_MAX_EXPANSIONS: Final = 1_000
_WHITESPACE: Final = "w"
_ENTITY: Final = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)[A-Za-z][A-Za-z0-9]*;")


def main() -> None:
    serve(
        msgspec.msgpack.Decoder(TypesetRequest).decode,
        lambda order: msgspec.msgpack.encode(deliver(order)),
        cpu_seconds=lambda order: order.cpu_seconds,
        memory_bytes=MEMORY_BYTES,
    )


def deliver(order: TypesetRequest) -> TypesetOutput:
    """Run the job; return an empty result if it fails."""
    try:
        if order.kind == "code":
            return TypesetOutput(spans=highlight(order.language, order.text))
        if order.kind == "difference":
            return TypesetOutput(html=difference(order.text, order.newer))
        return TypesetOutput(element=mathml(order.text, displayed=order.kind == "display"))
    except Exception:  # noqa: BLE001 - a lexer may fail on anything; the code is then shown plain
        return TypesetOutput()


# -- code


def highlight(language: str, code: str) -> list[tuple[str, str]] | None:
    """Return the code in pieces, each with its class; no class where it is ordinary text."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    pieces: list[tuple[str, str]] = []
    for kind, text in lexer.get_tokens(code):
        name = _class_of(kind)
        if pieces and pieces[-1][0] == name:
            pieces[-1] = (name, pieces[-1][1] + text)
        elif text:
            pieces.append((name, text))
    return pieces


@lru_cache(maxsize=2_000)
def _class_of(kind: Any) -> str:
    """Return the class of the nearest standard kind: clients know no other."""
    while kind not in STANDARD_TYPES:
        kind = kind.parent
    name = str(STANDARD_TYPES[kind])
    return "" if name == _WHITESPACE else name


# -- formulas


def mathml(formula: str, *, displayed: bool) -> list[Any] | None:
    """Return the formula as an element `math` of MathML, its source in an annotation."""
    try:
        text = _converter().convert_with_local_state(formula, displaystyle=displayed)
    except math_core.LatexError:
        return None
    root = ET.fromstring(_ENTITY.sub(lambda match: html.unescape(match[0]), text))  # noqa: S314 - our own library's, bounded
    return _element(root, 0)


@lru_cache(maxsize=1)
def _converter() -> Any:
    return math_core.LatexToMathML(annotation=True, max_expansions=_MAX_EXPANSIONS)


def _element(element: ET.Element, depth: int) -> list[Any]:
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deeply")
    kids: list[Any] = [element.text] if element.text else []
    for kid in element:
        kids.append(_element(kid, depth + 1))
        if kid.tail:
            kids.append(kid.tail)
    return [element.tag.rpartition("}")[2], dict(element.attrib), kids]


if __name__ == "__main__":
    main()
