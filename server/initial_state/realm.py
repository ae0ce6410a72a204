"""Register's `realm`: the realm's settings, and the server's constants."""

from typing import Any, Final

from server.domain import (
    attachments,
    channel_folders,
    channels,
    messages,
    passwords,
    presence,
    thumbnails,
)
from server.domain.avatars import realm_picture_url
from server.domain.legacy_policies import OLD_PARAMETERS, SHOWN_POLICIES, shown_policy
from server.domain.permission_settings import (
    OWN_PERMISSIONS,
    REALM_PERMISSIONS,
    supported_permission_settings,
)
from server.domain.profile_fields import EXTERNAL_ACCOUNTS
from server.domain.realm_changes import video_chat_providers
from server.domain.reports import REPORT_TYPES
from server.domain.sign_in import PASSWORDS, shown_methods, takes_passwords
from server.domain.user_settings import UserSettings
from server.i18n import _, translated
from server.initial_state.base import Snapshot, StateSection
from server.initial_state.realm_fields import AS_STORED, REALM_FIELDS, BillingFields
from server.settings import Settings

LONGPOLL_TIMEOUT_SECONDS: Final = 90
MIN_DAYS_BEFORE_DELETION: Final = 14
EMOJI_DATA_PATH: Final = "/api/v1/emoji_data"
SERVER_GENERATION: Final = 1
"""Would be increased by releases that need clients to reload."""

REALM_PICTURES: Final = ("icon", "logo", "night_logo")

GIF_RATINGS: Final = {
    "disabled": {"name": "GIFs are disabled", "id": 0},
    "y": {"name": "Allow GIFs rated Y (very young audience)", "id": 1},
    "g": {"name": "Allow GIFs rated G (general audience)", "id": 2},
    "pg": {"name": "Allow GIFs rated PG (parental guidance)", "id": 3},
    "pg-13": {"name": "Allow GIFs rated PG-13 (parental guidance, under 13)", "id": 4},
    "r": {"name": "Allow GIFs rated R (restricted)", "id": 5},
}


THUMBNAIL_FORMATS: Final = [
    {
        "name": each.name,
        "max_width": each.max_width,
        "max_height": each.max_height,
        "format": each.format,
        "animated": each.animated,
    }
    for each in thumbnails.FORMATS
]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    return {
        **{f"realm_{name}": getattr(snapshot.settings, name) for name in AS_STORED},
        **_identity(snapshot),
        **_permissions(snapshot),
        **_ways_in(snapshot),
        **_legacy(snapshot),
        **_server(snapshot.server, UserSettings.of(snapshot.actor.row.settings).language),
        **LIMITS,
        "server_supported_permission_settings": supported_permission_settings(
            pins=snapshot.view.pins
        ),
        "max_file_upload_size_mib": snapshot.server.max_file_upload_mib,
        "server_emoji_data_url": snapshot.address.url + EMOJI_DATA_PATH,
        "jitsi_server_url": snapshot.settings.jitsi_server_url or snapshot.server.jitsi_server_url,
    }


def _identity(snapshot: Snapshot) -> dict[str, Any]:
    realm, address = snapshot.realm, snapshot.address
    return {
        **{
            f"realm_{place}_url": realm_picture_url(
                realm, getattr(snapshot.settings, f"{place}_key"), address
            )
            for place in REALM_PICTURES
        },
        "realm_name": realm.name,
        "realm_description": realm.description,
        "realm_date_created": int(realm.created_at.timestamp()),
        "realm_url": address.url,
        "realm_uri": address.url,
        "realm_bot_domain": address.domain,
        "realm_uuid": realm.uuid,
        "realm_available_video_chat_providers": video_chat_providers(snapshot.server.call_services),
        "realm_default_external_accounts": EXTERNAL_ACCOUNTS,
        "realm_is_zephyr_mirror_realm": False,
        "upgrade_text_for_wide_organization_logo": "",
        "zulip_plan_is_not_limited": True,
    }


def _permissions(snapshot: Snapshot) -> dict[str, Any]:
    return {
        f"realm_{name}": snapshot.settings.permission(name, snapshot.graph).as_json()
        for name in REALM_PERMISSIONS
        if snapshot.view.pins or name not in OWN_PERMISSIONS
    }


