"""Convert Slack's text formats (its own marks, plain text, links) to our Markdown."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from server.domain.markdown.addresses import addresses_in
from server.domain.markdown.writing import time_mark

MAX_PARTS: Final = 100
"""Maximum number of attachments, blocks, fields; the rest is left out."""
MAX_TEXT: Final = 15_000
"""Maximum characters of one text, half as many again as a message may hold."""

_CODE: Final = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
_REFERENCE: Final = re.compile(r"<([^\s<>|][^<>|\n]{0,2000})(?:\|([^<>\n]{0,2000}))?>")
_KEPT: Final = re.compile("\0([0-9]+)\0")
_QUOTE_END: Final = re.compile(r"^(>.*\n)(?=[^>\n])", re.MULTILINE)
_DATE_FORMAT: Final = re.compile(r"\{[a-z_]+\}(?:.*\{[a-z_]+\})?")
_UNIX_TIME: Final = re.compile(r"([0-9]{4,11})(?:\.[0-9]*)?")
_BRACKET: Final = re.compile(r"[\[\]]")

_INLINE: Final = re.compile(r"[\\`*]|~~|\$\$|\](?=[(\[])|<(?=[a-zA-Z])|&(?=#?\w+;)")
_LINE_START: Final = re.compile(
    r"^( {0,3})(?=#{1,6}(?:\s|$)|>|[-+](?:\s|$)|[-=:|][-=:| ]*$|(?:_[ \t]*){3,}$)"
    r"|^( {0,3}[0-9]{1,9})(?=[.)](?:\s|$))",
    re.MULTILINE,
)
"""Where a heading, a quote, an item, a rule or a table would begin."""
_HEADING: Final = re.compile(
    r"^( {0,3})(?=#{1,6}(?:\s|$)|[-=:|][-=:| ]*$|(?:_[ \t]*){3,}$)", re.MULTILINE
)
"""Where a heading, a rule or a table would begin. Quotes and items are Slack's as well as ours."""
_INDENT: Final = re.compile(r"^(?: {4,}|[ ]*\t[ \t]*)", re.MULTILINE)
_ENTITIES: Final = {"&amp;": "&", "&lt;": "<", "&gt;": ">"}
_ENTITY: Final = re.compile(r"&(?:amp|lt|gt);")
_EMOJI: Final = re.compile(r":(?=[\w+-]+:)")


def _between(mark: str) -> re.Pattern[str]:
    """Return a pattern of what stands between two of these marks.

    Within a word they are no marks.
    """
    within = rf"(?![\s{mark}])((?:[^{mark}\n]|(?<=[^\W_]){mark}(?=[^\W_]))+?)(?<!\s)"
    before, behind = rf"(?<![^\W_])(?<!{mark})", rf"(?![^\W_])(?!{mark})"
    return re.compile(f"{before}{mark}{within}{mark}{behind}")


_STYLES: Final = (
    ("*", _between(r"\*"), "**"),
    ("_", _between("_"), "*"),
    ("~", _between("~"), "~~"),
)


def text_of(value: Any) -> str:
    """Return a text as it is; a number as one; empty for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)[:MAX_TEXT].replace("\0", "")


def each_of(
    items: Any, render: Callable[[dict[str, Any]], str], *, most: int = MAX_PARTS
) -> Iterator[str]:
    """Yield the conversions of those of the items that are objects."""
    for item in items[:most] if isinstance(items, list) else ():
        if isinstance(item, dict) and (said := render(item)):
            yield said


def converted(text: str, *, styled: bool = True) -> str:
    """Return a text with Slack's marks and references converted. Code stays as it is.

    If it is not styled, only the references are converted.
    """
    kept: list[str] = []

    def keep(markdown: str) -> str:
        kept.append(markdown)
        return f"\0{len(kept) - 1}\0"

    text = text.replace("\0", "")
    # Most texts have none of these signs, and looking for them is much faster than a pattern.
    if styled and "`" in text:
        text = _CODE.sub(lambda found: keep(_code(found[0])), text)
    if "<" in text:
        text = _REFERENCE.sub(lambda found: keep(_reference(found)), text)
    text = _styled(text, keep) if styled else plain(text)
    return _on_lines(_KEPT.sub(lambda found: kept[int(found[1])], text)) if kept else text


def _styled(text: str, keep: Callable[[str], str]) -> str:
    """Return text with Slack's styles and quotes converted, and everything else escaped."""
    for sign, pattern, mark in _STYLES:
        if text.count(sign) > 1:
            kept = keep(mark)
            text = pattern.sub(rf"{kept}\1{kept}", text)
    text = _HEADING.sub(r"\g<0>\\", _inline_escaped(unescape(text)))
    return _QUOTE_END.sub(r"\1\n", text) if ">" in text else text


