"""Validation and normal form of settings that name users and groups."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from server.domain.access import (
    EVERYONE_GROUP,
    INTERNET_GROUP,
    NOBODY_GROUP,
    GroupGraph,
    GroupSetting,
)
from server.domain.errors import (
    BadRequestError,
    ExpectationMismatchError,
    SystemGroupRequiredError,
)
from server.domain.permission_settings import PermissionRule
from server.i18n import _
from storage.ids import UserId


@dataclass(frozen=True, slots=True)
class PermissionChange:
    """A requested permission value; `old` is the value that the client expects."""

    new: GroupSetting | str
    """A role group may be given by name."""
    old: GroupSetting | None = None

    @property
    def named_user_ids(self) -> tuple[UserId, ...]:
        """The users in the new value."""
        return () if isinstance(self.new, str) else self.new.direct_members


def changed_settings(
    changes: Mapping[str, PermissionChange],
    rules: Mapping[str, PermissionRule],
    now: Callable[[str], GroupSetting],
    graph: GroupGraph,
    active_user_ids: Collection[UserId],
) -> dict[str, Any]:
    """Return the stored form of settings that change.

    `now` returns a setting's present value. Raises as `changed_setting` does.
    """
    kept: dict[str, Any] = {}
    for name, change in changes.items():
        old = now(name)
        new = changed_setting(name, rules[name], old, change, graph, active_user_ids)
        if new != old:
            kept[name] = new.as_json()
    return kept


def named_in(changes: Mapping[str, PermissionChange]) -> set[UserId]:
    """Return the users in the new values."""
    return {user_id for change in changes.values() for user_id in change.named_user_ids}


def changed_setting(
    name: str,
    rule: PermissionRule,
    now: GroupSetting,
    change: PermissionChange,
    graph: GroupGraph,
    active_user_ids: Collection[UserId],
) -> GroupSetting:
    """Return the new value; `now` is the present one.

    Raises ExpectationMismatchError if the client expected another present value, BadRequestError if
    the new one is invalid.
    """
    if change.old is not None and shortest(change.old, graph) != shortest(now, graph):
        raise ExpectationMismatchError(name)
    new = change.new
    if isinstance(new, str):
        new = GroupSetting(group_id=graph.ids_by_name[new])
    return checked_setting(name, rule, new, graph, active_user_ids)


def checked_setting(
    name: str,
    rule: PermissionRule,
    value: GroupSetting,
    graph: GroupGraph,
    active_user_ids: Collection[UserId],
) -> GroupSetting:
    """Return the validated value.

    Raises BadRequestError if this setting cannot have it.
    """
    if not set(value.direct_members) <= set(active_user_ids):
        raise BadRequestError(_("Invalid user ID"))
    for group_id in value.group_ids:
        if group_id not in graph.members or group_id in graph.deactivated:
            raise BadRequestError(_("Invalid user group"))
    kept = shortest(value, graph)
    role_group = None if kept.group_id is None else graph.system_names.get(kept.group_id)
    if role_group is not None:
        _check_role_group(name, rule, role_group)
    elif rule.system_group_required:
        raise SystemGroupRequiredError(name)
    return kept


def shortest(value: GroupSetting, graph: GroupGraph) -> GroupSetting:
    """Return the single group of the value; the `nobody` group if the value is empty."""
    if value.group_id is not None or value.direct_members:
        return value
    if not value.direct_subgroups:
        return GroupSetting(group_id=graph.ids_by_name[NOBODY_GROUP])
    if len(value.direct_subgroups) == 1:
        return GroupSetting(group_id=value.direct_subgroups[0])
    return value


def _check_role_group(name: str, rule: PermissionRule, group: str) -> None:
    refused = {
        INTERNET_GROUP: True,
        EVERYONE_GROUP: not rule.allow_everyone,
        NOBODY_GROUP: not rule.allow_nobody,
    }
    if refused.get(group, False) or (rule.only and group not in rule.only):
        raise BadRequestError(
            _("'{name}' setting cannot be set to '{group}' group.", name=name, group=group)
        )
