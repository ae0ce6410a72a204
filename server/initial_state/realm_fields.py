"""Types of the fields of register's `realm`."""

from typing import Final, TypedDict, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from server.domain.access import GroupValue
from server.domain.permission_settings import OWN_PERMISSIONS, REALM_PERMISSIONS
from server.domain.realm_settings import RealmSettings

AS_STORED: Final = (
    "allow_message_editing",
    "avatar_changes_disabled",
    "default_avatar_source",
    "default_code_block_language",
    "default_language",
    "digest_emails_enabled",
    "digest_weekday",
    "disallow_disposable_email_addresses",
    "email_changes_disabled",
    "emails_restricted_to_domains",
    "empty_topic_display_name",
    "enable_guest_user_dm_warning",
    "enable_guest_user_indicator",
    "enable_read_receipts",
    "enable_spectator_access",
    "giphy_rating",
    "icon_source",
    "inline_image_preview",
    "inline_url_embed_preview",
    "invite_required",
    "jitsi_server_url",
    "logo_source",
    "media_preview_size",
    "message_content_allowed_in_email_notifications",
    "message_content_delete_limit_seconds",
    "message_content_edit_limit_seconds",
    "message_edit_history_visibility_policy",
    "message_retention_days",
    "moderation_request_channel_id",
    "move_messages_between_streams_limit_seconds",
    "move_messages_within_stream_limit_seconds",
    "name_changes_disabled",
    "new_stream_announcements_stream_id",
    "night_logo_source",
    "org_type",
    "plan_type",
    "presence_disabled",
    "push_notifications_enabled",
    "push_notifications_enabled_end_timestamp",
    "require_e2ee_push_notifications",
    "require_unique_names",
    "second_factor_after_provider",
    "second_factor_grace_days",
    "second_factor_required_of",
    "send_channel_events_messages",
    "send_welcome_emails",
    "signup_announcements_stream_id",
    "topics_policy",
    "upload_quota_mib",
    "video_chat_provider",
    "waiting_period_threshold",
    "want_advertise_in_communities_directory",
    "welcome_message_custom_text",
    "zulip_update_announcements_stream_id",
)
"""Settings that are sent as stored, with the prefix `realm_`."""

_STORED: Final = get_type_hints(RealmSettings)

StoredSettings: Final = msgspec.defstruct(
    "StoredSettings", [(f"realm_{name}", _STORED[name]) for name in AS_STORED], kw_only=True
)
RealmPermissions: Final = msgspec.defstruct(
    "RealmPermissions",
    [
        (f"realm_{name}", GroupValue | UnsetType, UNSET)
        if name in OWN_PERMISSIONS
        else (f"realm_{name}", GroupValue)
        for name in REALM_PERMISSIONS
    ],
    kw_only=True,
)


class VideoChatProvider(TypedDict):
    name: str
    id: int


class ExternalAccount(TypedDict):
    """A kind of account that a custom profile field may name."""

    name: str
    text: str
    hint: str
    url_pattern: str


class RealmIdentity(TypedDict):
    realm_icon_url: str
    realm_logo_url: str
    realm_night_logo_url: str
    realm_name: str
    realm_description: str
    realm_date_created: int
    realm_url: str
    realm_uri: str
    realm_bot_domain: str
    realm_uuid: str
    realm_available_video_chat_providers: dict[str, VideoChatProvider]
    realm_default_external_accounts: dict[str, ExternalAccount]
    realm_is_zephyr_mirror_realm: bool
    upgrade_text_for_wide_organization_logo: str
    zulip_plan_is_not_limited: bool


class SignInMethod(TypedDict):
    enabled: bool
    available: bool


class RealmSignIn(TypedDict):
    realm_authentication_methods: dict[str, SignInMethod]
    realm_email_auth_enabled: bool
    realm_password_auth_enabled: bool


class GifRating(TypedDict):
    name: str
    id: int


class LegacyRealmFields(TypedDict):
    realm_create_private_stream_policy: int
    realm_create_public_stream_policy: int
    realm_create_web_public_stream_policy: int
    realm_wildcard_mention_policy: int
    realm_allow_edit_history: bool
    realm_mandatory_topics: bool
    realm_gif_rating_policy: int
    gif_rating_policy_options: dict[str, GifRating]
    giphy_rating_options: dict[str, GifRating]


class ThumbnailFormat(TypedDict):
    name: str
    max_width: int
    max_height: int
    format: str
    animated: bool


class ReportType(TypedDict):
    """A reason to report a message."""

    key: str
    name: str


class ServerFields(TypedDict):
    realm_owner_full_content_access: bool
    server_report_message_types: list[ReportType]
    development_environment: bool
    server_web_public_streams_enabled: bool
    server_generation: int
    server_jitsi_server_url: str | None
    server_inline_image_preview: bool
    server_inline_url_embed_preview: bool
    server_avatar_changes_disabled: bool
    server_name_changes_disabled: bool
    server_needs_upgrade: bool
    server_can_summarize_topics: bool
    server_thumbnail_formats: list[ThumbnailFormat]
    server_min_deactivated_realm_deletion_days: int | None
    server_max_deactivated_realm_deletion_days: int | None
    settings_send_digest_emails: bool
    max_file_upload_size_mib: int
    server_emoji_data_url: str
    jitsi_server_url: str | None


class PermissionRuleFields(msgspec.Struct, kw_only=True):
    """The values that a permission may have."""

    require_system_group: bool
    allow_internet_group: bool
    allow_nobody_group: bool
    allow_everyone_group: bool
    default_group_name: str
    allowed_system_groups: list[str]
    default_for_system_groups: str | msgspec.UnsetType = msgspec.UNSET


class SupportedPermissions(TypedDict):
    """The permissions by what they belong to, and by name."""

    realm: dict[str, PermissionRuleFields]
    stream: dict[str, PermissionRuleFields]
    group: dict[str, PermissionRuleFields]


class LimitFields(TypedDict):
    event_queue_longpoll_timeout_seconds: int
    max_avatar_file_size_mib: int
    max_bulk_new_subscription_messages: int
    max_channel_folder_description_length: int
    max_channel_folder_name_length: int
    max_icon_file_size_mib: int
    max_logo_file_size_mib: int
    max_message_length: int
    max_reminder_note_length: int
    max_stream_description_length: int
    max_stream_name_length: int
    max_topic_length: int
    password_max_length: int
    password_min_guesses: int
    password_min_length: int
    server_presence_offline_threshold_seconds: int
    server_presence_ping_interval_seconds: int
    server_supported_permission_settings: SupportedPermissions
    server_typing_started_expiry_period_milliseconds: int
    server_typing_started_wait_period_milliseconds: int
    server_typing_stopped_wait_period_milliseconds: int


class Billing(TypedDict):
    has_pending_sponsorship_request: bool


class BillingFields(TypedDict):
    realm_billing: Billing


REALM_FIELDS: Final[tuple[type, ...]] = (
    StoredSettings,
    RealmPermissions,
    RealmIdentity,
    RealmSignIn,
    LegacyRealmFields,
    ServerFields,
    LimitFields,
)
