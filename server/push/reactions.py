"""Payloads of notifications of reactions, as docs/protocol.md describes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from server.domain.page_links import message_page
from server.push.browser_payloads import MAX_SHORT_BYTES, BrowserNotification
from server.push.payloads import Addressee, People, fitting
from server.push.plain_text import shortened
from server.push.web_encryption import MAX_BYTES

MAX_NAMES: Final = 3
MAX_EMOJI: Final = 10
MAX_NAME_LENGTH: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedReactions:
    """The reactions of a notification, limited to what its recipient may see."""

    message_id: int
    window_id: int
    """Of several notifications of a message, the newest has the highest one."""
    names: Sequence[str]
    """The users who have reacted, each once."""
    emoji: Sequence[tuple[str, str, str]]
    """Type, code and name of each reaction."""
    content: str
    """The message in plain text; empty if it is hidden."""
    href: str
    """The path of the message in the web client."""


def reactions_to_browser(
    to: Addressee, reactions: PushedReactions, *, unread_count: int, is_silent: bool
) -> BrowserNotification:
    """Return the payload of a notification of reactions to a message."""
    base: dict[str, Any] = {
        **to.sealed_base(),
        "type": "reactions",
        "message_ids": [reactions.message_id],
        "window_id": reactions.window_id,
        "tag": f"reactions:{reactions.message_id}",
        "silent": is_silent,
        "unread_count": unread_count,
        "title": to.phrases.reactions,
    }
    summary = f"{_people(reactions.names)}: {_emoji(reactions.emoji)}"

    def build(content: str, people: People) -> dict[str, Any]:
        body = f"{summary}\n{content}" if content else summary
        return {**base, "body": body, **people}

    people: People = {"url": to.realm_url + reactions.href}
    bare = {"url": to.realm_url + message_page(reactions.message_id)}
    payload = msgspec.json.encode(
        fitting(lambda c, p: build(c, p or bare), reactions.content, people, MAX_BYTES)
    )
    short = msgspec.json.encode(
        fitting(lambda c, p: build(c, p or bare), "", people, MAX_SHORT_BYTES)
    )
    return BrowserNotification(payload, short, is_shown=True, tag=base["tag"])


def _people(names: Sequence[str]) -> str:
    listed = ", ".join(shortened(name, MAX_NAME_LENGTH) for name in names[:MAX_NAMES])
    rest = len(names) - MAX_NAMES
    return f"{listed}, +{rest}" if rest > 0 else listed


def _emoji(emoji: Sequence[tuple[str, str, str]]) -> str:
    different = list(dict.fromkeys(emoji))
    listed = " ".join(_text(*each) for each in different[:MAX_EMOJI])
    return f"{listed} …" if len(different) > MAX_EMOJI else listed


def _text(reaction_type: str, code: str, name: str) -> str:
    """Return the characters of an emoji of Unicode, and the name of another."""
    if reaction_type != "unicode_emoji":
        return f":{name}:"
    return "".join(chr(int(point, 16)) for point in code.split("-"))
