"""The numbers by which older clients know who may do something, before there were groups."""

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
    """The number for this setting. What has no number is told as administrators only."""
    name = None if setting.group_id is None else graph.system_names.get(setting.group_id)
    return policies.get(name or "", policies[ADMINISTRATORS_GROUP])
