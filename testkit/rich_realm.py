"""A realm in which nothing is as it is at first: everything that can be chosen has been."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from server.domain.access import GUEST, MODERATOR, OWNER
from server.domain.permission_settings import (
    CHANNEL_PERMISSIONS,
    GROUP_PERMISSIONS,
    REALM_PERMISSIONS,
)
from server.domain.user_settings import DEFAULTS, ONES_OWN, UserSettings
from server.events.subscriptions import NOTIFICATIONS
from storage import push_devices
from storage.ids import UserId
from testkit.clients.api import Client, LogIn
from testkit.clock import StoppedClock
from testkit.factories import Make
from testkit.images import picture

SERVER: Final[dict[str, Any]] = {
    "bigbluebutton_secret": "secret",
    "bigbluebutton_url": "https://calls.example.com/bigbluebutton/",
    "development": True,
    "giphy_api_key": "gifs",
    "klipy_api_key": "clips",
    "tenor_api_key": "more gifs",
    "jitsi_server_url": "https://meet.example.com",
    "link_previews": False,
    "max_file_upload_mib": 7,
    "smtp_host": "127.0.0.1",
    "smtp_port": 1,
    "web_public_channels": True,
}
"""Settings of the server other than the defaults, as far as clients are told of them."""

REALM: Final[dict[str, Any]] = {
    "allow_message_editing": False,
    "avatar_changes_disabled": True,
    "default_avatar_source": "J",
    "default_code_block_language": "python",
    "default_language": "de",
    "description": "All about soup",
    "digest_emails_enabled": True,
    "digest_weekday": 5,
    "disallow_disposable_email_addresses": False,
    "email_changes_disabled": True,
    "emails_restricted_to_domains": True,
    "enable_guest_user_dm_warning": False,
    "enable_guest_user_indicator": False,
    "enable_read_receipts": True,
    "gif_rating_policy": 4,
    "inline_image_preview": False,
    "inline_url_embed_preview": True,
    "invite_required": False,
    "jitsi_server_url": "https://jitsi.example.com",
    "media_preview_size": 200,
    "message_content_allowed_in_email_notifications": False,
    "message_content_delete_limit_seconds": 120,
    "message_content_edit_limit_seconds": 60,
    "message_edit_history_visibility_policy": "none",
    "message_retention_days": 100,
    "move_messages_between_streams_limit_seconds": 60,
    "move_messages_within_stream_limit_seconds": 60,
    "name": "Soup",
    "name_changes_disabled": True,
    "org_type": 10,
    "require_e2ee_push_notifications": True,
    "require_unique_names": True,
    "second_factor_after_provider": True,
    "second_factor_grace_days": 3,
    "send_channel_events_messages": False,
    "send_welcome_emails": False,
    "topics_policy": "disable_empty_topic",
    "video_chat_provider": 4,
    "waiting_period_threshold": 3,
    "want_advertise_in_communities_directory": True,
    "welcome_message_custom_text": "Hello!",
}

BY_THE_OPERATOR: Final = {
    "authentication_methods": ["GitHub"],
    "empty_topic_display_name": "nothing special",
    "push_notifications_enabled": True,
    "push_notifications_enabled_end_timestamp": 2_000_000_000,
    "upload_quota_mib": 100,
}
"""Settings that no request changes, or none to this server: it knows no other way to sign in."""

OTHER_GROUPS: Final = {
    "can_access_all_users_group": "role:members",
    "can_create_web_public_channel_group": "role:moderators",
    "can_set_delete_message_policy_group": "role:members",
}
"""For permissions that cannot be, or are anyhow, the moderators'."""


SETTINGS: Final = get_type_hints(UserSettings)
NAMED: Final = {"default_language": "de", "notification_sound": "ding"}
"""Texts that are names of something."""


@dataclass(frozen=True, slots=True)
class RichRealm:
    """Some of its people, by their clients."""

    owner: Client
    moderator: Client
    guest: Client

    @property
    def people(self) -> tuple[Client, ...]:
        return self.owner, self.moderator, self.guest


def id_of(client: Client) -> UserId:
    """The id of the client's user."""
    assert client.user is not None
    return client.user.user_id


