"""Legacy numbers of permissions, from before there were groups."""

from collections.abc import Mapping
from typing import Final

from server.domain.access import (
    ADMINISTRATORS_GROUP,
    EVERYONE_GROUP,
    FULL_MEMBERS_GROUP,
    MEMBERS_GROUP,
    MODERATORS_GROUP,
    NOBODY_GROUP,
    OWNERS_GROUP,
    GroupGraph,
    GroupSetting,
)
from server.domain.errors import InvalidParameterError
from server.i18n import _

CREATE_CHANNELS: Final[Mapping[str, int]] = {
    MEMBERS_GROUP: 1,
    ADMINISTRATORS_GROUP: 2,
    FULL_MEMBERS_GROUP: 3,
    MODERATORS_GROUP: 4,
}
CREATE_WEB_PUBLIC_CHANNELS: Final[Mapping[str, int]] = {
    ADMINISTRATORS_GROUP: 2,
    MODERATORS_GROUP: 4,
    NOBODY_GROUP: 6,
    OWNERS_GROUP: 7,
}
MENTION_MANY: Final[Mapping[str, int]] = {
    EVERYONE_GROUP: 1,
    MEMBERS_GROUP: 2,
    FULL_MEMBERS_GROUP: 3,
    ADMINISTRATORS_GROUP: 5,
    NOBODY_GROUP: 6,
    MODERATORS_GROUP: 7,
}


def legacy_policy(policies: Mapping[str, int], setting: GroupSetting, graph: GroupGraph) -> int:
    """Return the number for this setting.

    A setting without a number is reported as administrators only.
    """
    name = None if setting.group_id is None else graph.system_names.get(setting.group_id)
    return policies.get(name or "", policies[ADMINISTRATORS_GROUP])


POLICIES: Final[Mapping[str, int]] = {
    MEMBERS_GROUP: 1,
    ADMINISTRATORS_GROUP: 2,
    FULL_MEMBERS_GROUP: 3,
    MODERATORS_GROUP: 4,
    EVERYONE_GROUP: 5,
    NOBODY_GROUP: 6,
    OWNERS_GROUP: 7,
}
_BOT_CREATION: Final[Mapping[str, int]] = {MEMBERS_GROUP: 1, ADMINISTRATORS_GROUP: 3}
_DIRECT_MESSAGES: Final[Mapping[str, int]] = {EVERYONE_GROUP: 1, NOBODY_GROUP: 2}

OLD_PARAMETERS: Final[Mapping[str, tuple[str, Mapping[str, int]]]] = {
    "add_custom_emoji_policy": ("can_add_custom_emoji_group", POLICIES),
    "bot_creation_policy": ("can_create_bots_group", _BOT_CREATION),
    "create_private_stream_policy": ("can_create_private_channel_group", CREATE_CHANNELS),
    "create_public_stream_policy": ("can_create_public_channel_group", CREATE_CHANNELS),
    "create_web_public_stream_policy": (
        "can_create_web_public_channel_group",
        CREATE_WEB_PUBLIC_CHANNELS,
    ),
    "delete_own_message_policy": ("can_delete_own_message_group", POLICIES),
    "edit_topic_policy": ("can_move_messages_between_topics_group", POLICIES),
    "invite_to_realm_policy": ("can_invite_users_group", POLICIES),
    "invite_to_stream_policy": ("can_add_subscribers_group", POLICIES),
    "move_messages_between_streams_policy": (
        "can_move_messages_between_channels_group",
        POLICIES,
    ),
    "private_message_policy": ("direct_message_permission_group", _DIRECT_MESSAGES),
    "user_group_edit_policy": ("can_manage_all_groups", POLICIES),
    "wildcard_mention_policy": ("can_mention_many_users_group", MENTION_MANY),
}
"""Legacy parameters with a number in place of a permission."""

SHOWN_POLICIES: Final = (
    "create_private_stream_policy",
    "create_public_stream_policy",
    "create_web_public_stream_policy",
    "wildcard_mention_policy",
)
"""Those of them that register still returns."""


def group_of_policy(parameter: str, number: int) -> str:
    """Return the role group of the number.

    Raises InvalidParameterError if there is none.
    """
    for name, known in OLD_PARAMETERS[parameter][1].items():
        if known == number:
            return name
    raise InvalidParameterError(parameter, _("Invalid {parameter}", parameter=parameter))


def shown_policy(parameter: str, setting: GroupSetting, graph: GroupGraph) -> int:
    """Return the legacy number of the setting."""
    return legacy_policy(OLD_PARAMETERS[parameter][1], setting, graph)
