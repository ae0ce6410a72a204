"""User groups: the role groups, and permissions of a group."""

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
    GroupGraph,
    GroupSetting,
)
from server.domain.channels import Standing
from server.domain.errors import BadRequestError
from server.domain.names import composed, fold_name, unprintable_at
from server.domain.permission_settings import GROUP_CREATOR, GROUP_PERMISSIONS
from server.i18n import _, marked
from storage.groups import GroupRow
from storage.ids import GroupId, UserId

MAX_NAME_LENGTH: Final = 100
MAX_DESCRIPTION_LENGTH: Final = 1024
RESERVED_PREFIXES: Final = ("@", "role:", "user:", "stream:", "channel:")
"""Prefixes of names that have another meaning."""

DESCRIPTIONS: Final[Mapping[str, str]] = {
    NOBODY_GROUP: marked("Nobody"),
    OWNERS_GROUP: marked("Owners of this organization"),
    ADMINISTRATORS_GROUP: marked("Administrators of this organization, including owners"),
    MODERATORS_GROUP: marked("Moderators of this organization, including administrators"),
    FULL_MEMBERS_GROUP: marked(
        "Members of this organization, not including new accounts and guests"
    ),
    MEMBERS_GROUP: marked("Members of this organization, not including guests"),
    EVERYONE_GROUP: marked("Everyone in this organization, including guests"),
    INTERNET_GROUP: marked("Everyone on the Internet"),
}
"""Descriptions of the role groups, in the order in which a realm gets them."""
_DISPLAY_NAMES: Final[Mapping[str, str]] = {
    NOBODY_GROUP: "Nobody",
    OWNERS_GROUP: "Owners",
    ADMINISTRATORS_GROUP: "Administrators",
    MODERATORS_GROUP: "Moderators",
    FULL_MEMBERS_GROUP: "Full members",
    MEMBERS_GROUP: "Members",
    EVERYONE_GROUP: "Everyone",
    INTERNET_GROUP: "Everyone on the internet",
}


def display_name(name: str) -> str:
    """Return the displayed name of a group."""
    return _DISPLAY_NAMES.get(name, name)


def group_permission(group: GroupRow, name: str, graph: GroupGraph) -> GroupSetting:
    """Return the group's value of this permission."""
    if name in group.permissions:
        return graph.as_it_stands(GroupSetting.parse(group.permissions[name]))
    rule = GROUP_PERMISSIONS[name]
    if group.is_system_group:
        default = rule.default_for_system_groups or rule.default
    elif rule.default == GROUP_CREATOR and group.creator_id is not None:
        return graph.as_it_stands(GroupSetting(direct_members=(group.creator_id,)))
    else:
        default = NOBODY_GROUP if rule.default == GROUP_CREATOR else rule.default
    return GroupSetting(group_id=graph.ids_by_name[default])


def default_permissions(graph: GroupGraph, creator_id: UserId) -> dict[str, GroupSetting]:
    """Return the default permissions of a group created by this user."""
    return {
        name: GroupSetting(direct_members=(creator_id,))
        if rule.default == GROUP_CREATOR
        else GroupSetting(group_id=graph.ids_by_name[rule.default])
        for name, rule in GROUP_PERMISSIONS.items()
    }


def checked_group_name(name: str) -> str:
    """Return the normalized name: composed and trimmed; raise BadRequestError."""
    cleaned = composed(name)
    if not cleaned:
        raise BadRequestError(_("User group name can't be empty!"))
    if len(cleaned) > MAX_NAME_LENGTH:
        raise BadRequestError(
            _("User group name cannot exceed {limit} characters.", limit=MAX_NAME_LENGTH)
        )
    for prefix in RESERVED_PREFIXES:
        if cleaned.startswith(prefix):
            raise BadRequestError(_("User group name cannot start with '{prefix}'.", prefix=prefix))
    if place := unprintable_at(cleaned):
        raise BadRequestError(
            _("Invalid character in user group name, at position {place}.", place=place)
        )
    return cleaned


def checked_group_description(description: str) -> str:
    """Return the trimmed description.

    Raises BadRequestError if it is too long.
    """
    cleaned = description.strip()
    if len(cleaned) > MAX_DESCRIPTION_LENGTH:
        raise BadRequestError(
            _("description is too long (limit: {limit} characters)", limit=MAX_DESCRIPTION_LENGTH)
        )
    return cleaned


def is_name_taken(name: str, graph: GroupGraph, *, by_others_than: GroupId | None = None) -> bool:
    """Return whether another group has the name (compared by fold_name)."""
    folded = fold_name(name)
    return any(
        fold_name(known) == folded and group_id != by_others_than
        for known, group_id in graph.ids_by_name.items()
    )


def within(group: GroupRow) -> GroupSetting:
    """Return the members of a group as a setting, also if it is deactivated."""
    return GroupSetting(
        direct_members=tuple(group.member_ids), direct_subgroups=tuple(group.subgroup_ids)
    )


def manages(standing: Standing, group: GroupRow) -> bool:
    """Return whether they may change the group, and its members."""
    if group.is_system_group:
        return False
    return standing.realm_permits("can_manage_all_groups") or _permits(
        standing, group, "can_manage_group"
    )


def may_add(standing: Standing, group: GroupRow, *, only_themselves: bool) -> bool:
    """Return whether they may add members or subgroups, or only themselves."""
    if manages(standing, group) or _permits(standing, group, "can_add_members_group"):
        return True
    return only_themselves and _permits(standing, group, "can_join_group")


def may_remove(standing: Standing, group: GroupRow, *, only_themselves: bool) -> bool:
    """Return whether they may remove members or subgroups, or only themselves."""
    if manages(standing, group) or _permits(standing, group, "can_remove_members_group"):
        return True
    return only_themselves and _permits(standing, group, "can_leave_group")


def _permits(standing: Standing, group: GroupRow, name: str) -> bool:
    """Return whether the group's own setting of this name admits them."""
    if group.is_system_group:
        return False
    if standing.person.is_guest and not GROUP_PERMISSIONS[name].allow_everyone:
        return False
    graph = standing.graph
    return graph.contains(group_permission(group, name, graph), standing.person)
