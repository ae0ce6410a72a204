"""Names in a message, to be looked up before rendering."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from server.domain.markdown.linkifiers import NO_LINKIFIERS, Linkifiers
from server.domain.markdown.source import normalize
from server.domain.markdown.tokens import Scanner

_UNUSUAL_GROUP = re.compile(r"[*`]")
_UNUSUAL_CHANNEL = re.compile(r"\*\*|[>`]")


@dataclass(slots=True)
class Names:
    """Collects the look-ups of a rendering: each once, in the order of the text.

    At most `tokens.MAX_TOKENS` together, beside the unusual ones. Some may be in code.
    """

    users: dict[str, None] = field(default_factory=dict)
    user_ids: dict[int, None] = field(default_factory=dict)
    groups: dict[str, None] = field(default_factory=dict)
    channels: dict[str, None] = field(default_factory=dict)
    unusual_groups: dict[str, None] = field(default_factory=dict)
    unusual_channels: dict[str, None] = field(default_factory=dict)
    """Names that contain a terminator: hardly any exists, but the text could mean them."""
    topics: dict[str, dict[str, None]] = field(default_factory=dict)
    """Topics by channel name, if their existence decides how the text is parsed."""
    linkifiers: Linkifiers = NO_LINKIFIERS

    def user_by_name(self, name: str) -> None:
        self.users[name] = None

    def user_by_id(self, user_id: int) -> None:
        self.user_ids[user_id] = None

    def group_by_name(self, name: str) -> None:
        names = self.unusual_groups if _UNUSUAL_GROUP.search(name) else self.groups
        names[name] = None

    def channel_by_name(self, name: str) -> None:
        names = self.unusual_channels if _UNUSUAL_CHANNEL.search(name) else self.channels
        names[name] = None

    def topics_in(self, channel: str, topics: Iterable[str]) -> Collection[str]:
        self.topics.setdefault(channel, {}).update(dict.fromkeys(topics))
        return ()

    def emoji_image(self, name: str) -> None:
        """Emoji need no look-up: all of a realm's are in memory."""


def names_in(content: str, linkifiers: Linkifiers = NO_LINKIFIERS) -> Names:
    """Return the names in a message, without parsing its structure."""
    names = Names(linkifiers=linkifiers)
    if "@" in content or "#**" in content:
        source = normalize(content)
        Scanner(names, source).extract(source)
    return names
