"""Markdown that the server writes itself, around what people have written."""

import re
from typing import Final

from storage.users import UserRow

_PUNCTUATION: Final = re.compile(r"([!-/:;=-@\[-`{-~])")
"""All of ASCII's but the one that needs no escape, and has none."""


def quoted(text: str, *, limit: int | None = None) -> str:
    """The text in a block quote that nothing in it can end, or go on behind.

    At most `limit` characters of that: the text grows by two for each line.
    """
    lines = [f"> {line}" if line else ">" for line in text.splitlines()]
    return "\n".join(lines)[:limit]


def mention(row: UserRow) -> str:
    """The person's name, as a message shows it without calling them."""
    return f"@_**{row.full_name}|{row.user_id}**"


def link(text: str, href: str) -> str:
    """A link that shows the text as it is; the address has nothing in it that has to be escaped."""
    return f"[{literal(text)}]({href})"


def literal(text: str) -> str:
    """Text of one line that nothing is made of: no mention, no emphasis, no emoji."""
    return _PUNCTUATION.sub(r"\\\1", text)
