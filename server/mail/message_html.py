"""A rendered message as mail programs show it: whole addresses, nothing to fetch, no secrets."""

from typing import Final
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from server.domain.markdown.previews import without_previews
from server.domain.page_links import page_of

HIDDEN: Final = "(Open Parley to see the spoiler content.)"
_CODE_POINTS: Final = 16


def for_mail(rendered: str, realm_url: str) -> str:
    """The message's HTML for an email.

    Addresses are absolute, and lead to pages where they narrow a client. Pictures and films, which
    need a session or tell who looks, are links; emoji are characters, formulas their source; what a
    spoiler hides stays hidden.
    """
    body = parsed(rendered)
    for node in body.css("div.message_inline_image, div.message-media-preview-video, audio, video"):
        node.decompose()
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


def as_text(rendered: str) -> str:
    """The words of such a message, without what a spoiler hides."""
    body = parsed(rendered)
    for node in body.css("div.spoiler-content"):
        node.replace_with(HIDDEN)
    return body.text(separator="").strip()


def parsed(rendered: str) -> LexborNode:
    """The rendered message's body, to be read and changed, without previews of linked pages."""
    body = LexborHTMLParser(without_previews(rendered)).body
    assert body is not None, "the parser makes a body"
    return body


def emoji_character(node: LexborNode) -> str:
    """The character itself, or the emoji's name where there is none."""
    for name in (node.attributes.get("class") or "").split():
        if name.startswith("emoji-"):
            try:
                return "".join(chr(int(p, _CODE_POINTS)) for p in name[6:].split("-"))
            except (ValueError, OverflowError):
                break
    return node.attributes.get("alt") or node.text()
