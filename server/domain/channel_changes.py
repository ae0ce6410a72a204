"""Validation and permissions of channel changes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from msgspec import UNSET, UnsetType

from server.domain.channel_creation import retention_days
from server.domain.channels import (
    CREATES_TOPICS,
    GRANTS_METADATA,
    Standing,
    check_topic_creators,
    clean_description,
    clean_name,
    setting_of,
)
from server.domain.errors import BadRequestError
from server.domain.group_settings import PermissionChange
from server.domain.markdown import render_description
from server.domain.permission_settings import CHANNEL_PERMISSIONS
from server.i18n import _
from storage.channels import ChannelRow

PRIVACY: Final = ("invite_only", "is_web_public", "history_public_to_subscribers")
DELETION_PERMISSIONS: Final = ("can_delete_any_message_group", "can_delete_own_message_group")
NEEDS_CONTENT: Final = (
    *DELETION_PERMISSIONS,
    "can_add_subscribers_group",
    "can_move_messages_out_of_channel_group",
    "can_move_messages_within_channel_group",
    "can_subscribe_group",
)
"""Permissions that only users who may read the channel may change; the others need metadata
access."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelChange:
    """A requested change of a channel; None leaves a field as it is."""

    name: str | None = None
    description: str | None = None
    invite_only: bool | None = None
    is_web_public: bool | None = None
    history_public_to_subscribers: bool | None = None
    is_archived: bool | None = None
    is_default: bool | None = None
    message_retention_days: int | str | None = None
    topics_policy: str | None = None
    folder_id: int | UnsetType | None = UNSET
    """None: in no folder."""
    default_push_notifications: bool | None = None
    permissions: Mapping[str, PermissionChange] = field(default_factory=dict)

    @property
    def reaches_beyond_the_channel(self) -> bool:
        """Whether it concerns names, or the realm's lists of channels."""
        listed = (self.is_archived, self.is_default, self.invite_only)
        return self.name is not None or any(each is not None for each in listed)


def changed_channel(channel: ChannelRow, change: ChannelChange) -> ChannelRow:
    """Return the changed channel, except permissions.

    Raises BadRequestError for values that no channel can have.
    """
    facts: dict[str, Any] = _privacy(channel, change) | _kept_as_given(change)
    if change.name is not None:
        facts["name"] = clean_name(change.name)
    if change.description is not None:
        facts["description"] = clean_description(change.description)
        if facts["description"] != channel.description:
            facts["rendered_description"] = render_description(facts["description"])
    if change.message_retention_days is not None:
        facts["message_retention_days"] = retention_days(change.message_retention_days)
    if change.folder_id is not UNSET:
        facts["folder_id"] = change.folder_id
    if change.is_archived is not None:
        if change.is_archived == channel.is_archived:
            already, not_yet = _("Channel is already archived"), _("Channel is not archived")
            raise BadRequestError(already if channel.is_archived else not_yet)
        facts["is_archived"] = change.is_archived
    changed = replace(channel, **facts)
    if change.is_default and changed.is_archived:
        raise BadRequestError(_("An archived channel cannot be a default channel."))
    is_default = channel.is_default if change.is_default is None else change.is_default
    return replace(changed, is_default=is_default and not changed.is_archived)


def _kept_as_given(change: ChannelChange) -> dict[str, Any]:
    """Return the new values that need no check."""
    names = ("topics_policy", "default_push_notifications")
    return {name: value for name in names if (value := getattr(change, name)) is not None}


def _privacy(channel: ChannelRow, change: ChannelChange) -> dict[str, Any]:
    """Closing a channel also ends web access; opening one must be requested in full."""
    invite_only = channel.invite_only if change.invite_only is None else change.invite_only
    if change.is_web_public is not None:
        is_web_public = change.is_web_public
    else:
        is_web_public = channel.is_web_public and not change.invite_only
    history = change.history_public_to_subscribers
    if history is None:
        is_kept = invite_only == channel.invite_only
        history = channel.history_public_to_subscribers if is_kept else not invite_only
    if (is_web_public and invite_only) or not (invite_only or history):
        raise BadRequestError(_("Invalid parameters"))
    return dict(zip(PRIVACY, (invite_only, is_web_public, history), strict=True))


def privacy_differs(old: ChannelRow, new: ChannelRow) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in PRIVACY)


def differing_permissions(old: ChannelRow, new: ChannelRow) -> list[str]:
    """Return the names of permissions that differ, sorted."""
    names = CHANNEL_PERMISSIONS.keys()
    return [n for n in names if old.permissions.get(n) != new.permissions.get(n)]


def sight_may_differ(old: ChannelRow, new: ChannelRow) -> bool:
    """Return whether metadata or content access may differ between the two for any user.

    Every user but guests reads a public channel, and no permission opens one to guests.
    """
    return privacy_differs(old, new) or (
        new.invite_only and any(n in GRANTS_METADATA for n in differing_permissions(old, new))
    )


def check_change(
    standing: Standing,
    old: ChannelRow,
    new: ChannelRow,
    *,
    subscribed: bool,
    web_public_enabled: bool,
) -> None:
    """Raise BadRequestError unless this channel administrator may make the change."""
    permissions = differing_permissions(old, new)
    privacy = privacy_differs(old, new)
    needs_content = privacy or any(name in NEEDS_CONTENT for name in permissions)
    if needs_content and not standing.reads(old, subscribed=subscribed):
        raise BadRequestError(_("Channel content access is required."))
    if new.invite_only and not new.history_public_to_subscribers:
        setting = setting_of(new, CREATES_TOPICS, standing.graph)
        check_topic_creators(setting, standing.graph)
    if privacy:
        _check_kind(standing, old, new, web_public_enabled=web_public_enabled)
    if new.is_default and new.invite_only:
        raise BadRequestError(_("A default channel cannot be private."))
    if not all(standing.realm_permits(name) for name in _wanted(old, new, permissions)):
        raise BadRequestError(_("Insufficient permission"))
    if old.message_retention_days != new.message_retention_days and not standing.person.is_owner:
        raise BadRequestError(_("Must be an organization owner"))
    if _is_for_administrators(old, new) and not standing.person.is_administrator:
        raise BadRequestError(_("Must be an organization administrator"))


def _check_kind(
    standing: Standing, old: ChannelRow, new: ChannelRow, *, web_public_enabled: bool
) -> None:
    opened = new.is_web_public and not old.is_web_public
    if opened and not (web_public_enabled and standing.settings.enable_spectator_access):
        raise BadRequestError(_("Web-public channels are not enabled."))
    is_moderation = standing.settings.moderation_request_channel_id == new.channel_id
    if is_moderation and not new.invite_only:
        raise BadRequestError(_("Moderation request channel must be private."))


def _wanted(old: ChannelRow, new: ChannelRow, permissions: list[str]) -> Iterator[str]:
    """Yield the realm permissions that the change needs."""
    kind = _kind(new)
    if kind != _kind(old):
        yield f"can_create_{kind}_channel_group"
    if new.topics_policy != old.topics_policy:
        yield "can_set_topics_policy_group"
    if any(name in DELETION_PERMISSIONS for name in permissions):
        yield "can_set_delete_message_policy_group"


def _kind(channel: ChannelRow) -> str:
    return "private" if channel.invite_only else "web_public" if channel.is_web_public else "public"


def _is_for_administrators(old: ChannelRow, new: ChannelRow) -> bool:
    """Return whether it changes the default channels, or a default of subscribers.

    Archiving a default channel does not count.
    """
    if old.default_push_notifications != new.default_push_notifications:
        return True
    return old.is_default != new.is_default and not new.is_archived
