"""Difference of two states of a message's HTML."""

from html import escape
from typing import Any, Final

from lxml import etree, html
from lxml.html import diff

from server.domain.markdown.differences import GONE, NEW, difference_html
from server.domain.markdown.nodes import Element

_MAX_DEPTH: Final = 100
_HIDDEN_HREF: Final = "data-href"
"""Temporary name of `href`: the library would write a changed one as text."""
_STRUCK_OUT: Final = "s"
"""Temporary name of struck-out text: `del` marks a deletion."""


def difference(older: str, newer: str) -> str | None:
    """Return the newer HTML, with changes in spans of their classes.

    Formulas are compared by their source. Return None if something is in it that no message may
    hold. Raises ValueError.
    """
    merged = html.fragment_fromstring(diff.htmldiff(_comparable(older), _comparable(newer)), "div")
    return difference_html(_tree(merged, 0))


def _comparable(source: str) -> str:
    root = html.fragment_fromstring(source, "div")
    for formula in root.find_class("katex"):
        [*texts] = formula.iter("annotation")
        text = html.Element("code")
        text.text = texts[0].text if texts else formula.text_content()
        text.tail = formula.tail
        formula.getparent().replace(formula, text)
    for link in root.iter("a"):
        if "href" in link.attrib:
            link.attrib[_HIDDEN_HREF] = link.attrib.pop("href")
    for struck_out in list(root.iter("del")):
        struck_out.tag = _STRUCK_OUT
    inside = [escape(root.text or "", quote=False)]
    inside += [etree.tostring(each, method="html", encoding="unicode") for each in root]
    return "".join(inside)


def _tree(element: Any, depth: int) -> Element:
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deeply")
    attributes = {name.replace(_HIDDEN_HREF, "href"): v for name, v in element.attrib.items()}
    tag = element.tag
    if tag in ("ins", "del"):
        tag, attributes = "span", {"class": NEW if tag == "ins" else GONE}
    elif tag == _STRUCK_OUT:
        tag = "del"
    kids: list[Element | str] = [element.text] if element.text else []
    for kid in element:
        if isinstance(kid.tag, str):
            kids.append(_tree(kid, depth + 1))
        if kid.tail:
            kids.append(kid.tail)
    return Element(tag, attributes, kids)
