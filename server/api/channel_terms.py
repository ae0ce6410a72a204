"""The parameters that say what a new channel is to be like."""

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
"""Who gets a permission: a group, or people and groups named here. None: the default."""


class TermsParams(Params):
    """What counts only for channels that the request makes."""

    invite_only: bool = False
    is_web_public: bool = False
    is_default_stream: bool = False
    history_public_to_subscribers: bool | None = None
    message_retention_days: int | str | None = None
    topics_policy: TopicsPolicy = "inherit"
    folder_id: int | None = None
    can_add_subscribers_group: GroupParam = None
    can_administer_channel_group: GroupParam = None
    can_delete_any_message_group: GroupParam = None
    can_delete_own_message_group: GroupParam = None
    can_move_messages_out_of_channel_group: GroupParam = None
    can_move_messages_within_channel_group: GroupParam = None
    can_remove_subscribers_group: GroupParam = None
    can_resolve_topics_group: GroupParam = None
    can_send_message_group: GroupParam = None
    can_subscribe_group: GroupParam = None

    def terms(self) -> ChannelTerms:
        """The same, as the rules for new channels take it."""
        return ChannelTerms(
            invite_only=self.invite_only,
            is_web_public=self.is_web_public,
            is_default=self.is_default_stream,
            history_public_to_subscribers=self.history_public_to_subscribers,
            message_retention_days=self.message_retention_days,
            topics_policy=self.topics_policy,
            folder_id=self.folder_id,
            permissions=self._permissions(),
        )

    def _permissions(self) -> dict[str, GroupSetting]:
        given = {name: getattr(self, name) for name in CHANNEL_PERMISSIONS}
        return {name: group_setting(v) for name, v in given.items() if v is not None}
