"""Interface for the renderer's look-ups in the realm."""

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

from server.domain.markdown.linkifiers import NO_LINKIFIERS, Linkifiers
from storage.ids import ChannelId, GroupId, UserId


class MentionedUser(NamedTuple):
    """A user that a message names; a deactivated one is mentioned silently."""

    user_id: UserId
    name: str
    is_active: bool = True


class MentionedGroup(NamedTuple):
    """A group that a message names, by its display name.

    A deactivated group is mentioned silently.
    """

    group_id: GroupId
    name: str
    is_active: bool = True


class MentionedChannel(NamedTuple):
    channel_id: ChannelId
    name: str


class MentionResolver(Protocol):
    """Resolves names from memory, without waiting: a rendering may look up hundreds.

    None means that the text stays text: there is no such name, or several, or the sender has no
    access. The returned names have their own spelling.
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
        """Return those of the topics that exist in the named channel, if the sender may read it.

        Called only if a text can be parsed in more than one way.
        """
        ...

    def emoji_image(self, name: str) -> str | None:
        """Return the image URL of the realm's active emoji with this name."""

    @property
    def linkifiers(self) -> Linkifiers:
        """Return the realm's linkifiers."""
        ...


class EmptyResolver:
    """Resolver for text without mentions."""

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
