"""Channel permissions: metadata and content access, posting, joining, administration; and names."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from server.domain.access import (
    ADMINISTRATORS_GROUP,
    EVERYONE_GROUP,
    FULL_MEMBERS_GROUP,
    MODERATORS_GROUP,
    GroupGraph,
    GroupSetting,
    Person,
)
from server.domain.errors import BadRequestError
from server.domain.names import composed, unprintable_at
from server.domain.permission_settings import CHANNEL_PERMISSIONS, REALM_PERMISSIONS
from server.domain.realm_settings import RealmSettings
from server.i18n import _
from storage.channels import ChannelRow

MAX_NAME_LENGTH: Final = 60
MAX_DESCRIPTION_LENGTH: Final = 1024

TOPICS_POLICIES: Final = (
    "inherit",
    "allow_empty_topic",
    "disable_empty_topic",
    "empty_topic_only",
)

TRAFFIC_WEEKS: Final = 4
MIN_AGE_FOR_TRAFFIC: Final = timedelta(days=7)

GRANTS_CONTENT: Final = ("can_subscribe_group", "can_add_subscribers_group")
"""Permissions that include content access to a private channel, and so joining it."""
GRANTS_METADATA: Final = (*GRANTS_CONTENT, "can_administer_channel_group")
"""Permissions that include metadata access to a private channel: name, settings, subscribers."""

ADMINISTRATORS_POST: Final = 2
"""Post policy of a channel in which only administrators post."""
_POST_POLICIES: Final = {
    EVERYONE_GROUP: 1,
    ADMINISTRATORS_GROUP: ADMINISTRATORS_POST,
    FULL_MEMBERS_GROUP: 3,
    MODERATORS_GROUP: 4,
}

COLORS: Final = (
    "#76ce90",
    "#fae589",
    "#a6c7e5",
    "#e79ab5",
    "#bfd56f",
    "#f4ae55",
    "#b0a5fd",
    "#addfe5",
    "#f5ce6e",
    "#c2726a",
    "#94c849",
    "#bd86e5",
    "#ee7e4a",
    "#a6dcbf",
    "#95a5fd",
    "#53a063",
    "#9987e1",
    "#e4523d",
    "#c2c2c2",
    "#4f8de4",
    "#c6a8ad",
    "#e7cc4d",
    "#c8bebf",
    "#a47462",
)


def clean_name(name: str) -> str:
    """Return the normalized name: composed and trimmed.

    Raises BadRequestError if it is invalid.
    """
    cleaned = composed(name)
    if not cleaned:
        raise BadRequestError(_("Channel name can't be empty."))
    if len(cleaned) > MAX_NAME_LENGTH:
        raise BadRequestError(
            _("Channel name too long (limit: {limit} characters).", limit=MAX_NAME_LENGTH)
        )
    if place := unprintable_at(cleaned):
        raise BadRequestError(
            _("Invalid character in channel name, at position {place}.", place=place)
        )
    return cleaned


def one_paragraph(text: str) -> str:
    """Return the text on one line, trimmed."""
    return " ".join(text.replace("\x00", "").splitlines()).strip()


def clean_description(description: str) -> str:
    """Return the description as one trimmed paragraph; raise BadRequestError if it is too long."""
    cleaned = one_paragraph(description)
    if len(cleaned) > MAX_DESCRIPTION_LENGTH:
        raise BadRequestError(
            _("description is too long (limit: {limit} characters)", limit=MAX_DESCRIPTION_LENGTH)
        )
    return cleaned


def first_free_color(start: int, used: Collection[str]) -> str:
    """Return a color that a user does not use yet for a channel, if one is left.

    The search starts at a color of the channel, so most users get the same one.
    """
    turned = [COLORS[(start + step) % len(COLORS)] for step in range(len(COLORS))]
    return next((color for color in turned if color not in used), turned[0])


CHANNEL_EVENTS_TOPIC: Final = "channel events"
"""Topic of the notification bot's messages about changes to a channel."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A person in their realm: input of decisions about channels."""

    person: Person
    graph: GroupGraph
    settings: RealmSettings

    def realm_permits(self, name: str) -> bool:
        """Return whether the realm gives them this permission."""
        if self.person.is_guest and not REALM_PERMISSIONS[name].allow_everyone:
            return False
        return self.graph.contains(self.settings.permission(name, self.graph), self.person)

    def channel_permits(self, channel: ChannelRow, name: str) -> bool:
        """Return whether the channel's own setting of this name admits them."""
        if self.person.is_guest and not CHANNEL_PERMISSIONS[name].allow_everyone:
            return False
        return self.graph.contains(setting_of(channel, name, self.graph), self.person)

    def sees(self, channel: ChannelRow, *, subscribed: bool) -> bool:
        """Return whether they have metadata access: name, settings and subscribers."""
        if self.reads(channel, subscribed=subscribed):
            return True
        if self.person.is_guest:
            return False
        return self.person.is_administrator or any(
            self.channel_permits(channel, name) for name in GRANTS_METADATA
        )

    def reads(self, channel: ChannelRow, *, subscribed: bool) -> bool:
        """Return whether they have content access. Content access includes joining."""
        if subscribed or channel.is_web_public:
            return True
        if self.person.is_guest:
            return False
        return not channel.invite_only or any(
            self.channel_permits(channel, name) for name in GRANTS_CONTENT
        )

    def reads_history(self, channel: ChannelRow, *, subscribed: bool) -> bool:
        """Return whether they may read messages sent while they were not subscribed."""
        shared = not channel.invite_only or channel.history_public_to_subscribers
        return shared and self.reads(channel, subscribed=subscribed)

    def posts(self, channel: ChannelRow, *, subscribed: bool) -> bool:
        """Return whether they may send to the channel, apart from its topics policy."""
        if channel.is_archived or not self.channel_permits(channel, "can_send_message_group"):
            return False
        return subscribed or self.reads_history(channel, subscribed=False)

    def administers(self, channel: ChannelRow) -> bool:
        """Return whether they may administer the channel, given metadata access."""
        return self.person.is_administrator or self.channel_permits(
            channel, "can_administer_channel_group"
        )

    def adds_others(self, channel: ChannelRow, *, subscribed: bool) -> bool:
        """Return whether they may subscribe other users."""
        if self.person.is_guest or not self.reads(channel, subscribed=subscribed):
            return False
        return (
            self.administers(channel)
            or self.realm_permits("can_add_subscribers_group")
            or self.channel_permits(channel, "can_add_subscribers_group")
        )

    def removes_others(self, channel: ChannelRow, *, subscribed: bool) -> bool:
        """Return whether they may unsubscribe other users."""
        if self.administers(channel):
            return True
        return self.sees(channel, subscribed=subscribed) and self.channel_permits(
            channel, "can_remove_subscribers_group"
        )


