"""Register's personal settings: one's own, in the present form and the old, and the defaults."""

from typing import Any, Final

from server.domain.user_settings import UserSettings
from server.initial_state.base import Section, Snapshot

OLD_DISPLAY_SETTINGS: Final = (
    "color_scheme",
    "default_language",
    "demote_inactive_streams",
    "emojiset",
    "emojiset_choices",
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
    "available_notification_sounds",
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
"""Fields of register's answer itself, for clients that do not know `user_settings`."""


def _own(snapshot: Snapshot) -> dict[str, Any]:
    row = snapshot.actor.row
    return {**UserSettings.of(row.settings).wire(), "timezone": row.timezone}


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    return {"user_settings": _own(snapshot)}


async def fetch_old_display(snapshot: Snapshot) -> dict[str, Any]:
    return _old(snapshot, OLD_DISPLAY_SETTINGS)


async def fetch_old_notifications(snapshot: Snapshot) -> dict[str, Any]:
    return _old(snapshot, OLD_NOTIFICATION_SETTINGS)


def _old(snapshot: Snapshot, names: tuple[str, ...]) -> dict[str, Any]:
    if snapshot.view.user_settings_object:
        return {}
    own = _own(snapshot)
    return {name: own[name] for name in names}


async def fetch_defaults(snapshot: Snapshot) -> dict[str, Any]:
    defaults = UserSettings.of(snapshot.settings.user_settings_defaults)
    return {"realm_user_settings_defaults": defaults.wire()}


SECTIONS: Final = (
    Section("user_settings", fetch),
    Section("update_display_settings", fetch_old_display),
    Section("update_global_notifications", fetch_old_notifications),
    Section("realm_user_settings_defaults", fetch_defaults),
)
