"""Validation of messages and topics."""

import unicodedata
from typing import Final

from server.domain.errors import BadRequestError
from server.domain.narrow import RESOLVED_PREFIX
from server.domain.resolved_topics import base_name, is_resolved, without_mark
from server.i18n import _

MAX_MESSAGE_LENGTH: Final = 10_000
MAX_TOPIC_LENGTH: Final = 60
"""In code points, like every length here; without the mark of resolved topics."""
LARGE_AUDIENCE: Final = 15
"""Above this size, mentioning all of a channel or topic needs a permission."""
NO_TOPIC: Final = "(no topic)"


def clean_content(content: str) -> str:
    """Return the normalized content; raise BadRequestError."""
    content = content.rstrip()
    if not content.strip():
        raise BadRequestError(_("Message must not be empty"))
    if "\0" in content:
        raise BadRequestError(_("Message must not contain null bytes"))
    if len(content) > MAX_MESSAGE_LENGTH:
        raise BadRequestError(
            _("Message is too long (limit: {limit} characters)", limit=MAX_MESSAGE_LENGTH)
        )
    return content


def clean_topic(topic: str, empty_topic_display_name: str) -> str:
    """Return the topic's normalized name; names of the empty topic become the empty string.

    The maximum length is that of the name without the mark of resolved topics, so that every topic
    can be resolved. Raises BadRequestError.
    """
    topic = topic.strip()
    if topic in (NO_TOPIC, empty_topic_display_name):
        return ""
    name = without_mark(topic)
    if is_resolved(topic):
        topic = RESOLVED_PREFIX + name
    if len(name) > MAX_TOPIC_LENGTH:
        raise BadRequestError(
            _("Topic is too long (limit: {limit} characters)", limit=MAX_TOPIC_LENGTH)
        )
    for position, character in enumerate(topic, start=1):
        if unicodedata.category(character) in ("Cc", "Cs", "Cn"):
            raise BadRequestError(
                _("Invalid character in topic, at position {position}!", position=position)
            )
    return topic


def clean_new_topic(topic: str, empty_topic_display_name: str) -> str:
    """Return the name of a topic to send or move to: `clean_topic` with further checks.

    Raises BadRequestError for the mark of resolved topics on the empty topic.
    """
    topic = clean_topic(topic, empty_topic_display_name)
    base = base_name(topic)
    if base != topic and base in ("", NO_TOPIC, empty_topic_display_name):
        raise BadRequestError(
            _(
                "The topic '{empty_topic_display_name}' cannot be resolved.",
                empty_topic_display_name=empty_topic_display_name,
            )
        )
    return topic


def cut_topic(topic: str, *, end: str = "") -> str:
    """Return the name cut to the maximum length; a name that is cut ends with `end`."""
    name = without_mark(topic)
    if len(name) <= MAX_TOPIC_LENGTH:
        return topic
    mark = RESOLVED_PREFIX if is_resolved(topic) else ""
    return f"{mark}{name[: MAX_TOPIC_LENGTH - len(end)]}{end}"
