"""Render the difference between two states of a message, with allowed elements only."""

import html
import re
from typing import Final

from server.domain.markdown.links import safe_href
from server.domain.markdown.nodes import Element
from server.domain.markdown.tags import ALLOWED, MATHML, template

NEW: Final = "highlight_text_inserted"
GONE: Final = "highlight_text_deleted"
"""Classes of the spans with inserted and deleted text."""

_ELEMENTS: Final = ALLOWED.keys() - MATHML
_VOID: Final = frozenset({"br", "hr", "img"})
_STYLE: Final = re.compile(r"text-align: (?:left|center|right);")
_ADDRESSES: Final = frozenset({"href", "src"})


def difference_html(merged: Element) -> str | None:
    """Return the HTML inside the element; None if anything is not on the list."""
    try:
        return "".join([_written(kid) for kid in merged.kids])
    except KeyError:
        return None


def _written(kid: Element | str) -> str:
    """Return the element's HTML; raise KeyError for an element or attribute that is not allowed."""
    if isinstance(kid, str):
        return html.escape(kid, quote=False)
    if kid.tag not in _ELEMENTS:
        raise KeyError(kid.tag)
    for name, value in kid.attributes.items():
        if name not in ALLOWED[kid.tag] or not _may_be(name, value):
            raise KeyError(name)
    start = template(kid.tag, *kid.attributes)(*kid.attributes.values())
    if kid.tag in _VOID:
        return start
    return f"{start}{''.join([_written(each) for each in kid.kids])}</{kid.tag}>"


def _may_be(name: str, value: str) -> bool:
    if name in _ADDRESSES:
        return safe_href(value) is not None
    return name != "style" or _STYLE.fullmatch(value) is not None
