"""Parse `@` and `#`: references to users, groups, channels and topics.

A name may contain a terminator: `**`, `>`, `|`, `@` or a backtick. So each place where it could end
is tried, the longest first, and the first reading with an existing name wins.
"""

import re
from collections.abc import Iterator
from itertools import islice

from server.domain.markdown.nodes import (
    ChannelLink,
    ChannelWildcard,
    GroupMention,
    Inline,
    Mention,
    TopicWildcard,
    UserMention,
)
from server.domain.markdown.resolver import MentionedChannel, MentionResolver
from server.domain.names import fold_name

CHANNEL_WILDCARDS = frozenset({"all", "everyone", "channel", "stream"})
TOPIC_WILDCARDS = frozenset({"topic"})

MAX_NAME = 102
"""Maximum length of a name with its terminator."""
MAX_READINGS = 5
"""Maximum number of possible ends that are tried per sign."""

Reading = tuple[int, Inline]
"""Where the syntax ends, and its node."""

_USER = re.compile(r"@(_?)\*\*(?:\|([0-9]{1,9})|([^*`\n]{1,200}?)(?:\|([0-9]{1,9}))?)\*\*")
_GROUP = re.compile(r"@(_?)\*(?!\*)")
_GROUP_END = re.compile(r"\*(?!\*)")
_CHANNEL_END = re.compile(r"(?=\*\*)|>")
_TOPIC_END = re.compile(r"(?=\*\*)")
_TOPIC = re.compile(r"((?:[^*`\n@]|\*(?!\*)|@(?![0-9]{1,15}\*\*))*)(?:@([0-9]{1,15}))?\*\*")
"""Up to the first place where it may end."""
_MESSAGE = re.compile(r"(.*)@([0-9]{1,15})")


def user_at(text: str, start: int, resolver: MentionResolver) -> Reading | None:
    """Return the user or wildcard that `@**` at this place mentions.

    No such name has `*` in it.
    """
    match = _USER.match(text, start)
    if match is None:
        return None
    node = _user(match, resolver)
    return None if node is None else (match.end(), node)


def _user(match: re.Match[str], resolver: MentionResolver) -> Mention | None:
    silent, name, user_id = bool(match[1]), match[3], match[2] or match[4]
    if user_id is not None:
        user = resolver.user_by_id(int(user_id))
        if user is not None and name is not None and fold_name(user.name) != fold_name(name):
            return None
    elif name in CHANNEL_WILDCARDS:
        return ChannelWildcard(name, silent)
    elif name in TOPIC_WILDCARDS:
        return TopicWildcard(name, silent)
    else:
        user = resolver.user_by_name(name or "")
    if user is None:
        return None
    return UserMention(user.user_id, user.name, silent or not user.is_active)


def group_at(text: str, start: int, resolver: MentionResolver) -> Reading | None:
    """Return the group that `@*` at this place mentions."""
    match = _GROUP.match(text, start)
    if match is None:
        return None
    begin = match.end()
    for end in reversed(_ends(_GROUP_END, text, begin)):
        if text[begin:end].strip() != text[begin:end]:
            continue
        group = resolver.group_by_name(text[begin:end])
        if group is not None:
            return end + 1, GroupMention(
                group.group_id, group.name, bool(match[1]) or not group.is_active
            )
    return None


def channel_at(text: str, start: int, resolver: MentionResolver) -> Reading | None:
    """Return the channel, topic or message that `#**` at this place links to."""
    begin = start + len("#**")
    for end in reversed(_ends(_CHANNEL_END, text, begin)):
        name = text[begin:end]
        if text[end] == "*":
            channel = resolver.channel_by_name(name)
            found = None if channel is None else (end + 2, _link(channel))
        else:
            found = _topic_at(text, end + 1, name, resolver)
        if found is not None:
            return found
    return None


def _topic_at(text: str, begin: int, name: str, resolver: MentionResolver) -> Reading | None:
    """Return the topic behind a channel's name at this place, or the message in it."""
    channel = resolver.channel_by_name(name)
    existing = resolver.topics_in(name, _ambiguous(text, begin))
    if channel is None:
        return None
    if existing:
        for end in reversed(_ends(_TOPIC_END, text, begin)):
            topic, message = text[begin:end], _MESSAGE.fullmatch(text, begin, end)
            if topic in existing:
                return end + 2, _link(channel, topic)
            if message is not None and message[1] in existing:
                return end + 2, _link(channel, message[1], message[2])
    simple = _TOPIC.match(text, begin)
    return None if simple is None else (simple.end(), _link(channel, simple[1], simple[2]))


def _ambiguous(text: str, begin: int) -> Iterator[str]:
    """Yield the topics that may be meant at this place, if it matters which of them exist."""
    ends = _ends(_TOPIC_END, text, begin)
    may_be_empty = text.startswith("**", begin)
    is_first = len(ends) == 1 and text.find("**", begin) == ends[0]
    if is_first and not may_be_empty and not {"@", "`"} & {*text[begin : ends[0]]}:
        return
    for end in ends:
        yield text[begin:end]
        message = _MESSAGE.fullmatch(text, begin, end)
        if message is not None:
            yield message[1]


def _link(
    channel: MentionedChannel, topic: str | None = None, message: str | None = None
) -> Inline:
    stripped = None if topic is None else topic.strip()
    number = None if message is None else int(message)
    return ChannelLink(channel.channel_id, channel.name, stripped, number)


def _ends(closing: re.Pattern[str], text: str, begin: int) -> list[int]:
    """Return where a name that begins at this place may end, in the order of the text."""
    if text[begin : begin + 1].isspace():
        return []
    line = text.find("\n", begin, begin + MAX_NAME)
    limit = begin + MAX_NAME if line < 0 else line
    found = islice(closing.finditer(text, begin + 1, limit), MAX_READINGS)
    return [match.start() for match in found if not text[match.start() - 1].isspace()]
