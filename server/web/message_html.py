"""A rendered message as pages show it: without scripts, styles of its own, or foreign pictures."""

import re
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from server.domain.markdown.previews import without_previews
from server.domain.page_links import page_of
from server.mail.message_html import emoji_character

if TYPE_CHECKING:
    from markupsafe import Markup

_FILMS: Final = "div.message_inline_video, video, audio"
_OWN_PICTURE: Final = re.compile(r"/(?![/\\])")


def for_page(rendered: str) -> "Markup":
    """The message's HTML for a page whose policy allows only pictures of this address.

    Spoilers open without a script, links that narrow a client lead to pages, emoji are
    characters, and formulas their source. Films and pictures of other sites are left to the links
    beside them.
    """
    from markupsafe import Markup  # with the templates: see server/runtime/templates.py

    parser = LexborHTMLParser(without_previews(rendered))
    body = parser.body
    assert body is not None, "the parser makes a body"
    for node in body.css(_FILMS):
        node.decompose()
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
    # The innermost first: an outer one takes it along as it is by then.
    for node in reversed(body.css("div.spoiler-block")):
        _fold(parser, node)
    return Markup(body.inner_html or "")  # noqa: S704 - the renderer has escaped what people wrote


def _settle_picture(node: LexborNode) -> None:
    """Keep a picture that the page may load, and have the alternative text of any other."""
    if _OWN_PICTURE.match(node.attributes.get("src") or ""):
        node.attrs["loading"] = "lazy"
    else:
        node.replace_with(node.attributes.get("alt") or "")


def _fold(parser: LexborHTMLParser, spoiler: LexborNode) -> None:
    """Make a spoiler an element that browsers open by themselves."""
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
