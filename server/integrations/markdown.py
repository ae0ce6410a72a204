"""Markdown around text from outside: nothing in it mentions users, or leaves its place.

`text`, `bold`, `code` and `link` are for one line, `quote` and `code_block` for several.
"""

import html
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote as percent_encoded
from urllib.parse import urlsplit

from server.domain.markdown.writing import literal, quoted

MAX_LINE: Final = 200
"""Maximum characters of a title, a name or the like."""
MAX_QUOTE: Final = 1_000
"""Maximum characters of a comment or a description."""
MAX_CODE: Final = 2_000
ELLIPSIS: Final = "…"

_SPACE: Final = re.compile(r"\s+")
_MENTION: Final = re.compile(r"@(?=_?\*)")
_UNSAFE_IN_URL: Final = re.compile(r"[^!#$%&'*+,./0-9:;=?@A-Z_a-z~-]")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG: Final = re.compile(r"<[^<>]*>")
_BREAK: Final = re.compile(r"<(?:br|/p|/div|/li)\b[^<>]*>")
_WORD_JOINER: Final = "\u2060"
"""Invisible. After an `@` it keeps a mention from being one, whatever stands before."""


def cut(text: str, limit: int = MAX_LINE) -> str:
    """Return the text with at most this many characters; one that is cut ends with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + ELLIPSIS


def one_line(text: str, limit: int = MAX_LINE) -> str:
    """Return the text in one line, cut."""
    return cut(_SPACE.sub(" ", text).strip(), limit)


def text(value: str, limit: int = MAX_LINE) -> str:
    """Return one line of text as it is: no mention, no emphasis, no link."""
    return literal(one_line(value, limit))


def bold(value: str) -> str:
    """Return one line of bold text; empty for an empty one."""
    shown = text(value)
    return f"**{shown}**" if shown else ""


def link(label: str, url: str, limit: int = MAX_LINE) -> str:
    """Return a link with this label; the label alone if the address is not of the web."""
    shown = text(label, limit)
    href = web_address(url)
    return f"[{shown or text(href)}]({href})" if href else shown


def web_address(url: str) -> str:
    """Return the address in a form that is safe within a Markdown link; empty if not of the web."""
    url = url.strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme.lower() not in ("http", "https") or not parts.netloc:
        return ""
    url = _UNSAFE_IN_URL.sub(lambda found: percent_encoded(found[0]), url)
    return _MENTION.sub("%40", url)[:2_000]


def code(value: str, limit: int = MAX_LINE) -> str:
    """Return one line of code; empty for an empty one."""
    shown = one_line(value, limit)
    if not shown:
        return ""
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{shown}{space}{fence}"


def code_block(value: str, language: str = "", limit: int = MAX_CODE) -> str:
    """Return lines of code in a fence that nothing in them can end; empty for empty ones."""
    shown = cut(value.strip("\n"), limit)
    if not shown.strip():
        return ""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", shown)), default=0))
    return f"{fence}{language}\n{shown}\n{fence}"


def quote(value: str, limit: int = MAX_QUOTE) -> str:
    """Return Markdown of the service in a block quote, without mentions; empty for an empty one."""
    shown = _COMMENT.sub("", value).replace("\r\n", "\n").strip()
    return quoted(without_mentions(cut(shown, limit))) if shown else ""


def plain(markup: str) -> str:
    """Return what HTML says, without its tags: text to be escaped or quoted."""
    return html.unescape(_TAG.sub("", _BREAK.sub("\n", markup))).strip()


def without_mentions(value: str) -> str:
    """Return Markdown in which nothing is a mention."""
    return _MENTION.sub(f"@{_WORD_JOINER}", value)


def capitalized(sentence: str) -> str:
    """Return the sentence with a capital first letter, and the rest as it is."""
    return sentence[:1].upper() + sentence[1:]


def paragraphs(*parts: str) -> str:
    """Join the parts that are not empty by empty lines."""
    return "\n\n".join(part for part in parts if part)


def bullets(lines: Iterable[str]) -> str:
    """Return a list of those lines that are not empty."""
    return "\n".join(f"* {line}" for line in lines if line)


def listed(names: Iterable[str], conjunction: str = "and") -> str:
    """Return Markdown of several things in a sentence: `a, b and c`."""
    shown = [name for name in names if name]
    *before, last = shown or [""]
    return f"{', '.join(before)} {conjunction} {last}" if before else last


def counted(count: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: `1 commit`, `3 commits`."""
    return f"{count} {singular if count == 1 else plural or singular + 's'}"
