"""Sign in with a password, and sign out."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from server.api.browsers import cookie
from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.api.sign_in import who_signs_in
from server.domain import desktop_flow, mobile_flow
from server.domain.errors import AuthenticationFailedError, DomainError, WrongCredentialsError
from server.domain.realm_settings import RealmSettings
from server.domain.sessions import FORM_TOKEN, SESSION
from server.domain.sign_in import LDAP, PASSWORDS, takes_passwords
from server.i18n import _
from server.runtime.pages import Page
from server.web.completing import complete_sign_in, otps_in
from server.web.conversations import has_spectators
from server.web.endings import ended_in
from server.web.passkey_forms import form_to_use
from server.web.places import SIGN_IN, SIGN_OUT, place_here
from server.web.rendering import go, show
from storage import sessions

NOTICES: Final = {
    "founded": _("The organization is there. Sign in as its owner."),
    "closed": _("Your account is closed. Administrators can open it again."),
    "email": _("Your account has its new address. Sign in with it."),
    "password": _("Your password has been changed. Sign in with it."),
    "late": _("That took too long. Sign in again."),
}
"""The notice after a redirect to this page."""


async def ask(request: Request) -> Page:
    """The sign-in form; a signed-in visitor is redirected at once, unless they sign in `again`.

    Nor are they if an app waits: they sign in for it.
    """
    is_for_app = any(otps_in(request.query))
    if not is_for_app and request.caller is not None and "again" not in request.query:
        return go(request, place_here(request.query.get("next", "")))
    return await sign_in_form(request, request.query)


async def sign_in(request: Request) -> Page:
    """Verify the password, and begin a session."""
    otp, desktop_otp = otps_in(request.form)
    try:
        found = await who_signs_in(
            request.app,
            request.limits,
            request.realm_cache,
            request.form_value("username"),
            request.form_value("password"),
            request.response_headers,
            address=request.remote_address,
        )
    except DomainError as error:
        return await sign_in_form(request, request.form, error)
    return await complete_sign_in(
        request, found, wanted=request.form_value("next"), otp=otp, desktop_otp=desktop_otp
    )


async def sign_out(request: Request) -> Page:
    """End the session, which is shared by all tabs."""
    if request.session is not None:
        async with request.app.database.connection() as connection:
            await sessions.end(connection, request.realm_cache.realm_id, request.session.digest)
    request.cookies += [cookie(request.app, name, "", seconds=0) for name in (SESSION, FORM_TOKEN)]
    return go(request, SIGN_IN)


async def sign_in_form(
    request: Request, sent: Mapping[str, str], error: DomainError | None = None
) -> Page:
    """Return the page with the form as `sent`, with the message of an error."""
    otp, desktop_otp = sent.get(mobile_flow.FIELD, ""), sent.get(desktop_flow.FIELD, "")
    settings, available = await request.realm_cache.settings(), request.app.settings.sign_in_methods
    has_own_passwords = settings.wants_method(PASSWORDS)
    by_name = LDAP in available and settings.wants_method(LDAP)
    if isinstance(error, WrongCredentialsError) and not by_name:
        # The form asks for no name.
        error = AuthenticationFailedError(_("The email address or the password is incorrect."))
    return await show(
        request,
        "sign_in.html",
        error=error,
        has_script=True,
        form_leads_to=f"{request.app.settings.mobile_scheme}:" if otp else "",
        username=sent.get("username", ""),
        next=place_here(sent.get("next", "")),
        otp=otp,
        desktop_otp=desktop_otp,
        notice=NOTICES.get(sent.get("done", ""), ""),
        ended=ended_in(sent) if "done" in sent else None,
        by_password=takes_passwords(settings, available),
        by_name=by_name,
        has_own_passwords=has_own_passwords,
        is_open=has_own_passwords and not settings.invite_required,
        has_spectators=await has_spectators(request) and not (otp or desktop_otp),
        providers=providers(request, settings, sent),
        passkey=await form_to_use(request, "sign_in") if has_own_passwords else None,
    )


def providers(
    request: Request, settings: RealmSettings, sent: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    """Return the identity providers to sign in with: name, label and URL; `sent` is passed on."""
    fields = ("next", mobile_flow.FIELD, desktop_flow.FIELD)
    kept = {name: sent[name] for name in fields if sent.get(name)}
    tail = f"?{urlencode(kept)}" if kept else ""
    wanted = request.app.settings.sign_in_providers
    return [
        (name, wanted.label_of(name), f"/accounts/login/social/{name}{tail}")
        for name in wanted
        if settings.wants_method(wanted.method_of(name))
    ]


PAGES = (
    PageRoute("GET", SIGN_IN, Access.ANONYMOUS, ask),
    PageRoute("POST", SIGN_IN, Access.ANONYMOUS, sign_in),
    PageRoute("POST", SIGN_OUT, Access.USER, sign_out),
)
