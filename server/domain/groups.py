"""The rules of user groups: what the role groups are, and who may do what with a group."""

from collections.abc import Mapping
from typing import Final

from server.domain.access import (
    ADMINISTRATORS_GROUP,
    EVERYONE_GROUP,
    FULL_MEMBERS_GROUP,
    INTERNET_GROUP,
    MEMBERS_GROUP,
    MODERATORS_GROUP,
    NOBODY_GROUP,
    OWNERS_GROUP,
    GroupSetting,
)
from server.domain.permission_settings import GROUP_CREATOR, GROUP_PERMISSIONS
from storage.groups import GroupRow
from storage.ids import GroupId

DESCRIPTIONS: Final[Mapping[str, str]] = {
    NOBODY_GROUP: "Nobody",
    OWNERS_GROUP: "Owners of this organization",
    ADMINISTRATORS_GROUP: "Administrators of this organization, including owners",
    MODERATORS_GROUP: "Moderators of this organization, including administrators",
    FULL_MEMBERS_GROUP: ("Members of this organization, not including new accounts and guests"),
    MEMBERS_GROUP: "Members of this organization, not including guests",
    EVERYONE_GROUP: "Everyone in this organization, including guests",
    INTERNET_GROUP: "Everyone on the Internet",
}
"""What each role group is, in the order in which a realm gets them."""


def group_permission(group: GroupRow, name: str, system_ids: Mapping[str, GroupId]) -> GroupSetting:
    """Whom the group gives this permission. `system_ids` are the role groups' ids by name."""
    if name in group.permissions:
        return GroupSetting.parse(group.permissions[name])
    rule = GROUP_PERMISSIONS[name]
    if group.is_system_group:
        return GroupSetting(group_id=system_ids[rule.default_for_system_groups or rule.default])
    if rule.default != GROUP_CREATOR:
        return GroupSetting(group_id=system_ids[rule.default])
    if group.creator_id is None:
        return GroupSetting(group_id=system_ids[NOBODY_GROUP])
    return GroupSetting(direct_members=(group.creator_id,))
