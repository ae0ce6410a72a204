"""Permission settings: allowed values and defaults."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from server.domain.access import (
    ADMINISTRATORS_GROUP,
    EVERYONE_GROUP,
    MEMBERS_GROUP,
    MODERATORS_GROUP,
    NOBODY_GROUP,
    OWNERS_GROUP,
)

CHANNEL_CREATOR: Final = "channel_creator"
"""Default of a channel's setting: its creator; `nobody` if a system bot created it."""
GROUP_CREATOR: Final = "group_creator"
"""Default of a group's setting: its creator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRule:
    """Allowed values of a permission. `default` is a role group or a creator."""

    default: str
    allow_everyone: bool = False
    allow_nobody: bool = True
    only: tuple[str, ...] = ()
    """Allowed role groups; empty: any."""
    system_group_required: bool = False
    default_for_system_groups: str | None = None

    def wire(self) -> dict[str, Any]:
        """Return its description in register."""
        described: dict[str, Any] = {
            "require_system_group": self.system_group_required,
            "allow_internet_group": False,
            "allow_nobody_group": self.allow_nobody,
            "allow_everyone_group": self.allow_everyone,
            "default_group_name": self.default,
            "allowed_system_groups": list(self.only),
        }
        if self.default_for_system_groups is not None:
            described["default_for_system_groups"] = self.default_for_system_groups
        return described


def _rule(default: str) -> PermissionRule:
    return PermissionRule(default=default)


def _open_rule(default: str) -> PermissionRule:
    return PermissionRule(default=default, allow_everyone=True)


REALM_PERMISSIONS: Final[Mapping[str, PermissionRule]] = {
    "can_access_all_users_group": PermissionRule(
        default=EVERYONE_GROUP,
        allow_everyone=True,
        allow_nobody=False,
        only=(EVERYONE_GROUP, MEMBERS_GROUP),
        system_group_required=True,
    ),
    "can_add_custom_emoji_group": _rule(MEMBERS_GROUP),
    "can_add_subscribers_group": _rule(MEMBERS_GROUP),
    "can_create_bots_group": _rule(MEMBERS_GROUP),
    "can_create_groups": _rule(MEMBERS_GROUP),
    "can_create_private_channel_group": _rule(MEMBERS_GROUP),
    "can_create_public_channel_group": _rule(MEMBERS_GROUP),
    "can_create_web_public_channel_group": PermissionRule(
        default=OWNERS_GROUP,
        only=(MODERATORS_GROUP, ADMINISTRATORS_GROUP, OWNERS_GROUP, NOBODY_GROUP),
        system_group_required=True,
    ),
    "can_create_write_only_bots_group": _rule(MEMBERS_GROUP),
    "can_delete_any_message_group": _rule(ADMINISTRATORS_GROUP),
    "can_delete_own_message_group": _open_rule(EVERYONE_GROUP),
    "can_invite_users_group": _rule(MEMBERS_GROUP),
    "can_manage_all_groups": PermissionRule(default=OWNERS_GROUP, allow_nobody=False),
    "can_manage_billing_group": PermissionRule(default=ADMINISTRATORS_GROUP, allow_nobody=False),
    "can_mention_many_users_group": _open_rule(ADMINISTRATORS_GROUP),
    "can_move_messages_between_channels_group": _rule(MEMBERS_GROUP),
    "can_move_messages_between_topics_group": _open_rule(EVERYONE_GROUP),
    "can_pin_group": _rule(MODERATORS_GROUP),
    "can_resolve_topics_group": _open_rule(EVERYONE_GROUP),
    "can_set_delete_message_policy_group": _rule(MODERATORS_GROUP),
    "can_set_topics_policy_group": _open_rule(MEMBERS_GROUP),
    "can_summarize_topics_group": _open_rule(EVERYONE_GROUP),
    "create_multiuse_invite_group": _rule(ADMINISTRATORS_GROUP),
    "direct_message_initiator_group": _open_rule(EVERYONE_GROUP),
    "direct_message_permission_group": _open_rule(EVERYONE_GROUP),
    "workplace_users_group": PermissionRule(
        default=EVERYONE_GROUP, allow_everyone=True, allow_nobody=False
    ),
}

CHANNEL_PERMISSIONS: Final[Mapping[str, PermissionRule]] = {
    "can_add_subscribers_group": _rule(NOBODY_GROUP),
    "can_administer_channel_group": _rule(CHANNEL_CREATOR),
    "can_create_topic_group": _open_rule(EVERYONE_GROUP),
    "can_delete_any_message_group": _open_rule(NOBODY_GROUP),
    "can_delete_own_message_group": _open_rule(NOBODY_GROUP),
    "can_move_messages_out_of_channel_group": _open_rule(NOBODY_GROUP),
    "can_move_messages_within_channel_group": _open_rule(NOBODY_GROUP),
    "can_pin_group": _rule(NOBODY_GROUP),
    "can_remove_subscribers_group": _open_rule(ADMINISTRATORS_GROUP),
    "can_resolve_topics_group": _open_rule(NOBODY_GROUP),
    "can_send_message_group": _open_rule(EVERYONE_GROUP),
    "can_subscribe_group": _rule(NOBODY_GROUP),
}

OWN_PERMISSIONS: Final = frozenset({"can_pin_group"})
"""Permissions of realms and channels that only clients with the capability `pins` get."""


def _group_rule(default: str, *, allow_everyone: bool) -> PermissionRule:
    return PermissionRule(
        default=default, allow_everyone=allow_everyone, default_for_system_groups=NOBODY_GROUP
    )


GROUP_PERMISSIONS: Final[Mapping[str, PermissionRule]] = {
    "can_add_members_group": _group_rule(GROUP_CREATOR, allow_everyone=False),
    "can_join_group": _group_rule(NOBODY_GROUP, allow_everyone=False),
    "can_leave_group": _group_rule(EVERYONE_GROUP, allow_everyone=True),
    "can_manage_group": _group_rule(GROUP_CREATOR, allow_everyone=False),
    "can_mention_group": _group_rule(EVERYONE_GROUP, allow_everyone=True),
    "can_remove_members_group": _group_rule(NOBODY_GROUP, allow_everyone=False),
}


def supported_permission_settings(*, pins: bool) -> dict[str, dict[str, Any]]:
    """Return all of them by owner kind, as register describes them.

    `pins`: for a client with this capability.
    """
    of_owners = {
        "realm": REALM_PERMISSIONS,
        "stream": CHANNEL_PERMISSIONS,
        "group": GROUP_PERMISSIONS,
    }
    return {
        owner: {
            name: rule.wire() for name, rule in rules.items() if pins or name not in OWN_PERMISSIONS
        }
        for owner, rules in of_owners.items()
    }
