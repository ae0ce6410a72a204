"""Bits of message flags and traits, and their names in SQL.

In statements and in function files, `{STARRED}` and `{STARRED | MENTIONED}` stand for the bits: as
literals, because partial indexes are over single bits.
"""

import re
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Final

# Flags: exceptions that one reader has on a message (message_flags.flags).
UNREAD: Final = 1
"""Unread despite all ranges of what was read."""
STARRED: Final = 2
COLLAPSED: Final = 4
MENTIONED: Final = 8
"""By name, or by a group of the reader."""
HAS_ALERT_WORD: Final = 16
HISTORICAL: Final = 32
"""In the reader's history although they did not receive it."""
TOPIC_WILDCARD_MENTIONED: Final = 64
HIDE_LINK_PREVIEWS: Final = 128

# Traits: what holds for all readers of a message (messages.traits).
READ_BY_SENDER: Final = 1
CHANNEL_WILDCARD: Final = 2
TOPIC_WILDCARD: Final = 4
IS_ME_MESSAGE: Final = 8
HAS_LINK: Final = 16
HAS_IMAGE: Final = 32
HAS_ATTACHMENT: Final = 64
TELLS_OF_RESOLVING: Final = 128
"""Read at once, except for users who want such notices unread (storage/unread_notices.py)."""
HAS_BUTTONS: Final = 256
"""Has, or once had, buttons of a bot (storage/message_buttons.py)."""
PINNED: Final = 512
"""Pinned in its channel (storage/pins.py)."""
CONTENT_TRAITS: Final = (
    CHANNEL_WILDCARD | TOPIC_WILDCARD | IS_ME_MESSAGE | HAS_LINK | HAS_IMAGE | HAS_ATTACHMENT
)
"""Traits that follow from the text: an edit recomputes them."""

BITS: Final[Mapping[str, int]] = {
    name: bits for name, bits in globals().items() if name.isupper() and type(bits) is int
}

_NAMES: Final = re.compile(r"\{([A-Z][A-Z_]*(?: \| [A-Z][A-Z_]*)*)\}")


def with_bits(sql: str) -> str:
    """Replace names in braces by their bits. Raises KeyError for an unknown name."""
    if "{" not in sql:
        return sql
    return _NAMES.sub(lambda names: str(_bits(names[1])), sql)


def _bits(names: str) -> int:
    return reduce(or_, (BITS[name] for name in names.split(" | ")))
