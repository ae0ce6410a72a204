"""Each field of register is seen with another value than it has for a new organization."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from server.domain.access import OWNER
from server.domain.user_settings import ONES_OWN
from server.initial_state.realm import LIMITS
from testkit.factories import new_realm
from testkit.oracles import contract
from testkit.rich_realm import SERVER, enrich

pytestmark = pytest.mark.asyncio

NEWEST: Final = {
    "archived_channels": True,
    "empty_topic_name": True,
    "include_deactivated_groups": True,
    "linkifier_url_template": True,
    "notification_settings_null": True,
    "reaction_notifications": True,
    "slash_commands": True,
    "user_settings_object": True,
}
REQUESTS: Final[tuple[dict[str, Any], ...]] = (
    {"client_capabilities": NEWEST},
    {},
    {"fetch_event_types": ["muted_topics"], "event_types": []},
)
"""What clients ask for: new ones, old ones, and such as know no other policy than to mute."""
DEFAULTS: Final = "realm_user_settings_defaults"
TAKEN_APART: Final = {"user_settings", DEFAULTS, "unread_msgs"}
"""Each of their fields counts by itself."""

_CHOICES: Final = ("available_notification_sounds", "emojiset_choices")
NEVER: Final[dict[str, tuple[str, ...]]] = {
    "how large and how often, the same for all": tuple(LIMITS),
    "of the answer itself": ("idle_queue_timeout_secs", "last_event_id", "msg", "result"),
    "of the release": (
        "server_generation",
        "server_needs_upgrade",
        "service_feature_level",
        "service_merge_base",
        "service_version",
        "zulip_feature_level",
        "zulip_merge_base",
        "zulip_version",
    ),
    "what an owner without a second factor may not require": ("realm_second_factor_required_of",),
    "what there is to choose from": (
        *_CHOICES,
        *(f"{of}.{name}" for of in ("user_settings", DEFAULTS) for name in _CHOICES),
        "custom_profile_field_types",
        "gif_rating_policy_options",
        "giphy_rating_options",
        "realm_default_external_accounts",
        "realm_incoming_webhook_bots",
        "server_supported_permission_settings",
        "server_thumbnail_formats",
    ),
    "what this server has not, or not otherwise": (
        "has_webex_token",
        "has_zoom_token",
        "realm_billing",
        "realm_embedded_bots",
        "realm_filters",
        "realm_is_zephyr_mirror_realm",
        "realm_owner_full_content_access",
        "realm_plan_type",
        "server_avatar_changes_disabled",
        "server_can_summarize_topics",
        "server_inline_image_preview",
        "server_max_deactivated_realm_deletion_days",
        "server_min_deactivated_realm_deletion_days",
        "server_name_changes_disabled",
        "stop_words",
        "upgrade_text_for_wide_organization_logo",
        "zulip_plan_is_not_limited",
    ),
    "what an organization does not choose for people": tuple(
        f"{DEFAULTS}.{name}" for name in ONES_OWN
    ),
    "of the database of the server": ("web_push_public_key",),
    "no film is made of this server": ("navigation_tour_video_url",),
    "only where tens of thousands of messages are unread": ("unread_msgs.old_unreads_missing",),
}
"""Fields that do not differ, by the reason. Whatever else register tells has to."""


LISTED: Final = ("streams", "subscriptions", "realm_users", "realm_user_groups")
"""Each of the fields of their items counts by itself, too."""


def fields_of(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each field, and its value as text."""
    for name, value in body.items():
        if name in TAKEN_APART:
            for inner, one in value.items():
                yield f"{name}.{inner}", json.dumps(one)
        else:
            yield name, json.dumps(value)
        if name in LISTED:
            for item in value:
                yield from ((f"{name}[].{inner}", json.dumps(one)) for inner, one in item.items())


async def seen(*clients):
    """By field, the values that these people's clients are told."""
    values: dict[str, set[str]] = {}
    for client in clients:
        for request in REQUESTS:
            body = await client.post("/register", **request)
            fetched = request.get("fetch_event_types", "all")
            contract.validate_register(body, fetched)
            for name, value in fields_of(body):
                values.setdefault(name, set()).add(value)
    return values


async def test_every_field_may_differ_from_what_a_new_organization_has(
    database, server, serving_with, make, connect
):
    async with database.connection() as connection:
        plain = await new_realm(connection)
        await connection.execute(
            "UPDATE realms SET created_at = '2020-01-01' WHERE realm_id = %(realm_id)s",
            realm_id=plain.realm_id,
        )
        founder = await connect(server, plain.realm_id, await plain.user(role=OWNER))
        await founder.post("/channels/create", name="first", subscribers=[founder.user.user_id])
        at_first = await seen(founder)

    async with serving_with(**SERVER) as other_server:

        async def log_in(**facts):
            return await connect(other_server, make.realm_id, await make.user(**facts))

        realm = await enrich(make, log_in)
        later = await seen(*realm.people)
        await realm.owner.patch("/realm", presence_disabled=True)  # hides that of all users
        for name, values in (await seen(realm.owner)).items():
            later[name] |= values

    same = {name for name in at_first | later if not later[name] - at_first[name]}
    assert same == {name for names in NEVER.values() for name in names}
