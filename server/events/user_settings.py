"""Events of personal settings, and of the defaults for new users."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType
from typing_extensions import override

from server.domain.user_settings import EXTENSIONS, shown
from server.events.base import ClientView, Event
from server.events.subscriptions import SubscriptionUpdatedWire
from server.realm_cache import REALM, Touch, user_key
from storage.ids import ChannelId, Position, UserId

SettingValue = bool | int | str | None

OLD_DISPLAY_SETTINGS: Final = (
    "color_scheme",
    "default_language",
    "demote_inactive_streams",
    "emojiset",
    "enable_drafts_synchronization",
    "enter_sends",
    "fluid_layout_width",
    "high_contrast_mode",
    "left_side_userlist",
    "starred_message_counts",
    "timezone",
    "translate_emoticons",
    "twenty_four_hour_time",
    "web_home_view",
)
OLD_NOTIFICATION_SETTINGS: Final = (
    "desktop_icon_count_display",
    "email_notifications_batching_period_seconds",
    "enable_desktop_notifications",
    "enable_digest_emails",
    "enable_login_emails",
    "enable_marketing_emails",
    "enable_offline_email_notifications",
    "enable_offline_push_notifications",
    "enable_online_push_notifications",
    "enable_sounds",
    "enable_stream_audible_notifications",
    "enable_stream_desktop_notifications",
    "enable_stream_email_notifications",
    "enable_stream_push_notifications",
    "message_content_in_email_notifications",
    "notification_sound",
    "pm_content_in_desktop_notifications",
    "presence_enabled",
    "realm_name_in_email_notifications_policy",
    "wildcard_mentions_notify",
)
"""Settings with events of their own for clients that do not support `user_settings`."""


def as_of_old(name: str, value: SettingValue) -> SettingValue:
    """Return the value for such a client: it does not know that a locale may decide the hours."""
    return False if name == "twenty_four_hour_time" and value is None else value


class UserSettingWire(msgspec.Struct, frozen=True, kw_only=True):
    """A changed personal setting."""

    type: Literal["user_settings"] = "user_settings"
    op: Literal["update"] = "update"
    property: str
    value: SettingValue
    language_name: str | UnsetType = UNSET


class UserSettingChanged(Event, frozen=True, kw_only=True):
    """A changed setting, delivered to the user only."""

    kind: ClassVar[str] = "user_settings/update"
    wire_type: ClassVar[str] = "user_settings"
    varies_by: ClassVar[tuple[str, ...]] = ("reaction_notifications",)
    wires: ClassVar[tuple[type, ...]] = (UserSettingWire,)

    user_id: UserId
    property: str
    value: SettingValue
    language_name: str | UnsetType = UNSET
    """Name of a new language."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if self.property in EXTENSIONS and not view.reaction_notifications:
            return ()
        value = shown(self.property, self.value)
        return (
            UserSettingWire(property=self.property, value=value, language_name=self.language_name),
        )

    @override
    def touches(self) -> Sequence[Touch]:
        return (user_key(self.user_id),)


class OldDisplaySettingChanged(Event, frozen=True, kw_only=True):
    """The same for older clients."""

    kind: ClassVar[str] = "update_display_settings"
    wire_type: ClassVar[str] = "update_display_settings"
    varies_by: ClassVar[tuple[str, ...]] = ("user_settings_object",)

    type: Literal["update_display_settings"] = "update_display_settings"
    user: str
    """Their public email address."""
    setting_name: str
    setting: SettingValue
    language_name: str | UnsetType = UNSET

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if view.user_settings_object:
            return ()
        setting = as_of_old(self.setting_name, shown(self.setting_name, self.setting))
        return (msgspec.structs.replace(self, setting=setting),)


class OldNotificationSettingChanged(Event, frozen=True, kw_only=True):
    """The same for notification settings."""

    kind: ClassVar[str] = "update_global_notifications"
    wire_type: ClassVar[str] = "update_global_notifications"
    varies_by: ClassVar[tuple[str, ...]] = ("user_settings_object",)

    type: Literal["update_global_notifications"] = "update_global_notifications"
    user: str
    notification_name: str
    setting: SettingValue

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return () if view.user_settings_object else (self,)


class NotificationDefaultChanged(Event, frozen=True, kw_only=True):
    """Changed values of unset subscription settings in these channels.

    For clients that do not support unset settings: to them it looks as if the channel's were set.
    """

    kind: ClassVar[str] = "subscription/update/default"
    wire_type: ClassVar[str] = "subscription"
    varies_by: ClassVar[tuple[str, ...]] = ("archived_channels", "notification_settings_null")
    wires: ClassVar[tuple[type, ...]] = (SubscriptionUpdatedWire,)

    stream_ids: list[ChannelId]
    archived: tuple[ChannelId, ...] = ()
    """Those that clients without the capability do not know, because they are archived."""
    property: str
    value: bool

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if view.notification_settings_null:
            return ()
        hidden = () if view.archived_channels else self.archived
        event = {"type": "subscription", "op": "update"}
        return [
            event | {"stream_id": stream_id, "property": self.property, "value": self.value}
            for stream_id in self.stream_ids
            if stream_id not in hidden
        ]


class SettingsDefaultChanged(Event, frozen=True, kw_only=True):
    """A changed default for new users; existing users keep their settings."""

    kind: ClassVar[str] = "realm_user_settings_defaults/update"
    wire_type: ClassVar[str] = "realm_user_settings_defaults"
    varies_by: ClassVar[tuple[str, ...]] = ("reaction_notifications",)

    type: Literal["realm_user_settings_defaults"] = "realm_user_settings_defaults"
    op: Literal["update"] = "update"
    property: str
    value: bool | int | str

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if self.property in EXTENSIONS and not view.reaction_notifications:
            return ()
        return (msgspec.structs.replace(self, value=shown(self.property, self.value)),)

    @override
    def touches(self) -> Sequence[Touch]:
        return (REALM,)
