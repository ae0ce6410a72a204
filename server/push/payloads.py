"""Payloads of notifications: in plain text by kind of device, or as the text to encrypt."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import msgspec

from server.domain.notifications import Reason
from server.push.phrases import PushPhrases, phrases_in
from server.push.plain_text import MAX_CONTENT, shortened
from server.push.service import PlainNotification

MAX_PLAIN_BYTES: Final = 3_600
"""The maximum bytes of the app's JSON: both services accept payloads of 4,096 with their own part.
"""
MAX_SEALED_BYTES: Final = 2_700
"""The maximum before encryption, which with base64 adds a third, and the envelope."""
MAX_IDS_PER_REMOVAL: Final = 100
"""The number of the longest ids that fit into a payload."""

_EVERYONE: Final = frozenset(
    {
        Reason.TOPIC_WILDCARD_WHERE_FOLLOWED,
        Reason.CHANNEL_WILDCARD_WHERE_FOLLOWED,
        Reason.TOPIC_WILDCARD,
        Reason.CHANNEL_WILDCARD,
    }
)
_PAIR: Final = 2
_COLLAPSE_KEY_LENGTH: Final = 64
"""Apple's limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressee:
    """The user of the device, with the organization."""

    user_id: int
    language: str
    realm_id: int
    realm_uuid: str
    realm_name: str
    realm_url: str
    host: str

    @property
    def phrases(self) -> PushPhrases:
        return phrases_in(self.language)

    def sealed_base(self) -> dict[str, Any]:
        return {
            "realm_url": self.realm_url,
            "realm_name": self.realm_name,
            "user_id": self.user_id,
        }

    def apple_base(self) -> dict[str, Any]:
        return {"realm_uri": self.realm_url, **self.sealed_base()}

    def android_base(self) -> dict[str, Any]:
        return {"server": self.host, "realm_id": self.realm_id, **self.apple_base()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedMessage:
    """A message, limited to what its recipient may see."""

    message_id: int
    sent_at: datetime
    content: str
    """Plain text, of any length."""
    sender_id: int
    sender_email: str
    sender_name: str
    sender_avatar_url: str
    reason: Reason
    group: tuple[int, str] | None = None
    """Id and name of the mentioned group of the recipient."""
    channel: tuple[int, str] | None = None
    """None for a direct message."""
    topic: str = ""
    people: Sequence[tuple[int, str]] = ()
    """All users of the direct message, by id."""
    href: str = ""
    """The path of the message in the web client."""


def message_notice(to: Addressee, message: PushedMessage, *, badge: int) -> PlainNotification:
    """Return the plain payload of a message."""
    where = _where(message)
    who = {**mention_of(message), "sender_id": message.sender_id}
    email = {"sender_email": message.sender_email}

    def apple(content: str, people: People) -> dict[str, Any]:
        app = {**to.apple_base(), **who, **email, **where, **people}
        return {
            "alert": {
                "title": shortened(title_of(message)),
                "subtitle": shortened(subtitle_of(to.phrases, message)),
                "body": content,
            },
            "sound": "default",
            "badge": badge,
            "custom": {"zulip": {**app, "message_ids": [message.message_id]}},
        }

    def android(content: str, people: People) -> dict[str, Any]:
        return {
            **to.android_base(),
            **who,
            **email,
            **where,
            **people,
            **_text(message, content),
            "event": "message",
            "zulip_message_id": message.message_id,
        }

    others = message.people if len(message.people) > _PAIR else ()
    people = {"pm_users": ",".join(str(user_id) for user_id, _ in others)} if others else {}
    return PlainNotification(
        apple=fitting(apple, message.content, people, MAX_PLAIN_BYTES),
        android=fitting(android, message.content, people, MAX_PLAIN_BYTES),
        is_urgent=True,
        collapse_key=_collapse_key(to, message.message_id),
    )


def message_to_seal(to: Addressee, message: PushedMessage) -> dict[str, Any]:
    """Return the payload of a message to encrypt, the same for every kind of device."""
    if message.channel is None:
        place: dict[str, Any] = {"recipient_type": "direct"}
        people = {"recipient_user_ids": sorted(user_id for user_id, _ in message.people)}
    else:
        channel_id, name = message.channel
        place = {
            "recipient_type": "channel",
            "channel_id": channel_id,
            "channel_name": name,
            "topic": message.topic,
        }
        people = {}

    def build(content: str, people: People) -> dict[str, Any]:
        return {
            **to.sealed_base(),
            "sender_id": message.sender_id,
            **mention_of(message),
            **place,
            **people,
            **_text(message, content),
            "type": "message",
            "message_id": message.message_id,
        }

    return fitting(build, message.content, people, MAX_SEALED_BYTES)


def removals(
    to: Addressee, message_ids: Sequence[int], *, badge: int
) -> Iterator[PlainNotification]:
    """Yield payloads that remove messages from devices, each for a bounded batch."""
    for ids in batches_of(message_ids):
        event = {"event": "remove", "zulip_message_ids": ",".join(map(str, ids))}
        yield PlainNotification(
            apple={"badge": badge, "custom": {"zulip": {**to.apple_base(), **event}}},
            android={**to.android_base(), **event},
            is_urgent=False,
        )


def removals_to_seal(to: Addressee, message_ids: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the payloads of removals to encrypt."""
    for ids in batches_of(message_ids):
        yield {**to.sealed_base(), "type": "remove", "message_ids": list(ids)}


def test_notice(to: Addressee, now: datetime) -> PlainNotification:
    """Return the plain payload of a test notification."""
    body = to.phrases.test_body.format(realm=to.realm_name, url=to.realm_url)
    return PlainNotification(
        apple={
            "alert": {"title": to.phrases.test_title, "body": body},
            "sound": "default",
            "custom": {"zulip": {**to.apple_base(), "event": "test"}},
        },
        android={**to.android_base(), "event": "test", "time": int(now.timestamp())},
        is_urgent=True,
    )


def test_to_seal(to: Addressee, now: datetime) -> dict[str, Any]:
    """Return the payload of a test notification to encrypt."""
    return {**to.sealed_base(), "type": "test", "time": int(now.timestamp())}


People = dict[str, Any]


def fitting(
    build: Callable[[str, People], dict[str, Any]], content: str, people: People, limit: int
) -> dict[str, Any]:
    """Return a payload with the content shortened until it fits.

    With so many users that this is not enough, their names are left out.
    """
    longest = MAX_CONTENT
    while True:
        built = build(shortened(content, longest), people)
        if len(msgspec.json.encode(built)) <= limit or not (longest or people):
            return built
        if longest:
            longest //= 2
        else:
            longest, people = MAX_CONTENT, {}


def batches_of(
    message_ids: Sequence[int], size: int = MAX_IDS_PER_REMOVAL
) -> Iterator[Sequence[int]]:
    """Yield the ids in order, in batches of at most `size`."""
    ids = sorted(message_ids)
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def _collapse_key(to: Addressee, message_id: int) -> str:
    return sha256(f"{to.realm_uuid}:{message_id}".encode()).hexdigest()[:_COLLAPSE_KEY_LENGTH]


def mention_of(message: PushedMessage) -> dict[str, Any]:
    """Return the mentioned group of the recipient, if any."""
    if message.group is None:
        return {}
    group_id, name = message.group
    return {"mentioned_user_group_id": group_id, "mentioned_user_group_name": name}


def _where(message: PushedMessage) -> dict[str, Any]:
    if message.channel is None:
        return {"recipient_type": "private"}
    channel_id, name = message.channel
    return {
        "recipient_type": "stream",
        "stream": name,
        "stream_id": channel_id,
        "topic": message.topic,
    }


def _text(message: PushedMessage, content: str) -> dict[str, Any]:
    return {
        "time": int(message.sent_at.timestamp()),
        "content": content,
        "sender_full_name": message.sender_name,
        "sender_avatar_url": message.sender_avatar_url,
    }


def title_of(message: PushedMessage) -> str:
    """Return the channel and topic of the message, or that it is direct."""
    if message.channel is not None:
        return f"#{message.channel[1]} > {message.topic}"
    if len(message.people) > _PAIR:
        return ", ".join(sorted(name for _, name in message.people))
    return message.sender_name


def subtitle_of(phrases: PushPhrases, message: PushedMessage) -> str:
    """Return who sent the message and why it notifies; empty if the title says it."""
    if message.reason is Reason.MENTIONED:
        group = "" if message.group is None else message.group[1]
        phrase = phrases.mentioned_group if group else phrases.mentioned_you
        return phrase.format(name=message.sender_name, group=group)
    if message.reason in _EVERYONE:
        return phrases.mentioned_everyone.format(name=message.sender_name)
    if message.channel is None and len(message.people) <= _PAIR:
        return ""
    return f"{message.sender_name}:"
