"""Personal settings of a user: wire names, allowed values, defaults."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from server.domain.errors import InvalidParameterError
from server.domain.languages import LANGUAGES
from server.i18n import _, catalogue_language

EVERYONE: Final = 1
MEMBERS: Final = 2
ADMINISTRATORS: Final = 3
NOBODY: Final = 4
MODERATORS: Final = 5
"""Values of email_address_visibility."""

EMOJI_SETS: Final = {
    "google": "Google",
    "twitter": "Twitter",
    "text": "Plain text",
    "google-blob": "Google blobs",
}
NOTIFICATION_SOUNDS: Final = ("ding", "zulip")
SILENCE: Final = "none"
"""The choice of no sound."""
MAX_BATCHING_SECONDS: Final = 7 * 24 * 3600
MAX_FONT_SIZE_PX: Final = 100
MAX_LINE_HEIGHT_PERCENT: Final = 1_000

FollowPolicy = Literal[1, 2, 3, 4]
"""Topics that one participates in, sends to, starts; or none."""


class UserSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Every personal setting but the time zone. Storage keeps what differs from the defaults."""

    # Display.
    color_scheme: Literal[1, 2, 3] = 1
    default_language: str = "en"
    demote_inactive_streams: Literal[1, 2, 3] = 1
    display_emoji_reaction_users: bool = True
    emojiset: Literal["google", "twitter", "text", "google-blob"] = "google"
    enter_sends: bool = False
    fluid_layout_width: bool = False
    hide_ai_features: bool = False
    high_contrast_mode: bool = False
    left_side_userlist: bool = False
    starred_message_counts: bool = True
    translate_emoticons: bool = False
    twenty_four_hour_time: bool | None = False
    """None: the language's default."""
    user_list_style: Literal[1, 2, 3] = 2
    web_animate_image_previews: Literal["always", "on_hover", "never"] = "on_hover"
    web_channel_default_view: Literal[1, 2, 3, 4] = 1
    web_escape_navigates_to_home_view: bool = True
    web_font_size_px: int = 14
    web_home_view: Literal["recent_topics", "recent", "inbox", "all_messages"] = "inbox"
    web_inbox_show_channel_folders: bool = True
    web_left_sidebar_show_channel_folders: bool = True
    web_left_sidebar_unreads_count_summary: bool = True
    web_line_height_percent: int = 122
    web_mark_read_on_scroll_policy: Literal[1, 2, 3] = 1
    web_navigate_to_sent_message: bool = True
    web_stream_unreads_count_display_policy: Literal[1, 2, 3] = 2
    web_suggest_update_timezone: bool = True

    # Notifications.
    desktop_icon_count_display: Literal[1, 2, 3, 4] = 1
    email_notifications_batching_period_seconds: int = 120
    enable_desktop_notifications: bool = True
    enable_digest_emails: bool = True
    enable_followed_topic_audible_notifications: bool = True
    enable_followed_topic_desktop_notifications: bool = True
    enable_followed_topic_email_notifications: bool = True
    enable_followed_topic_push_notifications: bool = True
    enable_followed_topic_wildcard_mentions_notify: bool = True
    enable_login_emails: bool = True
    enable_marketing_emails: bool = True
    enable_offline_email_notifications: bool = True
    enable_offline_push_notifications: bool = True
    enable_online_push_notifications: bool = True
    enable_reaction_notifications: bool = False
    enable_sounds: bool = True
    enable_stream_audible_notifications: bool = False
    enable_stream_desktop_notifications: bool = False
    enable_stream_email_notifications: bool = False
    enable_stream_push_notifications: bool = False
    message_content_in_email_notifications: bool = True
    notification_sound: str = "zulip"
    pm_content_in_desktop_notifications: bool = True
    realm_name_in_email_notifications_policy: Literal[1, 2, 3] = 1
    wildcard_mentions_notify: bool = True

    # Topics and drafts.
    automatically_follow_topics_policy: FollowPolicy = 3
    automatically_follow_topics_where_mentioned: bool = True
    automatically_unmute_topics_in_muted_streams_policy: FollowPolicy = 2
    enable_drafts_synchronization: bool = True
    resolved_topic_notice_auto_read_policy: Literal["always", "except_followed", "never"] = (
        "except_followed"
    )

    # Privacy.
    allow_private_data_export: bool = False
    email_address_visibility: Literal[1, 2, 3, 4, 5] = EVERYONE
    presence_enabled: bool = True
    receives_typing_notifications: bool = True
    send_private_typing_notifications: bool = True
    send_read_receipts: bool = True
    send_stream_typing_notifications: bool = True

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "UserSettings":
        """Decode stored settings; raise msgspec.ValidationError for an invalid value."""
        return _decode(msgspec.json.encode(stored)) if stored else DEFAULTS

    def changed(self, changes: Mapping[str, Any]) -> "UserSettings":
        """Return changed settings, each of its type; raise InvalidParameterError."""
        for name, value in changes.items():
            allows = _ALLOWS.get(name)
            if allows is not None and not allows(value):
                raise InvalidParameterError(name, _("Invalid {name}", name=name))
        return msgspec.structs.replace(self, **changes)

    def stored(self) -> dict[str, Any]:
        """Return the stored form: the settings that differ from the defaults."""
        return {
            name: value
            for name, value in msgspec.structs.asdict(self).items()
            if value != getattr(DEFAULTS, name)
        }

    def wire(self, *, extended: bool) -> dict[str, Any]:
        """Return all settings by name, and the available choices.

        `extended`: with those that are extensions of the protocol.
        """
        return {
            **{
                name: shown(name, value)
                for name, value in msgspec.structs.asdict(self).items()
                if extended or name not in EXTENSIONS
            },
            "available_notification_sounds": list(NOTIFICATION_SOUNDS),
            "emojiset_choices": [{"key": key, "text": text} for key, text in EMOJI_SETS.items()],
        }

    @property
    def language(self) -> str:
        """The language of texts for the user, which has a complete catalogue."""
        return catalogue_language(self.default_language)