async def enrich(make: Make, log_in: LogIn) -> RichRealm:
    """Change everything about the realm; its owner has set everything of their own."""
    settings = {"email_address_visibility": 2}
    owner, moderator, guest = [
        await log_in(role=role, settings=settings) for role in (OWNER, MODERATOR, GUEST)
    ]
    realm = RichRealm(owner, moderator, guest)
    await make.change_settings(**BY_THE_OPERATOR)
    await make.notification_bot()
    await _people(make, realm)
    await _channels(make, realm)
    await _messages(realm)
    await _ones_own(make, realm)
    await _organization(owner)
    await _settings(make, owner)
    return realm


async def _people(make: Make, realm: RichRealm) -> None:
    await make.user(is_active=False)
    await make.user(stub="imported")
    owner = realm.owner
    await owner.post("/bots", full_name="Oven", short_name="oven", bot_type=1)
    service = await owner.post(
        "/bots",
        full_name="Waiter",
        short_name="waiter",
        bot_type=3,
        payload_url="https://bots.example.com/",
    )
    await owner.post("/realm/slash_commands", bot_id=service["user_id"], name="menu")
    members = [id_of(realm.moderator)]
    cooks = await owner.post(
        "/user_groups/create",
        name="cooks",
        description="They cook",
        members=members,
        **{name: {"direct_members": members, "direct_subgroups": []} for name in GROUP_PERMISSIONS},
    )
    await owner.post(
        "/user_groups/create", name="all", description="", members=[], subgroups=[cooks["group_id"]]
    )
    closed = await owner.post("/user_groups/create", name="closed", description="", members=[])
    await owner.post(f"/user_groups/{closed['group_id']}/deactivate")
    (await owner.upload("/users/me/avatar", file=("me.png", picture()))).succeeded()


async def _channels(make: Make, realm: RichRealm) -> None:
    """Change every setting of `plans` from its default; conflicting ones are set elsewhere."""
    owner, people = realm.owner, [id_of(client) for client in realm.people]
    folder = await owner.post("/channel_folders/create", name="Kitchen", description="")
    administrators = (await make.role_groups())["role:administrators"]
    await owner.patch("/realm", enable_spectator_access=True)
    await owner.post(
        "/channels/create",
        name="plans",
        description="All *plans*",
        subscribers=people,
        is_web_public=True,
        topics_policy="allow_empty_topic",
        message_retention_days=30,
        default_push_notifications=True,
        folder_id=folder["channel_folder_id"],
        **dict.fromkeys(CHANNEL_PERMISSIONS, administrators),
    )
    for name, more in (
        ("news", {}),
        ("secrets", {"invite_only": True}),
        ("starters", {"is_default_stream": True, "subscribers": []}),
    ):
        await owner.post("/channels/create", **{"name": name, "subscribers": people, **more})
    await owner.delete("/users/me/subscriptions", subscriptions=["news"])
    closed = await owner.post("/channels/create", name="closed", subscribers=people)
    await owner.delete(f"/streams/{closed['id']}")
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    await make.channel(
        "ancient", subscribers=[c.user for c in realm.people if c.user], created_at=long_ago
    )
    await owner.post(
        "/default_stream_groups/create", group_name="more", description="", stream_names=["plans"]
    )


async def _messages(realm: RichRealm) -> None:
    """Some that the moderator has not read."""
    owner, moderator, guest = realm.people
    place = {"type": "channel", "to": "plans", "topic": "soup"}
    await owner.post("/messages", **place, content="hello")
    await owner.post("/messages", **place, content="@**all** hello")
    for to in ([id_of(moderator)], [id_of(moderator), id_of(guest)]):
        await owner.post("/messages", type="direct", to=to, content="hello")


