"""Convert Slack's rich text (styles, lists, quotes, code) and tables to our Markdown."""

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

from server.domain.markdown.writing import quoted
from server.domain.slack_text import MAX_PARTS, each_of, fallback, link, plain, text_of, time_of

MAX_PIECES: Final = 1_000
MAX_LEVEL: Final = 8
MAX_COLUMNS: Final = 20

_STYLES: Final = {"strike": "~~", "italic": "*", "bold": "**"}
"""The innermost first."""
_MARKS: Final = frozenset("*~")
_UNICODE: Final = re.compile(r"[0-9a-f]{2,6}(?:-[0-9a-f]{2,6}){0,9}", re.IGNORECASE)


class _Piece(NamedTuple):
    """A part of a line and its styles. `text` is Markdown, unless it is code."""

    styles: tuple[str, ...]
    is_code: bool
    text: str


def inline(elements: Any) -> str:
    """Return the pieces of a paragraph, an item, a quote or a cell."""
    pieces = [
        _piece(each)
        for each in (elements[:MAX_PIECES] if isinstance(elements, list) else ())
        if isinstance(each, dict)
    ]
    joined = ""
    for (styles, is_code), group in groupby(pieces, key=lambda piece: piece[:2]):
        text = "".join(piece.text for piece in group)
        shown = _styled(_code_span(text) if is_code else text, styles)
        joined += ("\u200b" if _would_be_misread(joined, shown) else "") + shown
    return joined


def _would_be_misread(before: str, behind: str) -> bool:
    """Return whether two runs need an invisible character between them.

    The same mark on both sides would be one mark. And a mark between a letter of ASCII and
    punctuation neither begins nor ends anything.
    """
    last, first = before[-1:], behind[:1]
    if last in {*_MARKS, "`"} and last == first:
        return True
    begins = first in _MARKS and _is_letter(last) and not behind.lstrip("*~")[:1].isalnum()
    ends = last in _MARKS and _is_letter(first) and not before.rstrip("*~")[-1:].isalnum()
    return begins or ends


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _piece(each: dict[str, Any]) -> _Piece:
    style = each.get("style")
    style = style if isinstance(style, dict) else {}
    styles = tuple(name for name in _STYLES if style.get(name) is True)
    is_text = each.get("type") in ("text", None)
    is_code = style.get("code") is True and is_text
    render = _INLINE.get(text_of(each.get("type")), fallback)
    return _Piece(styles, is_code, text_of(each.get("text")) if is_code else render(each))


def _styled(text: str, styles: tuple[str, ...]) -> str:
    if not styles:
        return text
    return "\n".join(_styled_line(line, styles) for line in text.split("\n"))


def _styled_line(line: str, styles: tuple[str, ...]) -> str:
    text = line.strip()
    if not text:
        return line
    marks = "".join(_STYLES[name] for name in reversed(styles))
    before, _, behind = line.partition(text)
    return f"{before}{marks}{text}{marks[::-1]}{behind}"


def _code_span(text: str) -> str:
    return "\n".join(_code_line(line) if line.strip() else line for line in text.split("\n"))


def _code_line(line: str) -> str:
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _link(each: dict[str, Any]) -> str:
    url = text_of(each.get("url"))
    text = text_of(each.get("text"))
    return link(text or url, url) if url else plain(text)


def _emoji(each: dict[str, Any]) -> str:
    points = text_of(each.get("unicode"))
    if _UNICODE.fullmatch(points):
        numbers = [int(point, 16) for point in points.split("-")]
        if all(_is_character(number) for number in numbers):
            return "".join(map(chr, numbers))
    name = text_of(each.get("name"))
    return f":{name}:" if name else fallback(each)


def _is_character(number: int) -> bool:
    return 0x20 < number < 0x110000 and not 0xD800 <= number < 0xE000  # noqa: PLR2004 - Unicode's


def _named(sign: str, *keys: str) -> Callable[[dict[str, Any]], str]:
    """Return what a piece refers to: its name, or Slack's id."""

    def render(each: dict[str, Any]) -> str:
        said = (text_of(each.get(key)) for key in ("name", "text", "fallback", *keys))
        name = next((name for name in said if name), "")
        return plain(sign + name.lstrip(sign)) if name else ""

    return render


def _date(each: dict[str, Any]) -> str:
    time, url = time_of(each.get("timestamp")), text_of(each.get("url"))
    if not time:
        return fallback(each)
    return f"[{time}]({url})" if re.match(r"https?://[^\s()<>]+$", url) else time


