"""Validation and permissions of new channels."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from server.domain.access import NOBODY_GROUP, GroupGraph, GroupSetting
from server.domain.channels import Standing
from server.domain.errors import BadRequestError
from server.domain.group_settings import checked_setting
from server.domain.permission_settings import CHANNEL_PERMISSIONS
from server.i18n import _
from storage.ids import GroupId, UserId

KEPT_FOR_EVER: Final = -1
MAX_RETENTION_DAYS: Final = 2**31 - 1

_DELETION_SETTINGS: Final = ("can_delete_any_message_group", "can_delete_own_message_group")


class CreationNotPermittedError(BadRequestError):
    """The channel is valid, but this person may not create it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTerms:
    """Requested settings of new channels."""

    invite_only: bool = False
    is_web_public: bool = False
    is_default: bool = False
    history_public_to_subscribers: bool | None = None
    """None: the default of that kind of channel."""
    message_retention_days: int | str | None = None
    topics_policy: str = "inherit"
    folder_id: int | None = None
    default_push_notifications: bool = False
    permissions: Mapping[str, GroupSetting] = field(default_factory=dict)
    """Requested permissions; the others get their defaults."""

    @property
    def shares_history(self) -> bool:
        """Whether subscribers may read earlier messages. Always in public channels."""
        return not self.invite_only or bool(self.history_public_to_subscribers)


def check_terms(terms: ChannelTerms, *, web_public_enabled: bool, spectators: bool) -> None:
    """Raise BadRequestError if no channel can have these settings."""
    if terms.is_web_public:
        if not (web_public_enabled and spectators):
            raise BadRequestError(_("Web-public channels are not enabled."))
        if terms.invite_only:
            raise BadRequestError(_("Invalid parameters"))
    if terms.is_default and terms.invite_only:
        raise BadRequestError(_("A default channel cannot be private."))
    retention_days(terms.message_retention_days)


def check_creator(standing: Standing, terms: ChannelTerms) -> None:
    """Raise CreationNotPermittedError if the person may not create such a channel."""
    if not _may_create(standing, terms):
        raise CreationNotPermittedError(_("Insufficient permission"))
    if retention_days(terms.message_retention_days) is not None and not standing.person.is_owner:
        raise CreationNotPermittedError(_("Must be an organization owner"))


def _may_create(standing: Standing, terms: ChannelTerms) -> bool:
    kind = "private" if terms.invite_only else "web_public" if terms.is_web_public else "public"
    wanted = [f"can_create_{kind}_channel_group"]
    if terms.topics_policy != "inherit":
        wanted.append("can_set_topics_policy_group")
    if _says_who_deletes(terms, standing.graph):
        wanted.append("can_set_delete_message_policy_group")
    if not all(standing.realm_permits(name) for name in wanted):
        return False
    is_for_administrators = terms.is_default or terms.default_push_notifications
    return standing.person.is_administrator or not is_for_administrators


def _says_who_deletes(terms: ChannelTerms, graph: GroupGraph) -> bool:
    no_members = GroupSetting(group_id=graph.ids_by_name[NOBODY_GROUP])
    return any(terms.permissions.get(name, no_members) != no_members for name in _DELETION_SETTINGS)


def retention_days(value: int | str | None) -> int | None:
    """Return the stored value: days, KEPT_FOR_EVER, or None for the realm's default.

    Raises BadRequestError for anything else.
    """
    if value is None or value == "realm_default":
        return None
    if value == "unlimited":
        return KEPT_FOR_EVER
    if isinstance(value, int) and 0 < value <= MAX_RETENTION_DAYS:
        return value
    raise BadRequestError(_("Bad value for 'message_retention_days'"))


def default_permissions(
    role_groups: Mapping[str, GroupId], creator_id: UserId | None
) -> dict[str, GroupSetting]:
    """Return the default permissions of a channel created by this user."""
    creator = GroupSetting(direct_members=() if creator_id is None else (creator_id,))
    return {
        name: GroupSetting(group_id=role_groups[rule.default])
        if rule.default in role_groups
        else creator
        for name, rule in CHANNEL_PERMISSIONS.items()
    }


def checked_permission(
    name: str, value: GroupSetting, graph: GroupGraph, active_user_ids: Collection[UserId]
) -> GroupSetting:
    """Return the validated value of a permission.

    Raises BadRequestError if the channel cannot have it.
    """
    return checked_setting(name, CHANNEL_PERMISSIONS[name], value, graph, active_user_ids)
