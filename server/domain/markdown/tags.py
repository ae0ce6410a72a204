"""The allowed elements of a message, and the only maker of their start tags."""

import html
from collections.abc import Callable
from typing import Final

MATHML_ATTRIBUTES: Final = frozenset(
    {"accent", "accentunder", "class", "columnalign", "depth", "display", "displaystyle",
     "encoding", "fence", "form", "height", "largeop", "linethickness", "lspace", "mathvariant",
     "maxsize", "minsize", "movablelimits", "rspace", "scriptlevel", "separator", "stretchy",
     "style", "symmetric", "voffset", "width", "xmlns"}
)  # fmt: skip
MATHML_TEXTS: Final = frozenset({"mi", "mn", "mo", "ms", "mtext", "annotation"})
"""Elements of MathML that hold text only."""
MATHML: Final = MATHML_TEXTS | {
    "math", "mfrac", "mmultiscripts", "mover", "mpadded", "mphantom", "mprescripts", "mroot",
    "mrow", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtr",
    "munder", "munderover", "semantics",
}  # fmt: skip

ALLOWED: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "li",
         "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr"),
        frozenset[str](),
    ),
    "ol": frozenset({"start"}),
    "th": frozenset({"style"}),
    "td": frozenset({"style"}),
    "a": frozenset({"class", "data-stream-id", "href", "style", "title"}),
    "time": frozenset({"datetime"}),
    **dict.fromkeys(MATHML, MATHML_ATTRIBUTES),
    "span": frozenset(
        {"aria-hidden", "aria-label", "class", "data-user-group-id", "data-user-id", "role",
         "title"}
    ),
    "img": frozenset({"alt", "class", "data-original-src", "src", "title"}),
    "video": frozenset({"preload", "src"}),
    "audio": frozenset({"controls", "preload", "src", "title"}),
    "div": frozenset({"aria-hidden", "class", "data-code-language"}),
}  # fmt: skip
"""Every allowed element, with its attributes."""
BOOLEAN: Final = frozenset({"controls"})
"""Attributes without a value."""


def template(tag: str, *attributes: str) -> Callable[..., str]:
    """Return a function that makes start tags of an element from its attributes' values."""
    unknown = set(attributes) - ALLOWED[tag]
    if unknown:
        raise ValueError(f"{unknown} on {tag}")
    written = [name if name in BOOLEAN else f'{name}="{{}}"' for name in attributes]
    pattern = "<" + " ".join([tag, *written]) + ">"
    return lambda *values: pattern.format(*[html.escape(str(value)) for value in values])


def start(tag: str) -> str:
    """Return the start tag of an element without attributes."""
    return template(tag)()