def _ways_in(snapshot: Snapshot) -> dict[str, Any]:
    """Return the sign-in methods of the realm."""
    settings, available = snapshot.settings, snapshot.server.sign_in_methods
    return {
        "realm_authentication_methods": shown_methods(settings, available),
        "realm_email_auth_enabled": settings.wants_method(PASSWORDS),
        "realm_password_auth_enabled": takes_passwords(settings, available),
    }


def _legacy(snapshot: Snapshot) -> dict[str, Any]:
    """Return duplicates under older names, for older clients."""
    settings, graph = snapshot.settings, snapshot.graph
    return {
        **{
            f"realm_{name}": shown_policy(
                name, settings.permission(OLD_PARAMETERS[name][0], graph), graph
            )
            for name in SHOWN_POLICIES
        },
        "realm_allow_edit_history": settings.message_edit_history_visibility_policy != "none",
        "realm_mandatory_topics": settings.topics_policy == "disable_empty_topic",
        "realm_gif_rating_policy": settings.giphy_rating,
        "gif_rating_policy_options": GIF_RATINGS,
        "giphy_rating_options": GIF_RATINGS,
    }


def _server(server: Settings, language: str) -> dict[str, Any]:
    return {
        "development_environment": server.development,
        "realm_owner_full_content_access": False,
        "server_report_message_types": [
            {"key": key, "name": translated(_(name), language)}
            for key, name in REPORT_TYPES.items()
        ],
        "server_web_public_streams_enabled": server.web_public_channels,
        "server_generation": SERVER_GENERATION,
        "server_jitsi_server_url": server.jitsi_server_url,
        "server_inline_image_preview": True,
        "server_inline_url_embed_preview": server.link_previews,
        "server_avatar_changes_disabled": False,
        "server_name_changes_disabled": False,
        "server_needs_upgrade": False,
        "server_can_summarize_topics": False,
        "server_thumbnail_formats": THUMBNAIL_FORMATS,
        "server_min_deactivated_realm_deletion_days": MIN_DAYS_BEFORE_DELETION,
        "server_max_deactivated_realm_deletion_days": None,
        "settings_send_digest_emails": server.smtp_host is not None,
    }


LIMITS: Final = {
    "event_queue_longpoll_timeout_seconds": LONGPOLL_TIMEOUT_SECONDS,
    "max_avatar_file_size_mib": 5,
    "max_bulk_new_subscription_messages": 100,
    "max_channel_folder_description_length": channel_folders.MAX_DESCRIPTION_LENGTH,
    "max_channel_folder_name_length": channel_folders.MAX_NAME_LENGTH,
    "max_icon_file_size_mib": attachments.MAX_PICTURE_MIB,
    "max_logo_file_size_mib": attachments.MAX_PICTURE_MIB,
    "max_message_length": messages.MAX_MESSAGE_LENGTH,
    "max_reminder_note_length": 1000,
    "max_stream_description_length": channels.MAX_DESCRIPTION_LENGTH,
    "max_stream_name_length": channels.MAX_NAME_LENGTH,
    "max_topic_length": messages.MAX_TOPIC_LENGTH,
    "password_max_length": passwords.MAX_LENGTH,
    "password_min_guesses": passwords.MIN_GUESSES,
    "password_min_length": passwords.MIN_LENGTH,
    "server_presence_offline_threshold_seconds": presence.OFFLINE_AFTER_SECONDS,
    "server_presence_ping_interval_seconds": presence.PING_INTERVAL_SECONDS,
    "server_typing_started_expiry_period_milliseconds": 45_000,
    "server_typing_started_wait_period_milliseconds": 30_000,
    "server_typing_stopped_wait_period_milliseconds": 12_000,
}
"""Constants of the server."""


async def fetch_billing(_: Snapshot) -> dict[str, Any]:
    """Return constants: realms have no billing."""
    return {"realm_billing": {"has_pending_sponsorship_request": False}}


SECTIONS: Final = (
    StateSection("realm", fetch, REALM_FIELDS),
    StateSection("realm_billing", fetch_billing, (BillingFields,)),
)