CREATES_TOPICS: Final = "can_create_topic_group"


def check_topic_creators(setting: GroupSetting, graph: GroupGraph) -> None:
    """Raise BadRequestError unless everyone may begin topics in a channel with protected history.

    Refusals would reveal there which topics exist.
    """
    if setting != GroupSetting(group_id=graph.ids_by_name[EVERYONE_GROUP]):
        raise BadRequestError(
            _("Everyone may begin topics in a private channel with protected history.")
        )


def setting_of(channel: ChannelRow, name: str, graph: GroupGraph) -> GroupSetting:
    """Return the channel's setting, or the default if the channel predates the setting."""
    value = channel.permissions.get(name)
    if value is not None:
        return graph.as_it_stands(GroupSetting.parse(value))
    default = CHANNEL_PERMISSIONS[name].default
    if default in graph.ids_by_name:
        return GroupSetting(group_id=graph.ids_by_name[default])
    creator = () if channel.creator_id is None else (channel.creator_id,)
    return graph.as_it_stands(GroupSetting(direct_members=creator))


def post_policy(channel: ChannelRow, graph: GroupGraph) -> int:
    """Return the legacy number of the post policy; 1 if it has none."""
    setting = setting_of(channel, "can_send_message_group", graph)
    if setting.group_id is None:
        return 1
    return _POST_POLICIES.get(graph.system_names.get(setting.group_id, ""), 1)


def weekly_traffic(messages: int, *, created_at: datetime, now: datetime) -> int | None:
    """Return the weekly messages over the last TRAFFIC_WEEKS; None if it is too young."""
    age = now - created_at
    if age < MIN_AGE_FOR_TRAFFIC:
        return None
    return round(messages / min(age / timedelta(weeks=1), TRAFFIC_WEEKS))


def allows_empty_topic(channel: ChannelRow, settings: RealmSettings) -> bool:
    policy = channel.topics_policy
    if policy == "inherit":
        policy = settings.topics_policy
    return policy in {"allow_empty_topic", "empty_topic_only"}


def allows_named_topics(channel: ChannelRow) -> bool:
    return channel.topics_policy != "empty_topic_only"