def unescape(text: str) -> str:
    """Return text without the three entities that Slack knows."""
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], text) if "&" in text else text


def _code(piece: str) -> str:
    piece = unescape(piece)
    inner = piece[3:-3]
    if not piece.startswith("```") or "\n" not in inner:
        return piece
    return "\0```\n" + inner.strip("\n") + "\n```\0"


def _on_lines(text: str) -> str:
    """Return the text with its fences on lines of their own."""
    text = re.sub(r"(?<!\n)\0(?=```)", "\n", text.lstrip("\0") if text.startswith("\0") else text)
    return re.sub(r"(?<=```)\0(?!\n|$)", "\n", text).replace("\0", "")


def plain(text: str, *, emoji: bool = True) -> str:
    """Return plain text escaped as Markdown. Addresses still become links."""
    escaped = _inline_escaped(unescape(text))
    if not emoji:
        escaped = _EMOJI.sub("&#58;", escaped)
    return _LINE_START.sub(r"\g<0>\\", _INDENT.sub(_indent, escaped))


def _inline_escaped(text: str) -> str:
    """Return text with inline Markdown escaped, except for addresses, which become links."""
    pieces: list[str] = []
    done = 0
    for address in addresses_in(text):
        pieces += (_escaped(text[done : address.start]), text[address.start : address.end])
        done = address.end
    return "".join([*pieces, _escaped(text[done:])])


def _escaped(text: str) -> str:
    return _INLINE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    if found[0] == "<":
        return "&lt;"
    return "\\" + "\\".join(found[0])


def _indent(found: re.Match[str]) -> str:
    return "\u00a0" * len(found[0].expandtabs(4))


def link(text: str, url: str) -> str:
    """Return a link with a plain text; paired brackets in it stay as they are."""
    label = _label(" ".join(text.split()))
    if re.search(r"[\s()<>]", url):
        url = re.sub(r"[\s<>]", lambda found: f"%{ord(found[0]):02X}", url)
        return f"[{label}](<{url}>)"
    return f"[{label}]({url})"


def _label(text: str) -> str:
    label = re.sub(r"[\\`*]|(?<=\\)[_~]|~~|\$\$|&(?=#?\w+;)|<(?=[a-zA-Z])", _escape, text)
    depth = 0
    for bracket in _BRACKET.findall(label):
        depth += 1 if bracket == "[" else -1
        if depth < 0:
            break
    if depth == 0 and not re.search(r"\][(\[]", label):
        return label
    return _BRACKET.sub(r"\\\g<0>", label)


def _reference(found: re.Match[str]) -> str:
    target, label = unescape(found[1]), unescape(found[2] or "")
    if target[0] in "@#!":
        return _mention(target, label)
    if not re.match(r"[a-z][a-z+.-]*:", target):
        return plain(label or target)
    shown = target.removeprefix("mailto:")
    return link(label, target) if label and label != shown else shown


def _mention(target: str, label: str) -> str:
    sign, name = target[0], target[1:]
    if sign == "#":
        return plain(f"#{label or name}")
    if sign == "!" and name.startswith("date^"):
        return _date(name.split("^")[1:], label)
    return plain(label or f"@{name.removeprefix('subteam^')}")


def _date(parts: list[str], label: str) -> str:
    seconds, template, url = [*parts, "", "", ""][:3]
    time = time_of(seconds)
    if not time:
        return plain(label)
    shown = _DATE_FORMAT.sub(time, plain(template), count=1) if template else time
    return f"[{shown}]({url})" if re.match(r"https?://[^\s()<>]+$", url) else shown


def time_of(seconds: Any) -> str:
    """Return a time in the reader's time zone; empty if it is invalid."""
    found = _UNIX_TIME.fullmatch(text_of(seconds))
    return time_mark(datetime.fromtimestamp(int(found[1]), UTC)) if found else ""


def text_object(value: Any) -> str:
    """Return a text, or an object that holds one in one of Slack's two forms."""
    if not isinstance(value, dict):
        return converted(text_of(value))
    text = text_of(value.get("text"))
    if value.get("type") in ("plain_text", "raw_text"):
        return plain(text, emoji=value.get("emoji") is not False)
    return converted(text)


def fallback(part: dict[str, Any]) -> str:
    """Return the fallback text of an unknown part."""
    for key in ("fallback", "text", "title", "alt_text", "description", "label", "name"):
        value = part.get(key)
        said = text_object(value) if isinstance(value, dict) else plain(text_of(value))
        if said.strip():
            return said
    return ""
