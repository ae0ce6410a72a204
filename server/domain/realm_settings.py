"""Settings of a realm: wire names and defaults."""

from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from server.domain.access import (
    ADMINISTRATORS_GROUP,
    EVERYONE_GROUP,
    MEMBERS_GROUP,
    MODERATORS_GROUP,
    OWNERS_GROUP,
    GroupGraph,
    GroupSetting,
)
from server.domain.permission_settings import REALM_PERMISSIONS
from server.i18n import catalogue_language, uses_24_hours
from storage.users import DefaultAvatar

TEN_MINUTES = 600
ONE_WEEK = 604_800
NO_CHANNEL = -1


class DirectGroup(msgspec.Struct, frozen=True):
    """A permission's value with users and groups, rather than one group."""

    direct_members: tuple[int, ...]
    direct_subgroups: tuple[int, ...]


GroupValue = str | int | DirectGroup
"""A role group by name (the initial value), a group by id, or direct users and groups."""


class RealmSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting of a realm. Storage keeps only what differs from these defaults."""

    # Messages: display and time limits.
    allow_message_editing: bool = True
    message_content_edit_limit_seconds: int | None = TEN_MINUTES
    message_content_delete_limit_seconds: int | None = TEN_MINUTES
    message_edit_history_visibility_policy: Literal["all", "moves", "none"] = "all"
    move_messages_within_stream_limit_seconds: int | None = ONE_WEEK
    move_messages_between_streams_limit_seconds: int | None = ONE_WEEK
    message_retention_days: int = -1
    """-1: kept for ever."""
    topics_policy: Literal["allow_empty_topic", "disable_empty_topic"] = "allow_empty_topic"
    empty_topic_display_name: str = "general chat"
    enable_read_receipts: bool = False
    inline_image_preview: bool = True
    inline_url_embed_preview: bool = False
    default_code_block_language: str = ""
    giphy_rating: Literal[0, 1, 2, 3, 4, 5] = 2
    """Newer clients call it `gif_rating_policy`."""
    default_avatar_source: DefaultAvatar = "G"
    media_preview_size: Literal[100, 150, 200] = 100
    """Height of previews, in pixels of a small screen."""
    send_channel_events_messages: bool = True
    """Whether channels have notices of their own creation and changes."""

    # Admission and roles of new users.
    authentication_methods: tuple[str, ...] = ("Email",)
    """Names of the enabled methods."""
    second_factor_required_of: Literal[
        "nobody", "owners", "administrators", "moderators", "members", "everyone"
    ] = "nobody"
    """Each with those of higher roles."""
    second_factor_grace_days: int = 7
    """For how many days these sign in without one, counted from their first sign-in."""
    second_factor_after_provider: bool = False
    """Whether sign-in through providers asks for the account's second factor, too."""
    emails_restricted_to_domains: bool = False
    disallow_disposable_email_addresses: bool = True
    invite_required: bool = True
    waiting_period_threshold: int = 0
    """Days until a member becomes a full member."""
    enable_spectator_access: bool = False
    send_welcome_emails: bool = True
    welcome_message_custom_text: str = ""
    user_settings_defaults: dict[str, Any] = {}
    """Initial settings of new users that differ from UserSettings."""

    # What users may change about themselves, and how they are shown.
    avatar_changes_disabled: bool = False
    email_changes_disabled: bool = False
    name_changes_disabled: bool = False
    require_unique_names: bool = False
    enable_guest_user_indicator: bool = True
    enable_guest_user_dm_warning: bool = True
    presence_disabled: bool = False

    # Email and notifications.
    digest_emails_enabled: bool = False
    digest_weekday: Literal[0, 1, 2, 3, 4, 5, 6] = 1
    message_content_allowed_in_email_notifications: bool = True
    push_notifications_enabled: bool = False
    push_notifications_enabled_end_timestamp: int | None = None
    require_e2ee_push_notifications: bool = False

    # The realm itself.
    default_language: str = "en"
    org_type: Literal[0, 10, 20, 30, 35, 40, 50, 60, 70, 80, 90, 100, 1000] = 0
    plan_type: int = 1
    icon_source: Literal["G", "U"] = "G"
    logo_source: Literal["D", "U"] = "D"
    night_logo_source: Literal["D", "U"] = "D"
    icon_key: str | None = None
    """Blob key of the icon; None without one."""
    icon_sizes: tuple[int, ...] = ()
    """Larger sizes of the icon that are stored as well, in pixels."""
    logo_key: str | None = None
    night_logo_key: str | None = None
    jitsi_server_url: str | None = None
    """None: the server's default."""
    video_chat_provider: Literal[0, 1, 3, 4, 5, 6, 7, 8] = 1
    upload_quota_mib: int | None = None
    want_advertise_in_communities_directory: bool = False
    moderation_request_channel_id: int = NO_CHANNEL
    new_stream_announcements_stream_id: int = NO_CHANNEL
    signup_announcements_stream_id: int = NO_CHANNEL
    zulip_update_announcements_stream_id: int = NO_CHANNEL

    # Permissions (allowed values are in REALM_PERMISSIONS).
    can_access_all_users_group: GroupValue = EVERYONE_GROUP
    can_add_custom_emoji_group: GroupValue = MEMBERS_GROUP
    can_add_subscribers_group: GroupValue = MEMBERS_GROUP
    can_create_bots_group: GroupValue = MEMBERS_GROUP
    can_create_groups: GroupValue = MEMBERS_GROUP
    can_create_private_channel_group: GroupValue = MEMBERS_GROUP
    can_create_public_channel_group: GroupValue = MEMBERS_GROUP
    can_create_web_public_channel_group: GroupValue = OWNERS_GROUP
    can_create_write_only_bots_group: GroupValue = MEMBERS_GROUP
    can_delete_any_message_group: GroupValue = ADMINISTRATORS_GROUP
    can_delete_own_message_group: GroupValue = EVERYONE_GROUP
    can_invite_users_group: GroupValue = MEMBERS_GROUP
    can_manage_all_groups: GroupValue = OWNERS_GROUP
    can_manage_billing_group: GroupValue = ADMINISTRATORS_GROUP
    can_mention_many_users_group: GroupValue = ADMINISTRATORS_GROUP
    can_move_messages_between_channels_group: GroupValue = MEMBERS_GROUP
    can_move_messages_between_topics_group: GroupValue = EVERYONE_GROUP
    can_pin_group: GroupValue = MODERATORS_GROUP
    can_resolve_topics_group: GroupValue = EVERYONE_GROUP
    can_set_delete_message_policy_group: GroupValue = MODERATORS_GROUP
    can_set_topics_policy_group: GroupValue = MEMBERS_GROUP
    can_summarize_topics_group: GroupValue = EVERYONE_GROUP
    create_multiuse_invite_group: GroupValue = ADMINISTRATORS_GROUP
    direct_message_initiator_group: GroupValue = EVERYONE_GROUP
    direct_message_permission_group: GroupValue = EVERYONE_GROUP
    workplace_users_group: GroupValue = EVERYONE_GROUP

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "RealmSettings":
        """Decode stored settings; raise msgspec.ValidationError for an invalid value."""
        return _decode(msgspec.json.encode(stored)) if stored else DEFAULTS

    def stored(self) -> dict[str, Any]:
        """Return the stored form: the settings that differ from the defaults."""
        return {
            name: msgspec.to_builtins(value)
            for name, value in msgspec.structs.asdict(self).items()
            if value != getattr(DEFAULTS, name)
        }

    def permission(self, name: str, graph: GroupGraph) -> GroupSetting:
        """Return the value of this permission, with group ids."""
        assert name in REALM_PERMISSIONS, name
        value: GroupValue = getattr(self, name)
        if isinstance(value, str):
            return GroupSetting(group_id=graph.ids_by_name[value])
        return graph.as_it_stands(GroupSetting.parse(msgspec.to_builtins(value)))

    def guests_know_all_users(self, graph: GroupGraph) -> bool:
        """Return whether guests know users without a common channel or conversation."""
        setting = self.permission("can_access_all_users_group", graph)
        return setting.group_id == graph.ids_by_name[EVERYONE_GROUP]

    @property
    def language(self) -> str:
        """The language of automatic messages, which has a complete catalogue."""
        return catalogue_language(self.default_language)

    @property
    def start_of_newcomers(self) -> dict[str, Any]:
        """Return the initial personal settings of new users that differ from UserSettings."""
        language = self.default_language
        own: dict[str, Any] = {}
        if language != DEFAULTS.default_language:
            own = {"default_language": language} | clock_of(language)
        return own | self.user_settings_defaults

    def start_of_speaker(self, language: str, tag: str) -> dict[str, Any]:
        """Return the same for a new user with another language, by its tag with the region."""
        clock = DEFAULT_CLOCK | clock_of(tag)
        return {"default_language": language, **clock} | {
            name: value for name, value in self.user_settings_defaults.items() if name in clock
        }

    def wants_method(self, name: str) -> bool:
        """Return whether the realm enables this method."""
        return name in self.authentication_methods


DEFAULT_CLOCK: Final = {"twenty_four_hour_time": False}


def clock_of(tag: str) -> dict[str, Any]:
    """Return the setting of a 24-hour clock, if the language usually has one."""
    return {"twenty_four_hour_time": True} if uses_24_hours(tag) else {}


DEFAULTS: Final = RealmSettings()
NEW_REALM: Final = RealmSettings(enable_read_receipts=True)
"""Settings of a new realm; existing realms keep the defaults where these differ."""

_decoder = msgspec.json.Decoder(RealmSettings)


@lru_cache(maxsize=256)
def _decode(stored: bytes) -> RealmSettings:
    return _decoder.decode(stored)
