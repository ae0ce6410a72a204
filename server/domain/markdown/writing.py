"""Markdown that the server writes itself, around what people have written."""

import re
from collections.abc import Collection
from typing import Final

from server.domain.markdown.links import narrow_href
from server.domain.shown_people import INACCESSIBLE_NAME
from storage.ids import ChannelId, MessageId, UserId
from storage.users import UserRow

_PUNCTUATION: Final = re.compile(r"([!-/:;=-@\[-`{-~])")
"""All of ASCII's but the one that needs no escape, and has none."""
_MENTION_BY_ID: Final = re.compile(r"(@_?\*\*)[^\n]{0,100}?\|([0-9]{1,18})\*\*")
"""Whatever may be a person's name in it."""


def quoted(text: str, *, limit: int | None = None) -> str:
    """Return the text in a block quote that nothing in it can end, or go on behind.

    At most `limit` characters of that: the text grows by two for each line.
    """
    lines = [f"> {line}" if line else ">" for line in text.splitlines()]
    return "\n".join(lines)[:limit]


def mention(row: UserRow) -> str:
    """Return the person's name, as a message shows it without calling them."""
    return f"@_**{row.full_name}|{row.user_id}**"


def mentioned_ids(text: str) -> set[UserId]:
    """Return the people whom the text mentions by id."""
    return {UserId(int(found[2])) for found in _MENTION_BY_ID.finditer(text)}


def with_masked_mentions(text: str, user_ids: Collection[UserId]) -> str:
    """Return the text with mentions of these people under the name shown for unknown people."""

    def masked(found: re.Match[str]) -> str:
        is_masked = int(found[2]) in user_ids
        return f"{found[1]}{INACCESSIBLE_NAME}|{found[2]}**" if is_masked else found[0]

    return _MENTION_BY_ID.sub(masked, text)


def link(text: str, href: str) -> str:
    """A link that shows the text as it is; the address has nothing in it that has to be escaped."""
    return f"[{literal(text)}]({href})"


def channel_link(channel_id: ChannelId, channel: str) -> str:
    """Return a link to a channel, whatever its name is, and whoever may know of it.

    What people type (`#**name**`) ends at the first `**` of a name, and is dead text where the bot
    that writes it is not in the channel.
    """
    return link(f"#{channel}", narrow_href(channel_id, channel))


def topic_link(
    channel_id: ChannelId,
    channel: str,
    topic: str,
    *,
    empty_topic_name: str,
    message_id: MessageId | None = None,
) -> str:
    """Return a link to a topic, or to a message in it; the empty one is shown by the name given."""
    href = narrow_href(channel_id, channel, topic, message_id)
    return link(f"#{channel} > {topic or empty_topic_name}", href)


def literal(text: str) -> str:
    """Text of one line that nothing is made of: no mention, no emphasis, no emoji."""
    return _PUNCTUATION.sub(r"\\\1", text)
