"""Rendered messages for pages: without scripts, inline styles or images of other sites."""

import re
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from server.domain.markdown.previews import without_previews
from server.domain.page_links import page_of
from server.mail.message_html import emoji_character, link_to

if TYPE_CHECKING:
    from markupsafe import Markup

_FILMS: Final = "div.message_inline_video, video"
_OWN_PICTURE: Final = re.compile(r"/(?![/\\])")


def for_page(rendered: str) -> "Markup":
    """Adapt a message's HTML to pages whose policy allows only images of this origin.

    Spoilers open without a script, links to narrows lead to pages, emoji become characters, and
    formulas their source. Recordings become links; videos and images of other sites are left to the
    links beside them.
    """
    from markupsafe import Markup  # with the templates: see server/runtime/templates.py

    parser = LexborHTMLParser(without_previews(rendered))
    body = parser.body
    assert body is not None, "the parser makes a body"
    for node in body.css(_FILMS):
        node.decompose()
    for node in body.css("audio"):
        node.replace_with(link_to(node))
    for node in body.css("span.emoji"):
        node.replace_with(emoji_character(node))
    for node in body.css("span.katex-display, span.katex"):
        formula = node.css_first("annotation")
        node.replace_with(node.text() if formula is None else formula.text())
    for node in body.css("img"):
        _settle_picture(node)
    for node in body.css("a[href]"):
        node.attrs["href"] = page_of(node.attributes.get("href") or "")
        node.attrs["rel"] = "noopener noreferrer"
    # The innermost first: an outer one includes its current content.
    for node in reversed(body.css("div.spoiler-block")):
        _fold(parser, node)
    return Markup(body.inner_html or "")  # noqa: S704 - the renderer has escaped what people wrote


def _settle_picture(node: LexborNode) -> None:
    """Keep an image that the page may load, and replace any other by its alternative text."""
    if _OWN_PICTURE.match(node.attributes.get("src") or ""):
        node.attrs["loading"] = "lazy"
    else:
        node.replace_with(node.attributes.get("alt") or "")


def _fold(parser: LexborHTMLParser, spoiler: LexborNode) -> None:
    """Turn a spoiler into a <details> element."""
    header = spoiler.css_first("div.spoiler-header")
    content = spoiler.css_first("div.spoiler-content")
    if header is None or content is None:
        return
    details, summary = parser.create_node("details"), parser.create_node("summary")
    summary.insert_child(header.text().strip() or "Spoiler")
    del content.attrs["aria-hidden"]
    details.insert_child(summary)
    details.insert_child(content)
    spoiler.replace_with(details)
