"""Parameters of new channels."""

from typing import Annotated, Literal

from server.api.group_values import GroupValue, group_setting
from server.api.params import Params
from server.domain.access import GroupSetting
from server.domain.channel_creation import ChannelTerms
from server.domain.permission_settings import CHANNEL_PERMISSIONS

TopicsPolicy = Annotated[
    Literal["inherit", "allow_empty_topic", "disable_empty_topic", "empty_topic_only"],
    "json-or-bare",
]


GroupParam = GroupValue | None
"""Value of a permission: a group, or users and groups. None: the default."""


class TermsParams(Params):
    """Parameters that apply only to channels created by the request."""

    invite_only: bool = False
    """Whether the channel is private: only its subscribers see it and read it."""
    is_web_public: bool = False
    """Whether visitors may read the channel without an account."""
    is_default_stream: bool = False
    """Whether new users are subscribed to it."""
    history_public_to_subscribers: bool | None = None
    """Whether new subscribers see messages sent before they joined. Default: true for public
    channels, false for private ones."""
    message_retention_days: int | str | None = None
    """Days after which its messages are deleted: a number, `realm_default`, or `unlimited`. Only
    owners may set it."""
    topics_policy: TopicsPolicy = "inherit"
    """Whether its messages may or must go without a topic; `inherit` follows the organization."""
    folder_id: int | None = None
    """Id of the folder that the channel is in."""
    default_push_notifications: bool = False
    """Whether first-time subscribers get push notifications of all its messages, whatever their own
    default is. Only administrators may set it."""
    can_add_subscribers_group: GroupParam = None
    """Who may subscribe others to the channel. A group by id, or an object with `direct_members`
    and `direct_subgroups`. Default if left out."""
    can_administer_channel_group: GroupParam = None
    """Who may change the channel's settings. A group by id, or an object with `direct_members` and
    `direct_subgroups`. Default if left out."""
    can_create_topic_group: GroupParam = None
    """Who may begin new topics. A group by id, or an object with `direct_members` and
    `direct_subgroups`. Default if left out."""
    can_delete_any_message_group: GroupParam = None
    """Who may delete messages of others in the channel. A group by id, or an object with
    `direct_members` and `direct_subgroups`. Default if left out."""
    can_delete_own_message_group: GroupParam = None
    """Who may delete their own messages in the channel. A group by id, or an object with
    `direct_members` and `direct_subgroups`. Default if left out."""
    can_move_messages_out_of_channel_group: GroupParam = None
    """Who may move messages to another channel. A group by id, or an object with `direct_members`
    and `direct_subgroups`. Default if left out."""
    can_move_messages_within_channel_group: GroupParam = None
    """Who may move messages between its topics. A group by id, or an object with `direct_members`
    and `direct_subgroups`. Default if left out."""
    can_pin_group: GroupParam = None
    """Who may pin its topics and messages, beside those that the organization permits it. A group
    by id, or an object with `direct_members` and `direct_subgroups`. Default if left out."""
    can_remove_subscribers_group: GroupParam = None
    """Who may unsubscribe others from the channel. A group by id, or an object with
    `direct_members` and `direct_subgroups`. Default if left out."""
    can_resolve_topics_group: GroupParam = None
    """Who may mark its topics as resolved. A group by id, or an object with `direct_members` and
    `direct_subgroups`. Default if left out."""
    can_send_message_group: GroupParam = None
    """Who may send messages to the channel. A group by id, or an object with `direct_members` and
    `direct_subgroups`. Default if left out."""
    can_subscribe_group: GroupParam = None
    """Who may subscribe by themselves, even if the channel is private. A group by id, or an object
    with `direct_members` and `direct_subgroups`. Default if left out."""

    def terms(self) -> ChannelTerms:
        """Return the parameters as the rules for new channels take them."""
        return ChannelTerms(
            invite_only=self.invite_only,
            is_web_public=self.is_web_public,
            is_default=self.is_default_stream,
            history_public_to_subscribers=self.history_public_to_subscribers,
            message_retention_days=self.message_retention_days,
            topics_policy=self.topics_policy,
            folder_id=self.folder_id,
            default_push_notifications=self.default_push_notifications,
            permissions=self._permissions(),
        )

    def _permissions(self) -> dict[str, GroupSetting]:
        given = {name: getattr(self, name) for name in CHANNEL_PERMISSIONS}
        return {name: group_setting(v) for name, v in given.items() if v is not None}