async def _ones_own(make: Make, realm: RichRealm) -> None:
    """Make all that is shown to its owner alone: the moderator."""
    owner, moderator, guest = realm.people
    now = StoppedClock().now()
    later = int((now + timedelta(days=3650)).timestamp())
    [newest] = (await moderator.get("/messages", anchor="newest", num_before=1, num_after=0))[
        "messages"
    ]
    plans = (await moderator.get("/get_stream_id", stream="plans"))["stream_id"]
    await moderator.post("/messages/flags", messages=[newest["id"]], op="add", flag="starred")
    await moderator.post("/users/me/alert_words", alert_words=["soup"])
    draft = {"type": "", "to": [], "topic": "", "content": "Soup is"}
    await moderator.post("/drafts", drafts=[draft])
    await moderator.post("/saved_snippets", title="Soup", content="is ready")
    await moderator.post("/reminders", message_id=newest["id"], scheduled_delivery_timestamp=later)
    await moderator.post(
        "/scheduled_messages",
        type="direct",
        to=[id_of(owner)],
        content="hello",
        scheduled_delivery_timestamp=later,
    )
    await moderator.post(f"/users/me/muted_users/{id_of(guest)}")
    await moderator.post("/users/me/status", status_text="cooking")
    await moderator.post("/users/me/presence", status="active")
    await moderator.post("/user_topics", stream_id=plans, topic="soup", visibility_policy=1)
    await moderator.call(
        "PUT", f"/streams/{plans}/topic_descriptions", topic="soup", description="What we *eat*"
    )
    await moderator.post("/navigation_views", fragment="inbox", is_pinned=True)
    await moderator.post("/users/me/onboarding_steps", onboarding_step="intro_resolve_topic")
    properties = {"color": "#123456", "is_muted": True, "pin_to_top": True}
    properties |= dict.fromkeys(NOTIFICATIONS, True)
    await moderator.post(
        "/users/me/subscriptions/properties",
        subscription_data=[
            {"stream_id": plans, "property": name, "value": value}
            for name, value in properties.items()
        ],
    )
    await moderator.post("/register_client_device")
    await push_devices.put_sealed(
        make.connection,
        make.realm_id,
        id_of(moderator),
        kind="fcm",
        account_id=1,
        public_key=b"key",
        now=now,
    )


async def _organization(owner: Client) -> None:
    """Make all that only administrators make, and an answer of one of them."""
    for path, fields in (
        ("/realm/icon", {}),
        ("/realm/logo", {"night": "false"}),
        ("/realm/logo", {"night": "true"}),
        ("/realm/emoji/soup", {}),
    ):
        (await owner.upload(path, fields, file=("picture.png", picture()))).succeeded()
    await owner.post("/realm/domains", domain="example.com", allow_subdomains=True)
    await owner.post("/realm/filters", pattern="#(?P<id>[0-9]+)", url_template="https://e.org/{id}")
    await owner.post(
        "/realm/playgrounds",
        name="Play",
        pygments_language="Python",
        url_template="https://play.example.com/{code}",
    )
    dish = await owner.post("/realm/profile_fields", name="Dish", field_type=1)
    await owner.patch("/users/me/profile_data", data=[{"id": dish["id"], "value": "soup"}])


async def _settings(make: Make, owner: Client) -> None:
    groups = await make.role_groups()
    plans = (await owner.get("/get_stream_id", stream="plans"))["stream_id"]
    secrets = (await owner.get("/get_stream_id", stream="secrets"))["stream_id"]
    permissions = {
        name: {"new": groups[OTHER_GROUPS.get(name, "role:moderators")]}
        for name in REALM_PERMISSIONS
    }
    await owner.patch(
        "/realm",
        **REALM,
        **permissions,
        moderation_request_channel_id=secrets,
        new_stream_announcements_stream_id=plans,
        signup_announcements_stream_id=plans,
        zulip_update_announcements_stream_id=plans,
    )
    defaults = other_settings(name for name in SETTINGS if name not in ONES_OWN)
    await owner.patch("/realm/user_settings_defaults", **defaults)
    await owner.patch("/settings", **other_settings(SETTINGS), timezone="Asia/Tokyo")


def other_settings(names: Iterable[str]) -> dict[str, Any]:
    """Each of these personal settings with another value than at first."""
    return {name: _other(name) for name in names}


def _other(name: str) -> Any:
    first = getattr(DEFAULTS, name)
    if name in NAMED:
        return NAMED[name]
    if isinstance(first, bool):
        return not first
    if get_origin(SETTINGS[name]) is Literal:
        return next(value for value in get_args(SETTINGS[name]) if value != first)
    return first + 1
