"""Endpoint of the realm's settings."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, get_type_hints

from server.actions.greetings import try_out
from server.actions.realm_settings import RealmChange, change_realm
from server.api import setting_descriptions as texts
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.group_values import GroupUpdateParam, permission_change
from server.api.params import Field, JsonOrBareStr, Params, Part, declare
from server.domain.calls import not_configured
from server.domain.errors import InvalidParameterError
from server.domain.group_settings import PermissionChange
from server.domain.legacy_policies import OLD_PARAMETERS, group_of_policy
from server.domain.markdown import render_description
from server.domain.permission_settings import REALM_PERMISSIONS
from server.domain.realm_changes import (
    MAX_WELCOME_LENGTH,
    TIME_LIMITS,
    VIDEO_CHAT_PROVIDERS,
    video_chat_providers,
)
from server.domain.realm_settings import RealmSettings
from server.domain.sign_in import FOR_DEVELOPERS
from server.i18n import _
from server.settings import Settings
from storage.ids import MessageId

UNLIMITED: Final = "unlimited"
DEFAULT_SERVER: Final = "default"

AS_KEPT: Final[tuple[str, ...]] = (
    "allow_message_editing",
    "avatar_changes_disabled",
    "default_code_block_language",
    "default_language",
    "digest_emails_enabled",
    "digest_weekday",
    "disallow_disposable_email_addresses",
    "email_changes_disabled",
    "emails_restricted_to_domains",
    "enable_guest_user_dm_warning",
    "enable_guest_user_indicator",
    "enable_read_receipts",
    "enable_spectator_access",
    "giphy_rating",
    "inline_image_preview",
    "inline_url_embed_preview",
    "invite_required",
    "media_preview_size",
    "message_content_allowed_in_email_notifications",
    "moderation_request_channel_id",
    "name_changes_disabled",
    "new_stream_announcements_stream_id",
    "org_type",
    "presence_disabled",
    "require_e2ee_push_notifications",
    "require_unique_names",
    "second_factor_after_provider",
    "second_factor_grace_days",
    "send_channel_events_messages",
    "send_welcome_emails",
    "signup_announcements_stream_id",
    "video_chat_provider",
    "waiting_period_threshold",
    "want_advertise_in_communities_directory",
    "zulip_update_announcements_stream_id",
)
"""Settings with the same name and type as their parameters."""

BARE_TEXTS: Final = (
    "default_avatar_source",
    "message_edit_history_visibility_policy",
    "second_factor_required_of",
    "topics_policy",
)
"""Those of them that are given as JSON, or as they are."""

TimeLimit = int | Literal["unlimited"]
Bare = "json-or-bare"


class MethodParam(Part):
    """A sign-in method in the form of clients."""

    enabled: bool
    """Whether the method may be used."""


class IdentityParams(Params):
    name: str | None = None
    """New name of the organization."""
    description: str | None = None
    """Description of the organization, in Markdown."""
    string_id: str | None = None
    """New subdomain. Only owners may change it."""
    jitsi_server_url: JsonOrBareStr | None = None
    """Address of the Jitsi Meet server for calls; `default` for the server's."""
    welcome_message_custom_text: JsonOrBareStr | None = None
    """Text that the welcome bot adds to its greeting of new users."""
    authentication_methods: dict[str, bool | MethodParam] | None = None
    """Methods to sign in by name, each true or false. At least one must stay; only owners may
    change it."""


_HINTS: Final = get_type_hints(RealmSettings)
_OTHER_TYPES: Final[dict[str, Any]] = {
    "allow_edit_history": bool,
    "gif_rating_policy": _HINTS["giphy_rating"],
    "mandatory_topics": bool,
    "message_retention_days": TimeLimit,
}
RealmParams = declare(
    "RealmParams",
    IdentityParams,
    {**texts.REALM, **texts.REALM_PERMISSIONS, **texts.OLD_POLICIES},
    **{name: _HINTS[name] for name in AS_KEPT},
    **{name: Annotated[_HINTS[name], Bare] for name in BARE_TEXTS},
    **dict.fromkeys(TIME_LIMITS, TimeLimit),
    **_OTHER_TYPES,
    **dict.fromkeys(REALM_PERMISSIONS, GroupUpdateParam),
    **dict.fromkeys(OLD_PARAMETERS, int),
)


async def change(request: Request, params: Params) -> Empty:
    assert isinstance(params, IdentityParams)
    _check_calls(params, request.app.settings)
    description = params.description
    wanted = RealmChange(
        name=params.name,
        description=description,
        rendered_description=render_description(description or ""),
        subdomain=params.string_id,
        settings=_settings(params, request.app.settings.sign_in_methods),
        permissions=_permissions(params),
    )
    available = request.app.settings.sign_in_methods
    await request.write(change_realm, wanted, available=available)
    return Empty()


