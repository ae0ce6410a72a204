"""Name the topics of threads by the first words of their roots."""

import html
import re
import unicodedata
from datetime import datetime
from typing import Final

from server.domain.messages import MAX_TOPIC_LENGTH
from server.domain.narrow import RESOLVED_PREFIX
from server.domain.resolved_topics import without_mark

MAX_SOURCE: Final = 500
"""Characters of a message that its topic's name is made from."""
UNNAMED: Final = "Thread"
_MIN_CUT: Final = 30
"""A name is not cut at a space before this."""

_MENTION: Final = re.compile(r"([@#])_?\*\*([^*|]+)(?:\|\d+)?\*\*")
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MARKS: Final = re.compile(
    r"\\([!-/:-@\[-`{-~])|[*`~]+|^[ \t]*(?:#{1,6}|>|[-+])[ \t]", re.MULTILINE
)


def topic_name(markdown: str) -> str:
    """Return a valid topic name made from the first words of a text."""
    text = _LINK.sub(r"\1", _MENTION.sub(r"\1\2", markdown[:MAX_SOURCE]))
    text = html.unescape(_MARKS.sub(lambda mark: mark[1] or "", text))
    return clean_topic_name(text) or UNNAMED


def clean_topic_name(text: str) -> str:
    """Return the text as a valid name of a topic, cut at a word; it may be empty."""
    text = unicodedata.normalize("NFC", " ".join(text.split()))
    text = "".join(each for each in text if unicodedata.category(each) not in ("Cc", "Cs", "Cn"))
    while text.startswith(RESOLVED_PREFIX.strip()):
        text = without_mark(text).lstrip("✔ ")
    return _cut(text.strip(), MAX_TOPIC_LENGTH)


def resolved_name(name: str) -> str:
    """Return the name with the mark of resolved topics; a topic without a name cannot have it."""
    return RESOLVED_PREFIX + name if name else name


def dated_name(name: str, moment: datetime) -> str:
    """Return the name with the time of its root, for a second thread of that name."""
    return _with_end(name, f" ({moment:%Y-%m-%d %H:%M:%S})")


def numbered_name(name: str, number: int) -> str:
    return _with_end(name, f" ({number})")


def _with_end(name: str, end: str) -> str:
    return _cut(name, MAX_TOPIC_LENGTH - len(end)) + end


def _cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    head = text[: length - 1]
    words, _, _ = head.rpartition(" ")
    return (words if len(words) >= min(_MIN_CUT, length // 2) else head).rstrip() + "…"
