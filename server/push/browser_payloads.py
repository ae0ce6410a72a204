"""Payloads of notifications to browsers, as docs/protocol.md describes them for service workers."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import msgspec

from server.domain.page_links import message_page
from server.push.payloads import (
    Addressee,
    People,
    PushedMessage,
    batches_of,
    fitting,
    mention_of,
    subtitle_of,
    title_of,
)
from server.push.plain_text import shortened
from server.push.web_encryption import MAX_BYTES

MAX_SHORT_BYTES: Final = 1_536
"""The maximum size of a payload for services that refuse a longer one."""
MAX_IDS_PER_REMOVAL: Final = 40
"""The number of the longest ids that fit into a short payload."""
_TAG_BYTES: Final = 24


@dataclass(frozen=True, slots=True)
class BrowserNotification:
    """A payload, with what its push service may know about it."""

    payload: bytes
    short: bytes
    """Replaces a payload that is too large for the service."""
    is_shown: bool
    """Whether the browser shows it, and so wakes the device."""
    tag: str = ""
    """The conversation: a later notification of it replaces one that was not delivered yet."""


def message_to_browser(
    to: Addressee, message: PushedMessage, *, unread_count: int, hides: bool, is_silent: bool
) -> BrowserNotification:
    """Return the payload of a message, without its content if that is to be hidden."""
    base = {
        **to.sealed_base(),
        "type": "message",
        "message_ids": [message.message_id],
        "time": int(message.sent_at.timestamp()),
        "tag": _tag(to, message),
        "silent": is_silent,
        "unread_count": unread_count,
        "url": to.realm_url + message_page(message.message_id),
    }

    def build(content: str, people: People) -> dict[str, Any]:
        return {
            **base,
            "title": shortened(title_of(message)),
            "body": _body(to, message, content),
            "icon": message.sender_avatar_url,
            "sender_id": message.sender_id,
            "sender_full_name": message.sender_name,
            **mention_of(message),
            **_place(message),
            **people,
        }

    people: dict[str, Any] = {"url": to.realm_url + message.href}
    if message.channel is None:
        people["recipient_user_ids"] = sorted(user_id for user_id, _ in message.people)
    content = to.phrases.new_message if hides else message.content
    whole = msgspec.json.encode(fitting(build, content, people, MAX_BYTES))
    short = msgspec.json.encode({**base, "title": to.realm_name, "body": to.phrases.new_message})
    return BrowserNotification(
        payload=whole if len(whole) <= MAX_BYTES else short,
        short=short,
        is_shown=True,
        tag=base["tag"],
    )


def removals_from_browser(
    to: Addressee, message_ids: Sequence[int], *, unread_count: int
) -> Iterator[BrowserNotification]:
    """Yield payloads that withdraw messages, each for a bounded batch.

    They have no tag: one that replaced a message not delivered yet would lose it.
    """
    for ids in batches_of(message_ids, MAX_IDS_PER_REMOVAL):
        payload = msgspec.json.encode(
            {
                **to.sealed_base(),
                "type": "remove",
                "message_ids": list(ids),
                "unread_count": unread_count,
            }
        )
        yield BrowserNotification(payload, payload, is_shown=False)


def test_to_browser(to: Addressee, now: datetime) -> BrowserNotification:
    """Return the payload of a test notification."""
    body = to.phrases.test_body.format(realm=to.realm_name, url=to.realm_url)
    payload = msgspec.json.encode(
        {
            **to.sealed_base(),
            "type": "test",
            "time": int(now.timestamp()),
            "title": to.phrases.test_title,
            "body": body,
            "url": to.realm_url,
        }
    )
    return BrowserNotification(payload, payload, is_shown=True)


def _body(to: Addressee, message: PushedMessage, content: str) -> str:
    """Return the content behind its sender, which phones show on a line of its own."""
    subtitle = shortened(subtitle_of(to.phrases, message))
    return f"{subtitle} {content}" if subtitle else content


def _place(message: PushedMessage) -> Mapping[str, Any]:
    if message.channel is None:
        return {"recipient_type": "direct"}
    channel_id, name = message.channel
    return {
        "recipient_type": "channel",
        "channel_id": channel_id,
        "channel_name": name,
        "topic": message.topic,
    }


def _tag(to: Addressee, message: PushedMessage) -> str:
    """Return the same text for all messages of a conversation, and another for others."""
    if message.channel is None:
        people = sorted(user_id for user_id, _ in message.people)
        place = ("direct", ",".join(map(str, people)))
    else:
        place = (str(message.channel[0]), message.topic)
    digest = sha256("\0".join((to.realm_uuid, *place)).encode()).digest()
    return base64.urlsafe_b64encode(digest[:_TAG_BYTES]).decode()
