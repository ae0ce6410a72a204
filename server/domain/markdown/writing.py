"""Markdown written by the server, around text of users."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from server.domain.markdown.links import narrow_href
from server.domain.shown_people import INACCESSIBLE_NAME
from storage.ids import ChannelId, MessageId, UserId
from storage.users import UserRow

_PUNCTUATION: Final = re.compile(r"([!-/:;=-@\[-`{-~])")
"""All ASCII punctuation except the character that needs no escape."""
_MENTION_BY_ID: Final = re.compile(r"(@_?\*\*)[^\n]{0,100}?\|([0-9]{1,18})\*\*")
"""A name of any user may be in it."""


def quoted(text: str, *, limit: int | None = None) -> str:
    """Return the text in a block quote that nothing in it can end, or continue behind.

    At most `limit` characters of that: the text grows by two for each line.
    """
    lines = [f"> {line}" if line else ">" for line in text.splitlines()]
    return "\n".join(lines)[:limit]


def mention(row: UserRow) -> str:
    """Return a silent mention of the user."""
    return f"@_**{row.full_name}|{row.user_id}**"


def mentioned_ids(text: str) -> set[UserId]:
    """Return the users that the text mentions by id."""
    return {UserId(int(found[2])) for found in _MENTION_BY_ID.finditer(text)}


def with_masked_mentions(text: str, user_ids: Collection[UserId]) -> str:
    """Return the text with mentions of these users under the name shown for unknown users."""

    def masked(found: re.Match[str]) -> str:
        is_masked = int(found[2]) in user_ids
        return f"{found[1]}{INACCESSIBLE_NAME}|{found[2]}**" if is_masked else found[0]

    return _MENTION_BY_ID.sub(masked, text)


def link(text: str, href: str) -> str:
    """Return a link with the text as it is; the address contains nothing to escape."""
    return f"[{literal(text)}]({href})"


def time_mark(moment: datetime) -> str:
    """Return a time that each reader sees in their own time zone."""
    return f"<time:{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}>"


def channel_link(channel_id: ChannelId, channel: str) -> str:
    """Return a link to a channel of any name, for any reader.

    `#**name**` ends at the first `**` of a name, and is plain text if the sending bot has no access
    to the channel.
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
    """Return a link to a topic, or to a message in it; `empty_topic_name` names the empty topic."""
    href = narrow_href(channel_id, channel, topic, message_id)
    return link(f"#{channel} > {topic or empty_topic_name}", href)


def literal(text: str) -> str:
    """Return one line of text escaped: no mention, no emphasis, no emoji."""
    return _PUNCTUATION.sub(r"\\\1", text)
