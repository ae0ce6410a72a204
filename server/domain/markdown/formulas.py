"""Render formulas in the form of KaTeX: MathML with the source in it."""

import html
import re
from typing import Final

from server.domain.markdown.nodes import Element
from server.domain.markdown.tags import MATHML, MATHML_ATTRIBUTES, MATHML_TEXTS, template

_KATEX: Final = template("span", "class")("katex") + template("span", "class")("katex-mathml")
_KATEX_HTML: Final = template("span", "aria-hidden", "class")("true", "katex-html")
_MATHML_VALUE: Final = {
    False: re.compile(r"[\w.%+/: -]{1,60}", re.ASCII),
    True: re.compile(
        r"(?:(?:color|text-align|justify-items|border-(?:left|right|top|bottom)|math-shift"
        r"|padding-(?:left|right|top|bottom)|font-size|width|margin-left)"
        r": ?[#\w.%+ -]{1,40};? ?){1,8}",
        re.ASCII,
    ),
}
"""Allowed values of MathML attributes; by whether it is a style."""


def formula(mathml: Element | None, source: str) -> str | None:
    """Return the formula as KaTeX would; None if the MathML is not allowed.

    Of the two halves, the visual one holds the source alone: clients that know KaTeX's boxes then
    show the source, and the others MathML.
    """
    if mathml is None or mathml.tag != "math":
        return None
    try:
        written = _mathml(mathml)
    except KeyError:
        return None
    shown = html.escape(source.strip(), quote=False)
    return f"{_KATEX}{written}</span>{_KATEX_HTML}{shown}</span></span>"


def _mathml(element: Element) -> str:
    """Return the element's HTML; raise KeyError if anything in it is not on the list."""
    start = _mathml_start(element)
    if element.tag in MATHML_TEXTS:
        inside = "".join([html.escape(_text_of(kid), quote=False) for kid in element.kids])
    else:
        inside = "".join([_mathml(kid) for kid in element.kids if isinstance(kid, Element)])
    return f"{start}{inside}</{element.tag}>"


def _text_of(kid: Element | str) -> str:
    """Return a kid that is text; raise KeyError for an element."""
    if isinstance(kid, Element):
        raise KeyError(kid.tag)
    return kid


def _mathml_start(element: Element) -> str:
    if element.tag not in MATHML:
        raise KeyError(element.tag)
    attributes = element.attributes
    if element.tag == "math":
        attributes = {"xmlns": "http://www.w3.org/1998/Math/MathML"} | attributes
    kept = {
        name: value
        for name, value in attributes.items()
        if name in MATHML_ATTRIBUTES and _MATHML_VALUE[name == "style"].fullmatch(value)
    }
    return template(element.tag, *kept)(*kept.values())
