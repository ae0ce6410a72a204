"""Parameters with users and groups."""

from server.api.params import Part
from server.domain.access import GroupSetting
from server.domain.group_settings import PermissionChange


class DirectGroupParam(Part):
    """Users and groups of a permission."""

    direct_members: list[int]
    """User ids."""
    direct_subgroups: list[int]
    """A new value of a permission, and the one that the client expects."""


GroupValue = int | DirectGroupParam


class GroupUpdateParam(Part):
    """Another value of a permission, and the one that the client knows."""

    new: GroupValue
    """Value that the permission is to have."""
    old: GroupValue | None = None
    """Value that the client believes it has; the change is refused if it has another one."""


def group_setting(value: GroupValue) -> GroupSetting:
    """Return the value as the rules take it."""
    return GroupSetting.parse(value if isinstance(value, int) else value.model_dump())


def permission_change(update: GroupUpdateParam) -> PermissionChange:
    """Return the change as the rules take it."""
    old = None if update.old is None else group_setting(update.old)
    return PermissionChange(group_setting(update.new), old)
