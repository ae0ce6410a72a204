"""Whom and what a message may name, so that it can be looked up before rendering."""

from dataclasses import dataclass, field

from server.domain.markdown.linkifiers import NO_LINKIFIERS, Linkifiers
from server.domain.markdown.source import normalize
from server.domain.markdown.tokens import Scanner


@dataclass(slots=True)
class Names:
    """What a rendering may ask a directory for: each once, in the order of the text.

    They are at most `tokens.MAX_TOKENS` together. Some may turn out to be in code.
    """

    users: dict[str, None] = field(default_factory=dict)
    user_ids: dict[int, None] = field(default_factory=dict)
    groups: dict[str, None] = field(default_factory=dict)
    channels: dict[str, None] = field(default_factory=dict)
    linkifiers: Linkifiers = NO_LINKIFIERS

    def user_by_name(self, name: str) -> None:
        self.users[name] = None

    def user_by_id(self, user_id: int) -> None:
        self.user_ids[user_id] = None

    def group_by_name(self, name: str) -> None:
        self.groups[name] = None

    def channel_by_name(self, name: str) -> None:
        self.channels[name] = None

    def emoji_image(self, name: str) -> None:
        """Emoji need not be looked up: there are few."""


def names_in(content: str, linkifiers: Linkifiers = NO_LINKIFIERS) -> Names:
    """The names in a message, without looking for its structure."""
    names = Names(linkifiers=linkifiers)
    if "@" in content or "#**" in content:
        source = normalize(content)
        Scanner(names, source).extract(source)
    return names
