"""Endpoints of personal settings, and of the defaults for new users."""

from typing import Any, Final, Literal, get_type_hints

from server.actions import user_settings
from server.actions.credential_changes import Proof
from server.actions.email_changes import ask_for_new_address
from server.actions.settings_of_others import (
    ONES_OWN_TO_CHANGE,
    SettingsTargets,
    change_settings_of_others,
)
from server.actions.user_settings import NewPassword, OwnChange
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Field, Params, StrictPart, declare
from server.api.setting_descriptions import PERSONAL
from server.domain.accounts import checked_new_email, checked_password
from server.domain.api_keys import Scope
from server.domain.errors import BadRequestError, PasswordAuthDisabledError
from server.domain.sign_in import PASSWORDS
from server.domain.user_settings import ONES_OWN, UserSettings
from server.i18n import _
from storage.address_folding import fold_address
from storage.ids import GroupId, UserId

OF_THE_ACCOUNT: Final = frozenset(
    {"full_name", "email", "timezone", "old_password", "new_password"}
)
"""Parameters that cannot go with `target_users`."""
HomeView = Literal["recent_topics", "recent", "inbox", "all_messages"]
NEWER_NAMES: Final = {"recent": "recent_topics"}
"""Values of web_home_view by their newer names."""


class TargetUsers(StrictPart):
    user_ids: list[UserId] = Field(default_factory=list)
    """Ids of people."""
    group_ids: list[GroupId] = Field(default_factory=list)
    """Ids of groups: their active members and those of the groups in them, except bots."""
    skip_if_already_edited: bool
    """Whether a setting that a user has ever changed stays as it is for that user."""


class PersonalParams(Params):
    full_name: str | None = None
    """New name."""
    email: str | None = None
    """New email address, to be confirmed by a link. It needs `old_password`."""
    timezone: str | None = None
    """Time zone, such as `Europe/Berlin`; empty for none."""
    old_password: str | None = None
    """Present password, required with `email` and `new_password` if the account has one. Without
    one, they need a session that began within the last ten minutes.
    """
    new_password: str | None = None
    """New password, or the first one. All other sessions end, and what is pending for the
    account."""
    target_users: TargetUsers | None = None
    """For administrators: the users to change settings of, instead of the caller. Names, time
    zones, addresses, passwords, and settings of privacy and of mail are for users themselves."""


_TYPES: Final[dict[str, Any]] = get_type_hints(UserSettings) | {"web_home_view": HomeView}
_TYPES_OF_DEFAULTS: Final[dict[str, Any]] = {
    name: kind for name, kind in _TYPES.items() if name not in ONES_OWN
} | {"twenty_four_hour_time": bool}

SettingsParams = declare("SettingsParams", PersonalParams, PERSONAL, **_TYPES)
DefaultsParams = declare("DefaultsParams", Params, PERSONAL, **_TYPES_OF_DEFAULTS)


async def change_own(request: Request, params: Params) -> Empty:
    """Change the caller's settings; named keys cannot change address and password."""
    assert isinstance(params, PersonalParams)
    if params.target_users is not None:
        return await _change_others(request, params, params.target_users)
    email = await _new_address(request, params)
    if email is not None or params.new_password:
        request.check_reaches(Scope.ACCOUNT)
        request.refuse_bots()  # their addresses follow from their names, and they sign in by keys
        proof = await request.reauthentication.prove(params.old_password)
    else:
        proof = None
    change = OwnChange(
        settings=_settings(params),
        full_name=params.full_name,
        timezone=params.timezone,
        password=None if proof is None else await _new_password(request, params, proof),
    )
    await request.write(user_settings.change_own_settings, change)
    if email is not None and proof is not None:
        await _ask_for_address(request, email, proof)
    return Empty()


async def _change_others(request: Request, params: PersonalParams, wanted: TargetUsers) -> Empty:
    """Change settings of other users, as an administrator. Raises a DomainError."""
    request.refuse_bots()
    if params.model_fields_set & OF_THE_ACCOUNT:
        raise BadRequestError(ONES_OWN_TO_CHANGE)
    targets = SettingsTargets(
        user_ids=wanted.user_ids,
        group_ids=wanted.group_ids,
        skip_if_already_edited=wanted.skip_if_already_edited,
    )
    await request.write(change_settings_of_others, targets, _settings(params))
    return Empty()


async def change_display(request: Request, params: Params) -> Empty:
    """Change display settings, under the path of older clients."""
    return await change_own(request, params)


async def change_notifications(request: Request, params: Params) -> Empty:
    """Change notification settings, under the path of older clients."""
    return await change_own(request, params)


async def change_defaults(request: Request, params: Params) -> Empty:
    await request.write(user_settings.change_settings_defaults, _settings(params))
    return Empty()


def _settings(params: Params) -> dict[str, Any]:
    """Return the requested settings."""
    given = {n: getattr(params, n) for n in params.model_fields_set if n in _TYPES}
    if "web_home_view" in given:
        view = given["web_home_view"]
        given["web_home_view"] = NEWER_NAMES.get(view, view)
    return given


async def _new_address(request: Request, params: PersonalParams) -> str | None:
    """Return the requested address, if it is a new one. Raises a DomainError."""
    if params.email is None:
        return None
    request.check_reaches(Scope.ACCOUNT)
    request.refuse_bots()
    email = checked_new_email(params.email)
    return None if fold_address(email) == fold_address(request.actor.row.email) else email


async def _ask_for_address(request: Request, email: str, proof: Proof) -> None:
    """Enqueue a confirmation link to the new address."""
    if request.app.mailer is None:
        raise BadRequestError(_("The address cannot be changed: this server sends no emails."))
    await request.limits.count_account_mail(
        request.actor.realm_id, email, request.remote_address, request.response_headers
    )
    await request.write(ask_for_new_address, email, proof)


async def _new_password(
    request: Request, params: PersonalParams, proof: Proof
) -> NewPassword | None:
    """Return the hash of the requested password. Raises a DomainError."""
    if not params.new_password:
        return None
    checked_password(params.new_password)
    if not (await request.realm_cache.settings()).wants_method(PASSWORDS):
        raise PasswordAuthDisabledError(
            _("Password authentication is disabled in your organization")
        )
    row, passwords = request.actor.row, request.app.passwords
    if await passwords.is_weak(params.new_password, row.email, row.full_name):
        raise BadRequestError(_("New password is too weak!"))
    return NewPassword(await passwords.hash(params.new_password), proof)


ENDPOINTS = (
    Endpoint(
        "PATCH",
        "/settings",
        Access.USER,
        SettingsParams,
        change_own,
        summary="Change your settings, name, email address or password",
        description=(
            "What is left out stays. Another email address takes effect once the link in a mail"
            " sent there has been followed. With `target_users` administrators change settings of"
            " other users, of all of them or of none."
        ),
    ),
    Endpoint(
        "PATCH",
        "/settings/display",
        Access.USER,
        SettingsParams,
        change_display,
        summary="Change your display settings (older form)",
        description="Does the same as `PATCH /settings`.",
    ),
    Endpoint(
        "PATCH",
        "/settings/notifications",
        Access.USER,
        SettingsParams,
        change_notifications,
        summary="Change your notification settings (older form)",
        description="Does the same as `PATCH /settings`.",
    ),
    Endpoint(
        "PATCH",
        "/realm/user_settings_defaults",
        Access.ADMIN,
        DefaultsParams,
        change_defaults,
        summary="Change the settings with which new users start",
        description="What is left out stays. Existing users keep theirs.",
    ),
)
