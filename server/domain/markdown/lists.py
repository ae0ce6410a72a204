"""Indent lists for the parser, which is stricter about them than this dialect.

CommonMark wants a nested item below the text of its parent (three spaces and more under a number),
and lets only a list that starts at 1 follow a line of text. Here two spaces are enough, and any
number will do: it travels in marks behind a 1, and `source.unprotect` restores it wherever it turns
out to be no list after all.
"""

import re
from dataclasses import dataclass

from server.domain.markdown.source import numbered_item

_STEP = 2
_MAX_PADDING = 4
_CODE_INDENT = 4

_NEEDED = re.compile(r"^[ \t]*(?:[0-9]{1,9}\. |[ \t][*+-] )", re.MULTILINE)
_ITEM = re.compile(r"([*+-]|[0-9]{1,9}[.)])( +)(?=\S)")
_RULE = re.compile(r"(?:\* *){3,}$|(?:- *){3,}$")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_BLOCK_START = re.compile(r"#{1,6}[ \t]|>|(?:[*+-]|[0-9]{1,9}[.)])(?:\s|$)|`{3}|~{3}|\*{3}")


def indent_lists(text: str) -> str:
    """Return the text with each item where the parser nests it as the dialect does."""
    if _NEEDED.search(text) is None:
        return text
    indenter = _Indenter()
    return "\n".join([indenter.line(line) for line in text.split("\n")])


@dataclass(slots=True)
class _Item:
    """An open item: the columns of its marker and of its text, and where they move."""

    column: int
    text: int
    new_column: int
    new_text: int
    is_ordered: bool

    def holds(self, column: int) -> bool:
        return column >= self.column + _STEP


class _Indenter:
    """Processes the lines with the stack of open items, innermost last."""

    def __init__(self) -> None:
        self._items: list[_Item] = []
        self._after_blank = True
        self._fence = ""
        self._fence_shift = 0

    def line(self, line: str) -> str:
        text = line.lstrip(" \t")
        if not text:
            self._after_blank = True
            return line

        indent = line[: len(line) - len(text)]
        column = len(indent.expandtabs(_CODE_INDENT))
        if self._fence and (not self._items or self._items[-1].holds(column)):
            return self._in_fence(line, text, column)

        self._fence = ""
        item = _ITEM.match(text)
        if item is not None and not _RULE.match(text):
            line = self._item(line, text, column, item)
        else:
            line = self._continuation(line, text, column)
        self._after_blank = False
        return line

    def _in_fence(self, line: str, text: str, column: int) -> str:
        if text.startswith(self._fence) and not text.strip(self._fence[0] + " \t"):
            self._fence = ""
        shifted = column + self._fence_shift
        return " " * shifted + text if self._fence_shift and shifted >= 0 else line

    def _item(self, line: str, text: str, column: int, match: re.Match[str]) -> str:
        marker, padding = match[1], len(match[2])
        is_ordered = len(marker) > 1
        place = self._place(column, is_ordered=is_ordered)
        if place is None:
            return line

        new_column, is_first = place
        width = len(marker) + (padding if padding <= _MAX_PADDING else 1)
        item = _Item(column, column + width, new_column, new_column + width, is_ordered)
        self._items.append(item)
        rest = text[match.end() :]
        self._open_fence(rest, item.new_text - item.text)
        if is_first and not self._after_blank and is_ordered and _needs_number(marker, rest):
            text, item.new_text = numbered_item(marker, rest), new_column + len("1. ")
        return _moved(line, text, column, new_column)

    def _place(self, column: int, *, is_ordered: bool) -> tuple[int, bool] | None:
        """Return where an item of this column moves, and whether it begins a list.

        Closes others.
        """
        items = self._items
        while items and column < items[-1].column:
            items.pop()
        if items and items[-1].holds(column):
            return items[-1].new_text, True
        if items:
            sibling = items.pop()
            return sibling.new_column, sibling.is_ordered != is_ordered
        return (column, True) if column < _CODE_INDENT else None

    def _continuation(self, line: str, text: str, column: int) -> str:
        items = self._items
        is_fence = _FENCE.match(text) is not None
        if self._after_blank or is_fence:
            while items and not items[-1].holds(column):
                items.pop()
        if not items or not items[-1].holds(column):
            if column < _CODE_INDENT:
                self._open_fence(text, 0)
            return line

        item = items[-1]
        new_column = item.new_text + max(0, column - item.text)
        self._open_fence(text, new_column - column)
        return _moved(line, text, column, new_column)

    def _open_fence(self, text: str, shift: int) -> None:
        if match := _FENCE.match(text):
            self._fence = match[1] or match[2]
            self._fence_shift = shift


def _needs_number(marker: str, rest: str) -> bool:
    """Return whether the parser sees no list, and text follows to carry its number."""
    return marker[-1] == "." and int(marker[:-1]) != 1 and _BLOCK_START.match(rest) is None


def _moved(line: str, text: str, column: int, new_column: int) -> str:
    if column == new_column and line.endswith(text):
        return line
    return " " * new_column + text