def _check_calls(params: IdentityParams, server: Settings) -> None:
    """Raise InvalidParameterError for a call provider that this server has not configured."""
    name = "video_chat_provider"
    wanted = getattr(params, name, None)
    for provider, shown in VIDEO_CHAT_PROVIDERS.items():
        if shown["id"] == wanted and provider not in video_chat_providers(server.call_services):
            raise InvalidParameterError(name, not_configured(str(shown["name"])))


def _settings(params: IdentityParams, available: Sequence[str]) -> dict[str, Any]:
    """Return the requested settings in their stored form.

    Raises InvalidParameterError.
    """
    given = {name: getattr(params, name) for name in params.model_fields_set}
    wanted: dict[str, Any] = {name: given[name] for name in AS_KEPT if name in given}
    for name in (*TIME_LIMITS, "message_retention_days"):
        if name in given:
            endless = None if name in TIME_LIMITS else -1
            wanted[name] = endless if given[name] == UNLIMITED else _positive(name, given[name])
    wanted |= _by_other_names(given)
    for name in BARE_TEXTS:
        if name in given:
            wanted[name] = given[name]
    if params.welcome_message_custom_text is not None:
        wanted["welcome_message_custom_text"] = params.welcome_message_custom_text
    if params.jitsi_server_url is not None:
        url = params.jitsi_server_url
        wanted["jitsi_server_url"] = None if url == DEFAULT_SERVER else url
    if params.authentication_methods is not None:
        methods = _methods(params.authentication_methods, available)
        wanted["authentication_methods"] = methods
    return wanted


def _by_other_names(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that are stored by another name than that of the parameter."""
    wanted: dict[str, Any] = {}
    if "allow_edit_history" in given:
        shown = "all" if given["allow_edit_history"] else "none"
        wanted["message_edit_history_visibility_policy"] = shown
    if "gif_rating_policy" in given:
        wanted["giphy_rating"] = given["gif_rating_policy"]
    if "mandatory_topics" in given:
        policy = "disable_empty_topic" if given["mandatory_topics"] else "allow_empty_topic"
        wanted["topics_policy"] = policy
    return wanted


def _positive(name: str, value: int) -> int:
    if value <= 0:
        raise InvalidParameterError(
            name, _("Bad value for '{name}': {value}", name=name, value=value)
        )
    return value


def _methods(wanted: dict[str, bool | MethodParam], available: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the enabled methods. Raises InvalidParameterError."""
    name_of_parameter = "authentication_methods"
    unknown = sorted({*wanted} - {*available})
    if unknown:
        raise InvalidParameterError(
            name_of_parameter, _("Invalid authentication method: {value}.", value=unknown[0])
        )
    chosen = [
        name
        for name, how in wanted.items()
        if (how if isinstance(how, bool) else how.enabled) and name != FOR_DEVELOPERS
    ]
    if not chosen:
        raise InvalidParameterError(
            name_of_parameter, _("At least one authentication method must be enabled.")
        )
    return tuple(sorted(chosen))


def _permissions(params: IdentityParams) -> dict[str, PermissionChange]:
    changes: dict[str, PermissionChange] = {}
    for name in params.model_fields_set & OLD_PARAMETERS.keys():
        group = group_of_policy(name, getattr(params, name))
        changes[OLD_PARAMETERS[name][0]] = PermissionChange(group)
    for name in params.model_fields_set & REALM_PERMISSIONS.keys():
        changes[name] = permission_change(getattr(params, name))
    return changes


class WelcomeParams(Params):
    welcome_message_custom_text: Annotated[str, Field(max_length=MAX_WELCOME_LENGTH)]
    """Text to try."""


class WelcomeResult(Result):
    message_id: MessageId


async def try_welcome(request: Request, params: WelcomeParams) -> WelcomeResult:
    """Send the welcome bot's message for new users to the caller as a preview."""
    text = params.welcome_message_custom_text
    return WelcomeResult(message_id=await try_out(request.realm_services, request.actor, text))


ENDPOINTS = (
    Endpoint(
        "PATCH",
        "/realm",
        Access.ADMIN,
        RealmParams,
        change,
        summary="Change the organization's settings",
        description="What is left out stays. Some settings only owners may change.",
    ),
    Endpoint(
        "POST",
        "/realm/test_welcome_bot_custom_message",
        Access.ADMIN,
        WelcomeParams,
        try_welcome,
        WelcomeResult,
        summary="Try the welcome message",
        description="The welcome bot sends the caller what it would send new users.",
    ),
)
