"""Links to the server's own pages for messages and settings.

Servers never see the fragment of a URL, so links in emails have a path of their own.
"""

import re
from typing import Final
from urllib.parse import unquote, urlencode

MESSAGE: Final = "/message/{message_id}"
CHANNELS: Final = "/channels"
CHANNEL: Final = "/channel/{channel_id}"
TOPIC: Final = "/channel/{channel_id}/topic"
NOTIFICATIONS: Final = "/account#notifications"

_NARROW: Final = re.compile(r"/?#narrow/(.+)", re.DOTALL)
_MESSAGE_ID: Final = re.compile(r"[0-9]{1,18}")
_CHANNEL_ID: Final = re.compile(r"([0-9]{1,18})(?:-.*)?", re.DOTALL)


def message_page(message_id: int) -> str:
    """Return the path of a message's page, with the messages around it."""
    return MESSAGE.format(message_id=message_id)


def channel_page(channel_id: int) -> str:
    """Return the path of a channel's page, with its topics."""
    return CHANNEL.format(channel_id=channel_id)


def topic_page(channel_id: int, topic: str) -> str:
    """Return the path of a topic's page, with its latest messages."""
    return f"{TOPIC.format(channel_id=channel_id)}?{urlencode({'name': topic})}"


def page_of(href: str) -> str:
    """Return the page for a link that narrows a client; any other link is returned unchanged."""
    narrow = _NARROW.fullmatch(href)
    if narrow is None:
        return href
    parts = narrow[1].split("/")
    terms: dict[str, str] = dict(zip(parts[::2], parts[1::2], strict=False))
    message_id = terms.get("near", "") or terms.get("with", "") or terms.get("id", "")
    if _MESSAGE_ID.fullmatch(message_id):
        return message_page(int(message_id))
    channel = _CHANNEL_ID.fullmatch(terms.get("channel", terms.get("stream", "")))
    if channel is None:
        return href
    topic = terms.get("topic", terms.get("subject"))
    if topic is None:
        return channel_page(int(channel[1]))
    return topic_page(int(channel[1]), unquote(topic.replace(".", "%")))
