"""Rules about messages and topics that need no data."""

import unicodedata
from typing import Final

from server.domain.errors import BadRequestError
from server.domain.narrow import RESOLVED_PREFIX

MAX_MESSAGE_LENGTH: Final = 10_000
MAX_TOPIC_LENGTH: Final = 60
"""In code points, like every length here."""
LARGE_AUDIENCE: Final = 15
"""Above this many, mentioning all of a channel or topic needs a permission."""
NO_TOPIC: Final = "(no topic)"

__all__ = ["RESOLVED_PREFIX", "as_resolved", "clean_content", "clean_topic"]


def clean_content(content: str) -> str:
    """The content as it is stored. Raises BadRequestError."""
    content = content.rstrip()
    if not content.strip():
        raise BadRequestError("Message must not be empty")
    if "\0" in content:
        raise BadRequestError("Message must not contain null bytes")
    if len(content) > MAX_MESSAGE_LENGTH:
        raise BadRequestError(f"Message is too long (limit: {MAX_MESSAGE_LENGTH} characters)")
    return content


def clean_topic(topic: str, empty_topic_display_name: str) -> str:
    """The topic's name as it is stored; the names of the empty topic become the empty string.

    Raises BadRequestError.
    """
    topic = topic.strip()
    if topic in (NO_TOPIC, empty_topic_display_name):
        return ""
    if len(topic) > MAX_TOPIC_LENGTH:
        raise BadRequestError(f"Topic is too long (limit: {MAX_TOPIC_LENGTH} characters)")
    for position, character in enumerate(topic, start=1):
        if unicodedata.category(character) in ("Cc", "Cs", "Cn"):
            raise BadRequestError(f"Invalid character in topic, at position {position}!")
    return topic


def as_resolved(topic: str) -> str:
    """What the topic is called once it is resolved: as much of its name as there is room for."""
    name = RESOLVED_PREFIX + topic
    return name if len(name) <= MAX_TOPIC_LENGTH else name[:MAX_TOPIC_LENGTH].rstrip()
