"""What texts of an import refer to: accounts and channels, from memory."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from typing_extensions import override

from server.domain.emoji import NO_REALM_EMOJI, RealmEmoji
from server.domain.markdown import (
    NO_LINKIFIERS,
    Linkifiers,
    MentionedChannel,
    MentionedGroup,
    MentionedUser,
    MentionResolver,
)
from server.domain.markdown.links import narrow_href
from server.domain.names import FoldedName, fold_name
from storage.groups import GroupRow
from storage.ids import ChannelId, GroupId, UserId


class ImportedNames(MentionResolver):
    """Resolves keys of a file to Markdown, and that Markdown to accounts and channels."""

    def __init__(
        self,
        people: Mapping[str, MentionedUser],
        channels: Mapping[str, MentionedChannel],
        emoji: RealmEmoji = NO_REALM_EMOJI,
        origin: str = "",
        groups: Sequence[GroupRow] = (),
        linkifiers: Linkifiers = NO_LINKIFIERS,
    ) -> None:
        self._origin = origin
        """URL of the realm, without a trailing slash."""
        self._linkifiers = linkifiers
        self.emoji = emoji
        self.people = people
        self.channels = channels
        self.channel_names: Mapping[ChannelId, str] = {
            each.channel_id: each.name for each in channels.values()
        }
        self._groups = {
            fold_name(row.name): MentionedGroup(row.group_id, row.name, not row.deactivated)
            for row in groups
            if not row.is_system_group
        }
        self._group_rows: Mapping[GroupId, GroupRow] = {row.group_id: row for row in groups}
        self._by_id: dict[int, MentionedUser] = {each.user_id: each for each in people.values()}
        self._by_name: dict[FoldedName, MentionedChannel] = {
            fold_name(each.name): each for each in channels.values()
        }

    def person(self, key: str) -> str | None:
        """Return a mention of the person with this key."""
        found = self.people.get(key)
        return None if found is None else f"@**{found.name}|{found.user_id}**"

    def channel(self, key: str) -> str | None:
        """Return a link to the channel with this key."""
        found = self.channels.get(key)
        return None if found is None else f"#**{found.name}**"

    def channel_url(self, key: str) -> str | None:
        """Return the URL of the channel with this key."""
        found = self.channels.get(key)
        return None if found is None else self._origin + narrow_href(found.channel_id, found.name)

    def members_of(self, group_ids: Iterable[GroupId]) -> set[UserId]:
        """Return the members of groups and of those nested in them, except by role."""
        found, left = set(group_ids), list(group_ids)
        while left:
            new = set(self._group_rows[left.pop()].subgroup_ids) - found
            found |= new
            left += new
        return {user_id for each in found for user_id in self._group_rows[each].member_ids}

    @override
    def user_by_name(self, name: str) -> MentionedUser | None:
        return None

    @override
    def user_by_id(self, user_id: int) -> MentionedUser | None:
        return self._by_id.get(user_id)

    @override
    def group_by_name(self, name: str) -> MentionedGroup | None:
        return self._groups.get(fold_name(name))

    @override
    def channel_by_name(self, name: str) -> MentionedChannel | None:
        return self._by_name.get(fold_name(name))

    @override
    def topics_in(self, channel: str, topics: Iterable[str]) -> Collection[str]:
        return ()

    @override
    def emoji_image(self, name: str) -> str | None:
        return self.emoji.pictures.get(name)

    @property
    @override
    def linkifiers(self) -> Linkifiers:
        return self._linkifiers
