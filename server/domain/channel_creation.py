"""The rules for a new channel: who may make which kind, and what its settings may be."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from server.domain.access import NOBODY_GROUP, GroupGraph, GroupSetting
from server.domain.channels import Standing
from server.domain.errors import BadRequestError
from server.domain.group_settings import checked_setting
from server.domain.permission_settings import CHANNEL_PERMISSIONS
from storage.ids import GroupId, UserId

KEPT_FOR_EVER: Final = -1
MAX_RETENTION_DAYS: Final = 2**31 - 1

_DELETION_SETTINGS: Final = ("can_delete_any_message_group", "can_delete_own_message_group")


class CreationNotPermittedError(BadRequestError):
    """The channel may be made, but not by this person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTerms:
    """What a user asks of the channels that their request makes."""

    invite_only: bool = False
    is_web_public: bool = False
    is_default: bool = False
    history_public_to_subscribers: bool | None = None
    """None: as channels of that kind have it at first."""
    message_retention_days: int | str | None = None
    topics_policy: str = "inherit"
    folder_id: int | None = None
    permissions: Mapping[str, GroupSetting] = field(default_factory=dict)
    """The settings that the request names; the others get their defaults."""

    @property
    def shares_history(self) -> bool:
        """Whether subscribers may read what was sent before they came. Public channels always."""
        return not self.invite_only or bool(self.history_public_to_subscribers)


def check_terms(terms: ChannelTerms, *, web_public_enabled: bool, spectators: bool) -> None:
    """Raise BadRequestError if no channel can be like that, whoever asks."""
    if terms.is_web_public:
        if not (web_public_enabled and spectators):
            raise BadRequestError("Web-public channels are not enabled.")
        if terms.invite_only:
            raise BadRequestError("Invalid parameters")
    if terms.is_default and terms.invite_only:
        raise BadRequestError("A default channel cannot be private.")
    retention_days(terms.message_retention_days)


def check_creator(standing: Standing, terms: ChannelTerms) -> None:
    """Raise CreationNotPermittedError if the person may not make a channel like that."""
    if not _may_create(standing, terms):
        raise CreationNotPermittedError("Insufficient permission")
    if retention_days(terms.message_retention_days) is not None and not standing.person.is_owner:
        raise CreationNotPermittedError("Must be an organization owner")


def _may_create(standing: Standing, terms: ChannelTerms) -> bool:
    kind = "private" if terms.invite_only else "web_public" if terms.is_web_public else "public"
    wanted = [f"can_create_{kind}_channel_group"]
    if terms.topics_policy != "inherit":
        wanted.append("can_set_topics_policy_group")
    if _says_who_deletes(terms, standing.graph):
        wanted.append("can_set_delete_message_policy_group")
    if not all(standing.realm_permits(name) for name in wanted):
        return False
    return standing.person.is_administrator or not terms.is_default


def _says_who_deletes(terms: ChannelTerms, graph: GroupGraph) -> bool:
    nobody = GroupSetting(group_id=graph.ids_by_name[NOBODY_GROUP])
    return any(terms.permissions.get(name, nobody) != nobody for name in _DELETION_SETTINGS)


def retention_days(value: int | str | None) -> int | None:
    """Return how the choice is kept: days, KEPT_FOR_EVER, or None for the organization's.

    Raises BadRequestError for what is none of them.
    """
    if value is None or value == "realm_default":
        return None
    if value == "unlimited":
        return KEPT_FOR_EVER
    if isinstance(value, int) and 0 < value <= MAX_RETENTION_DAYS:
        return value
    raise BadRequestError("Bad value for 'message_retention_days'")


def default_permissions(
    role_groups: Mapping[str, GroupId], creator_id: UserId | None
) -> dict[str, GroupSetting]:
    """All settings of a channel that this user makes, where the request does not say otherwise."""
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
    """Return the value as it is kept.

    Raises BadRequestError if the channel's setting may not be so.
    """
    return checked_setting(name, CHANNEL_PERMISSIONS[name], value, graph, active_user_ids)