def shown(name: str, value: Any) -> Any:
    """Return the value of a setting in the words of clients."""
    return "recent" if (name, value) == ("web_home_view", "recent_topics") else value


DEFAULTS: Final = UserSettings()

ONES_OWN: Final = frozenset(
    {
        "allow_private_data_export",
        "default_language",
        "enable_login_emails",
        "enable_marketing_emails",
    }
)
"""Settings without realm-wide defaults for new users."""

EXTENSIONS: Final = frozenset({"enable_reaction_notifications"})
"""Settings that only clients with the capability `reaction_notifications` get."""

NOT_FOR_OTHERS: Final = frozenset(
    {
        "allow_private_data_export",
        "email_address_visibility",
        "enable_digest_emails",
        "enable_login_emails",
        "enable_marketing_emails",
        "presence_enabled",
        "send_private_typing_notifications",
        "send_read_receipts",
        "send_stream_typing_notifications",
    }
)
"""Settings of privacy, and of mail: administrators cannot change them for others."""

_ALLOWS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "default_language": LANGUAGES.__contains__,
    "notification_sound": (*NOTIFICATION_SOUNDS, SILENCE).__contains__,
    "email_notifications_batching_period_seconds": lambda v: 0 < v <= MAX_BATCHING_SECONDS,
    "web_font_size_px": lambda v: 0 < v <= MAX_FONT_SIZE_PX,
    "web_line_height_percent": lambda v: 0 < v <= MAX_LINE_HEIGHT_PERCENT,
}
"""Checks of values besides their type."""

_decoder = msgspec.json.Decoder(UserSettings)


@lru_cache(maxsize=1024)
def _decode(stored: bytes) -> UserSettings:
    return _decoder.decode(stored)
