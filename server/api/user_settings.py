"""Personal settings over HTTP: one's own, and those with which newcomers start."""

from typing import Any, Final, Literal, get_type_hints

from server.actions import user_settings
from server.actions.user_settings import NewPassword, OwnChange
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Params, declare
from server.domain.accounts import checked_email, checked_password
from server.domain.errors import BadRequestError
from server.domain.user_settings import ONES_OWN, UserSettings
from storage import users

HomeView = Literal["recent_topics", "recent", "inbox", "all_messages"]
NEWER_NAMES: Final = {"recent": "recent_topics"}
"""Values of web_home_view by names that newer clients give them."""


class PersonalParams(Params):
    full_name: str | None = None
    email: str | None = None
    timezone: str | None = None
    old_password: str | None = None
    new_password: str | None = None


_TYPES: Final[dict[str, Any]] = get_type_hints(UserSettings) | {"web_home_view": HomeView}
_TYPES_OF_DEFAULTS: Final[dict[str, Any]] = {
    name: kind for name, kind in _TYPES.items() if name not in ONES_OWN
} | {"twenty_four_hour_time": bool}

SettingsParams = declare("SettingsParams", PersonalParams, **_TYPES)
DefaultsParams = declare("DefaultsParams", Params, **_TYPES_OF_DEFAULTS)


async def change_own(request: Request, params: Params) -> Empty:
    assert isinstance(params, PersonalParams)
    if params.email is not None:
        await _check_address(request, params.email)
    change = OwnChange(
        settings=_settings(params),
        full_name=params.full_name,
        timezone=params.timezone,
        password=await _new_password(request, params),
    )
    await request.write(user_settings.change_own_settings, change)
    return Empty()


async def change_display(request: Request, params: Params) -> Empty:
    """The same under the path that clients of old use for what is shown."""
    return await change_own(request, params)


async def change_notifications(request: Request, params: Params) -> Empty:
    """The same under the path that clients of old use for notifications."""
    return await change_own(request, params)


async def change_defaults(request: Request, params: Params) -> Empty:
    await request.write(user_settings.change_settings_defaults, _settings(params))
    return Empty()


def _settings(params: Params) -> dict[str, Any]:
    """The settings that the request names."""
    given = {n: getattr(params, n) for n in params.model_fields_set if n in _TYPES}
    if "web_home_view" in given:
        view = given["web_home_view"]
        given["web_home_view"] = NEWER_NAMES.get(view, view)
    return given


async def _check_address(request: Request, email: str) -> None:
    """Raise BadRequestError unless that is the caller's address already.

    Whoever claims another one would have to prove by mail that it is theirs.
    """
    if checked_email(email).lower() == request.actor.row.email.lower():
        return
    if (await request.directory.settings()).email_changes_disabled:
        raise BadRequestError("Email address changes are disabled in this organization.")
    raise BadRequestError("The address cannot be changed: it would have to be confirmed by mail.")


async def _new_password(request: Request, params: PersonalParams) -> NewPassword | None:
    """The hash of the password that is wanted, if the present one is right.

    Tries are counted as those to sign in are. Raises BadRequestError.
    """
    if not params.new_password:
        return None
    checked_password(params.new_password)
    actor, passwords = request.actor, request.app.passwords
    await request.count_sign_in(actor.row.email)
    async with request.read() as connection:
        known = await users.password_hash(connection, actor.realm_id, actor.user_id)
    verdict = await passwords.verify(params.old_password or "", known)
    if known is None or not verdict.right:
        raise BadRequestError("Wrong password!")
    await request.forget_sign_ins(actor.row.email)
    return NewPassword(known, await passwords.hash(params.new_password))


ENDPOINTS = (
    Endpoint("PATCH", "/settings", Access.USER, SettingsParams, change_own),
    Endpoint("PATCH", "/settings/display", Access.USER, SettingsParams, change_display),
    Endpoint("PATCH", "/settings/notifications", Access.USER, SettingsParams, change_notifications),
    Endpoint(
        "PATCH", "/realm/user_settings_defaults", Access.ADMIN, DefaultsParams, change_defaults
    ),
)
