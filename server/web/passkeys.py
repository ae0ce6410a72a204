"""Sign-in with a passkey: instead of a password, or as the second factor."""

from typing import Final

from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.api.second_factors import use_passkey
from server.domain.errors import (
    AuthenticationFailedError,
    DomainError,
    PasswordAuthDisabledError,
    RealmDeactivatedError,
)
from server.domain.sign_in import PASSWORDS
from server.i18n import _
from server.runtime.pages import Page
from server.web.completing import ask_second_factor, finish_sign_in, otps_in
from server.web.places import PASSKEY_SECOND_STEP, PASSKEY_SIGN_IN
from server.web.rendering import go
from server.web.second_step import LATE, SignInEndedError, end_unfinished, unfinished_in
from server.web.sign_in import sign_in_form
from storage import credentials
from storage.credentials import CredentialsRow

CLOSED: Final = _("Password authentication is disabled in your organization")


async def sign_in(request: Request) -> Page:
    """Sign in with a passkey alone, after its device has verified the user."""
    otp, desktop_otp = otps_in(request.form)
    try:
        found = await _user_of_passkey(request)
    except DomainError as error:
        return await sign_in_form(request, request.form, error)
    wanted = request.form_value("next")
    return await finish_sign_in(request, found, wanted=wanted, otp=otp, desktop_otp=desktop_otp)


async def _user_of_passkey(request: Request) -> CredentialsRow:
    """Return the user of the form's passkey.

    Raises DomainError, also where the organization takes no passwords: there, others decide who
    signs in.
    """
    realm_cache = request.realm_cache
    if (await realm_cache.realm()).deactivated:
        raise RealmDeactivatedError(_("This organization has been deactivated"))
    if not (await realm_cache.settings()).wants_method(PASSWORDS):
        raise PasswordAuthDisabledError(CLOSED)
    user_id = await use_passkey(request, "sign_in")
    async with request.app.database.connection() as connection:
        found = await credentials.by_id(connection, realm_cache.realm_id, user_id)
    if not found.is_active:
        raise AuthenticationFailedError(_("Account is deactivated"))
    return found


async def verify(request: Request) -> Page:
    """Finish a sign-in by a passkey as the second factor."""
    try:
        unfinished, found = await unfinished_in(request)
    except SignInEndedError:
        return go(request, LATE)
    try:
        await use_passkey(request, "second_step", user_id=found.user_id, email=found.email)
    except DomainError as error:
        return await ask_second_factor(request, unfinished, error)
    return await end_unfinished(request, unfinished, found)


PAGES = (
    PageRoute("POST", PASSKEY_SIGN_IN, Access.ANONYMOUS, sign_in),
    PageRoute("POST", PASSKEY_SECOND_STEP, Access.ANONYMOUS, verify),
)
