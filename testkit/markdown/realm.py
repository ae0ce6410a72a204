"""The organization that the Markdown tests mention people of."""

from collections.abc import Collection, Iterable

from server.domain.external_content import ProxyLinks
from server.domain.markdown import (
    Linkifier,
    Linkifiers,
    MediaPolicy,
    MentionedChannel,
    MentionedGroup,
    MentionedUser,
    Style,
)
from storage.ids import ChannelId, GroupId, UserId

PEOPLE = (
    MentionedUser(UserId(7), "Ada Byron"),
    MentionedUser(UserId(8), "Sam (Ops)"),
    MentionedUser(UserId(9), "snake_case_x"),
    MentionedUser(UserId(21), "Twin"),
    MentionedUser(UserId(22), "Twin"),
    MentionedUser(UserId(30), "Gone Away", is_active=False),
    MentionedUser(UserId(31), '<b>&"Odd"'),
)
GROUPS = (MentionedGroup(GroupId(3), "support"), MentionedGroup(GroupId(4), "on call"))
CHANNELS = (
    MentionedChannel(ChannelId(5), "general"),
    MentionedChannel(ChannelId(6), "web & design"),
    MentionedChannel(ChannelId(11), "100% .net/"),
)
TOPICS = {"general": ("lunch", "a**b", "at@7")}

EMOJI = {"party_parrot": "/user_avatars/2/emoji/images/7.gif"}
LINKIFIERS = Linkifiers(
    [
        Linkifier(r"#(?P<id>[0-9]{2,})", "https://x.org/issues/{id}"),
        Linkifier(r"(?P<project>[A-Z]+)-(?P<id>[0-9]+)", "https://x.org/{project}{?id}"),
        Linkifier(r"#(?P<id>[0-9]{4,})", "https://never.example/{id}"),
        Linkifier(r"(?P<all>[^ ]+)!!", "javascript:{all}"),
    ]
)
STYLE = Style(
    translate_emoticons=True,
    media=MediaPolicy(is_on=True, hosts=frozenset({"pics.example"}), proxy=ProxyLinks(b"k" * 32)),
)
"""Everything on: what must hold, holds with it as well."""


class Realm:
    """A directory over the lists above; it notes what it is asked."""

    linkifiers = LINKIFIERS

    def __init__(self) -> None:
        self.questions: list[str | int] = []

    def user_by_name(self, name: str) -> MentionedUser | None:
        self.questions.append(name)
        named = [user for user in PEOPLE if user.name.casefold() == name.casefold()]
        return named[0] if len(named) == 1 else None

    def user_by_id(self, user_id: int) -> MentionedUser | None:
        self.questions.append(user_id)
        return next((user for user in PEOPLE if user.user_id == user_id), None)

    def group_by_name(self, name: str) -> MentionedGroup | None:
        self.questions.append(name)
        return next((group for group in GROUPS if group.name == name), None)

    def channel_by_name(self, name: str) -> MentionedChannel | None:
        self.questions.append(name)
        return next((channel for channel in CHANNELS if channel.name == name), None)

    def topics_in(self, channel: str, topics: Iterable[str]) -> Collection[str]:
        return [topic for topic in topics if topic in TOPICS.get(channel, ())]

    def emoji_image(self, name: str) -> str | None:
        return EMOJI.get(name)
