"""What the renderer may ask about the organization."""

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

from server.domain.markdown.linkifiers import NO_LINKIFIERS, Linkifiers
from storage.ids import ChannelId, GroupId, UserId


class MentionedUser(NamedTuple):
    """Somebody whom a message names; a deactivated user is mentioned silently."""

    user_id: UserId
    name: str
    is_active: bool = True


class MentionedGroup(NamedTuple):
    """A group that a message names, by the name that is shown.

    A deactivated group is mentioned silently.
    """

    group_id: GroupId
    name: str
    is_active: bool = True


class MentionedChannel(NamedTuple):
    channel_id: ChannelId
    name: str


class MentionResolver(Protocol):
    """Answers from memory, at once: a rendering may ask hundreds of times.

    None means that the text stays text: no user has that name, several have it, or the sender
    may not know of it. The names that come back are the ones shown, in their own spelling.
    """

    def user_by_name(self, name: str) -> MentionedUser | None:
        """Return the only user with this full name; None if there are several."""

    def user_by_id(self, user_id: int) -> MentionedUser | None:
        """Return the user with this id."""

    def group_by_name(self, name: str) -> MentionedGroup | None:
        """Return the group with this name."""

    def channel_by_name(self, name: str) -> MentionedChannel | None:
        """Return the channel with this name, if the sender may know that it exists."""

    def topics_in(self, channel: str, topics: Iterable[str]) -> Collection[str]:
        """Those of the topics that exist in the channel of this name, if the sender may read it.

        Asked only where a text can be read in more than one way.
        """
        ...

    def emoji_image(self, name: str) -> str | None:
        """The address of the picture of the organization's emoji of this name, if it is active."""

    @property
    def linkifiers(self) -> Linkifiers:
        """The organization's."""
        ...


class EmptyResolver:
    """The directory for text in which nothing can be mentioned."""

    def user_by_name(self, name: str) -> None:
        del name

    def user_by_id(self, user_id: int) -> None:
        del user_id

    def group_by_name(self, name: str) -> None:
        del name

    def channel_by_name(self, name: str) -> None:
        del name

    def topics_in(self, channel: str, topics: Iterable[str]) -> Collection[str]:
        del channel, topics
        return ()

    def emoji_image(self, name: str) -> None:
        del name

    @property
    def linkifiers(self) -> Linkifiers:
        return NO_LINKIFIERS
