"""Convert a rendered message to the few lines of text in a notification."""

import re
from functools import lru_cache
from typing import Final

from selectolax.lexbor import LexborNode

from server.mail.message_html import emoji_character, parsed

MAX_CONTENT: Final = 200
HIDDEN: Final = "(…)"
LEFT_OUT: Final = "[…]"
_BLANK_LINES: Final = re.compile(r"\n\s*\n")
_MAX_DEPTH: Final = 60
"""The maximum depth of nesting; deeper text is taken without formatting."""


def shortened(text: str, longest: int = MAX_CONTENT) -> str:
    """Return the text, cut to the length of a notification."""
    return text if len(text) <= longest else f"{text[:longest]}…"


@lru_cache(maxsize=256)
def as_notification(rendered: str) -> str:
    """Return the text of the message. Cached, since a message notifies many users at once.

    Emoji are characters, formulas their source, images their names; spoilers stay hidden, and
    quotes are left out beside own words.
    """
    body = parsed(rendered)
    _leave_out_quotes(body)
    return _BLANK_LINES.sub("\n", _text(body, 0).strip())


def _leave_out_quotes(body: LexborNode) -> None:
    blocks = [
        (node, node.tag == "blockquote" or _introduces(node))
        for node in body.iter(include_text=False)
    ]
    if len({is_quote for _, is_quote in blocks}) <= 1:
        return
    was_quote = False
    for node, is_quote in blocks:
        if is_quote and was_quote:
            node.decompose()
        elif is_quote:
            node.replace_with(LEFT_OUT + "\n")
        was_quote = is_quote


def _introduces(node: LexborNode) -> bool:
    """Return whether it introduces a quote: a name, a link to the message, a colon."""
    if node.tag != "p":
        return False
    names, links = node.css("span.user-mention"), node.css("a[href*='/near/']")
    if len(names) != 1 or len(links) != 1:
        return False
    rest = node.text().replace(names[0].text(), "").replace(links[0].text(), "")
    return rest.strip() == ":"


def _text(node: LexborNode, depth: int) -> str:
    if depth > _MAX_DEPTH:
        return node.text()
    return "".join(_of_child(child, depth) for child in node.iter(include_text=True))


def _of_child(node: LexborNode, depth: int) -> str:  # noqa: PLR0911 - a case each
    if node.tag == "-text":
        return node.text_content or ""
    classes = (node.attributes.get("class") or "").split()
    if "emoji" in classes:
        return emoji_character(node)
    if "katex" in classes or "katex-display" in classes:
        formula = node.css_first("annotation")
        return node.text() if formula is None else formula.text()
    if "spoiler-block" in classes:
        header = node.css_first("div.spoiler-header")
        title = "" if header is None else _text(header, depth + 1).strip()
        return f"{title} {HIDDEN}\n".lstrip()
    match node.tag:
        case "img":
            return node.attributes.get("alt") or ""
        case "audio":
            return node.attributes.get("title") or ""
        case "br":
            return ""  # a line break follows it
        case "blockquote":
            lines = _text(node, depth + 1).splitlines()
            return "".join(f"> {line}\n" for line in lines if line)
        case "ol":
            return _numbered(node, depth)
        case _:
            return _text(node, depth + 1)


def _numbered(node: LexborNode, depth: int) -> str:
    start = node.attributes.get("start") or "1"
    first = int(start) if start.isdecimal() else 1
    items = [child for child in node.iter(include_text=False) if child.tag == "li"]
    lines = [f"{first + n}. {_text(item, depth + 1).strip()}" for n, item in enumerate(items)]
    return "\n".join(lines) + "\n"