_INLINE: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "": lambda each: plain(text_of(each.get("text"))),
    "broadcast": _named("@", "range"),
    "channel": _named("#", "channel_id"),
    "color": lambda each: plain(text_of(each.get("value"))) or fallback(each),
    "date": _date,
    "emoji": _emoji,
    "link": _link,
    "team": _named("@", "team_id"),
    "text": lambda each: plain(text_of(each.get("text"))),
    "user": _named("@", "user_id"),
    "usergroup": _named("@", "usergroup_id"),
}


# -- blocks


def rich_text(block: dict[str, Any]) -> str:
    """Return a block of sections, lists, quotes and code."""
    elements = block.get("elements")
    parts: list[str] = []
    level, before = -1, ""
    for each in elements[:MAX_PARTS] if isinstance(elements, list) else ():
        if not isinstance(each, dict):
            continue
        kind = text_of(each.get("type"))
        level = min(_whole(each.get("indent")), level + 1) if kind == _LIST else -1
        shown = _list(each, level) if kind == _LIST else _part(kind, each)
        if shown:
            # The line after a list or a quote would continue it.
            apart = before in (_LIST, _QUOTE) and kind != before
            parts += ("\n\n" if apart else "\n" if parts else "", shown)
            before = kind
    return "".join(parts)


_LIST: Final = "rich_text_list"
_QUOTE: Final = "rich_text_quote"


def _part(kind: str, each: dict[str, Any]) -> str:
    elements = each.get("elements")
    if kind == "rich_text_preformatted":
        return _preformatted(each)
    if not isinstance(elements, list):
        return fallback(each)
    text = inline(elements).strip("\n")
    return quoted(text) if kind == _QUOTE else text


def _preformatted(each: dict[str, Any]) -> str:
    text = "\n".join("".join(each_of(each.get("elements"), _raw, most=MAX_PIECES)).splitlines())
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    language = text_of(each.get("language"))
    language = language if re.fullmatch(r"[\w+#.-]{1,30}", language) else ""
    return f"{fence}{language}\n{text}\n{fence}"


def _raw(each: dict[str, Any]) -> str:
    return text_of(each.get("text")) or text_of(each.get("url"))


def _list(each: dict[str, Any], level: int) -> str:
    """Return items of one level; deeper ones are lists of their own, which follow."""
    is_ordered = each.get("style") == "ordered"
    number = 1 + _whole(each.get("offset"), most=10**6)
    lines = []
    for text in each_of(each.get("elements"), _item):
        marker = f"{number}." if is_ordered else "*"
        gap = "\n" + "  " * level + " " * (len(marker) + 1)
        lines.append(f"{'  ' * level}{marker} {text.replace(chr(10), gap)}")
        number += 1
    return "\n".join(lines)


def _item(each: dict[str, Any]) -> str:
    if isinstance(each.get("elements"), list):
        return inline(each["elements"]).strip("\n")
    return fallback(each)


def _whole(value: Any, *, most: int = MAX_LEVEL) -> int:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return max(0, min(value, most)) if is_number else 0


def table(block: dict[str, Any]) -> str:
    """Return a table with the first row as its head."""
    rows = block.get("rows")
    cells = [
        list(_cells(row))
        for row in (rows[:MAX_PARTS] if isinstance(rows, list) else ())
        if isinstance(row, list)
    ]
    width = max(map(len, cells), default=0)
    if not width:
        return fallback(block)
    head, *others = [[*row, *[""] * (width - len(row))] for row in cells]
    marks = list(_alignments(block.get("column_settings"), width))
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *others))


def _cells(row: list[Any]) -> Iterator[str]:
    for cell in row[:MAX_COLUMNS]:
        text = ""
        if isinstance(cell, dict):
            is_rich = cell.get("type") == "rich_text"
            text = rich_text(cell) if is_rich else plain(text_of(cell.get("text")))
            text = text or fallback(cell)
        yield " ".join(text.split()).replace("|", "\\|")


def _alignments(settings: Any, width: int) -> Iterator[str]:
    known = settings if isinstance(settings, list) else []
    for column in range(width):
        setting = known[column] if column < len(known) else None
        align = setting.get("align") if isinstance(setting, dict) else None
        yield {"left": ":--", "center": ":-:", "right": "--:"}.get(text_of(align), "---")
