"""Validation and permissions of changes to a realm's settings."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from server.domain.errors import InvalidParameterError
from server.domain.languages import LANGUAGES
from server.domain.markdown.languages import language_name
from server.domain.realm_settings import NO_CHANNEL
from server.i18n import _

MAX_WELCOME_LENGTH: Final = 8_000
MAX_URL_LENGTH: Final = 200
MAX_SECONDS: Final = 2**31 - 1
MAX_DAYS: Final = 36_500
"""A hundred years; a thousand times that is no date any more."""

VIDEO_CHAT_PROVIDERS: Final = {
    "disabled": {"name": "None", "id": 0},
    "jitsi_meet": {"name": "Jitsi Meet", "id": 1},
    "zoom": {"name": "Zoom", "id": 3},
    "big_blue_button": {"name": "BigBlueButton", "id": 4},
    "constructor_groups": {"name": "Constructor Groups", "id": 6},
    "nextcloud_talk": {"name": "Nextcloud Talk", "id": 7},
    "webex": {"name": "Webex", "id": 8},
}
"""Supported video call providers."""
WITHOUT_CONFIGURATION: Final = frozenset({"disabled", "jitsi_meet"})
"""Providers that every server offers."""


def video_chat_providers(services: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the providers that a realm may choose on a server with these services."""
    return {
        name: provider
        for name, provider in VIDEO_CHAT_PROVIDERS.items()
        if name in WITHOUT_CONFIGURATION or name in services
    }


FOR_OWNERS: Final = frozenset(
    {
        "authentication_methods",
        "can_create_groups",
        "can_invite_users_group",
        "can_manage_all_groups",
        "can_manage_billing_group",
        "create_multiuse_invite_group",
        "disallow_disposable_email_addresses",
        "emails_restricted_to_domains",
        "invite_required",
        "message_retention_days",
        "second_factor_after_provider",
        "second_factor_grace_days",
        "second_factor_required_of",
        "waiting_period_threshold",
        "workplace_users_group",
    }
)
"""Settings about admission, governance and loss of data: not for administrators."""

TIME_LIMITS: Final = (
    "message_content_delete_limit_seconds",
    "message_content_edit_limit_seconds",
    "move_messages_between_streams_limit_seconds",
    "move_messages_within_stream_limit_seconds",
)
"""Seconds; None: without limit."""

CHANNEL_SETTINGS: Final = (
    "moderation_request_channel_id",
    "new_stream_announcements_stream_id",
    "signup_announcements_stream_id",
    "zulip_update_announcements_stream_id",
)
"""Each is a channel id, or NO_CHANNEL."""


def checked_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the normalized values, each of its type; raise InvalidParameterError."""
    for name, value in changes.items():
        allows = _ALLOWS.get(name)
        if allows is not None and not allows(value):
            raise InvalidParameterError(name, _("Bad value for '{name}'", name=name))
    return dict(changes)


def _is_limit(value: int | None) -> bool:
    return value is None or 0 < value <= MAX_SECONDS


def _is_address(url: str | None) -> bool:
    if url is None:
        return True
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return len(url) <= MAX_URL_LENGTH and parts.scheme in {"http", "https"} and bool(host)


_ALLOWS: Final[Mapping[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(TIME_LIMITS, _is_limit),
    **dict.fromkeys(CHANNEL_SETTINGS, lambda value: value > 0 or value == NO_CHANNEL),
    "default_code_block_language": lambda value: not value or language_name(value) is not None,
    "default_language": LANGUAGES.__contains__,
    "jitsi_server_url": _is_address,
    "message_retention_days": lambda value: value == -1 or 0 < value <= MAX_DAYS,
    "video_chat_provider": {p["id"] for p in VIDEO_CHAT_PROVIDERS.values()}.__contains__,
    "waiting_period_threshold": lambda value: 0 <= value <= MAX_DAYS,
    "welcome_message_custom_text": lambda value: len(value) <= MAX_WELCOME_LENGTH,
}
"""Checks of values besides their type."""
