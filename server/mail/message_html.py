"""Convert a rendered message for mail programs: absolute URLs, nothing to fetch, no secrets."""

from html import escape
from typing import Final
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from server.domain.markdown.previews import without_previews
from server.domain.page_links import page_of

HIDDEN: Final = "(Open Parley to see the spoiler content.)"
_CODE_POINTS: Final = 16


def for_mail(rendered: str, realm_url: str) -> str:
    """Return the message's HTML for an email.

    URLs are absolute, and links to narrows lead to pages. Images, recordings and videos, which need
    a session or identify readers, become links; emoji are characters, formulas their source;
    spoilers stay hidden.
    """
    body = parsed(rendered)
    for node in body.css("div.message_inline_image, div.message-media-preview-video, video"):
        node.decompose()
    for node in body.css("img.inline-image, audio"):
        node.replace_with(link_to(node))
    for node in body.css("div.spoiler-content"):
        node.replace_with(HIDDEN)
    for node in body.css("span.emoji, img.emoji"):
        node.replace_with(emoji_character(node))
    for node in body.css("span.katex-display, span.katex"):
        formula = node.css_first("annotation")
        node.replace_with(node.text() if formula is None else formula.text())
    for node in body.css("img"):
        node.replace_with(node.attributes.get("alt") or "")
    for node in body.css("a[href]"):
        try:
            node.attrs["href"] = urljoin(
                f"{realm_url}/", page_of(node.attributes.get("href") or "")
            )
        except ValueError:  # such as http://[::1, which leads nowhere
            del node.attrs["href"]
    return body.inner_html or ""


def link_to(node: LexborNode) -> LexborNode:
    """Return a link to the file of a picture or a player in the text."""
    attributes = node.attributes
    address = attributes.get("data-original-src") or attributes.get("src") or ""
    name = attributes.get("alt") or attributes.get("title") or address
    link = LexborHTMLParser(f'<a href="{escape(address)}">{escape(name)}</a>').css_first("a")
    assert link is not None, "it was just written"
    return link


def as_text(rendered: str) -> str:
    """Return the text of such a message, without hidden spoilers."""
    body = parsed(rendered)
    for node in body.css("div.spoiler-content"):
        node.replace_with(HIDDEN)
    return body.text(separator="").strip()


def parsed(rendered: str) -> LexborNode:
    """Parse the rendered message's body, without link previews."""
    body = LexborHTMLParser(without_previews(rendered)).body
    assert body is not None, "the parser makes a body"
    return body


def emoji_character(node: LexborNode) -> str:
    """Return the character, or the emoji's name if there is none."""
    for name in (node.attributes.get("class") or "").split():
        if name.startswith("emoji-"):
            try:
                return "".join(chr(int(p, _CODE_POINTS)) for p in name[6:].split("-"))
            except (ValueError, OverflowError):
                break
    return node.attributes.get("alt") or node.text()
