"""Sign in with a password, and sign out."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from server.actions.signing_in import enqueue_sign_in_email
from server.api.browsers import cookie, read_cookie
from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.api.sign_in import who_signs_in
from server.domain import desktop_flow, known_browsers, mobile_flow
from server.domain.errors import AuthenticationFailedError, DomainError, WrongCredentialsError
from server.domain.realm_settings import RealmSettings
from server.domain.sessions import (
    FORM_TOKEN,
    SESSION,
    VISITOR,
    Session,
    digest_of,
    new_token,
)
from server.domain.sign_in import LDAP, PASSWORDS, takes_passwords
from server.i18n import _
from server.runtime.pages import Page
from server.web.conversations import has_spectators
from server.web.desktop import give_token
from server.web.endings import ended_in
from server.web.places import SIGN_IN, SIGN_OUT, place_here
from server.web.rendering import go, show
from storage import credentials, server_keys, sessions
from storage.credentials import CredentialsRow
from storage.ids import UserId

MAX_USER_AGENT_LENGTH: Final = 300
NOTICES: Final = {
    "founded": _("The organization is there. Sign in as its owner."),
    "closed": _("Your account is closed. Administrators can open it again."),
    "email": _("Your account has its new address. Sign in with it."),
    "password": _("Your password has been changed. Sign in with it."),
}
"""The notice after a redirect to this page."""


async def ask(request: Request) -> Page:
    """The sign-in form; a signed-in visitor is redirected at once, unless they sign in `again`.

    Nor are they if an app waits: they sign in for it.
    """
    is_for_app = any(otps_in(request.query))
    if not is_for_app and request.caller is not None and "again" not in request.query:
        return go(request, place_here(request.query.get("next", "")))
    return await _form(request, request.query)


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
        return await _form(request, request.form, error)
    return await complete_sign_in(
        request, found, wanted=request.form_value("next"), otp=otp, desktop_otp=desktop_otp
    )


def otps_in(sent: Mapping[str, str]) -> tuple[str, str]:
    """Return the keys of the mobile and of the desktop app that wait; empty without one.

    Raises InvalidParameterError.
    """
    otp, desktop_otp = sent.get(mobile_flow.FIELD, ""), sent.get(desktop_flow.FIELD, "")
    if otp:
        mobile_flow.checked_otp(otp)
    if desktop_otp:
        desktop_flow.checked_key(desktop_otp)
    return otp, desktop_otp


async def complete_sign_in(
    request: Request, found: CredentialsRow, *, wanted: str, otp: str, desktop_otp: str
) -> Page:
    """Begin a session for an authenticated user, or give the app that waits what it needs.

    Redirects to `wanted` if it is a path of this site. An earlier session and CSRF cookie of the
    browser are replaced (session fixation). Raises AuthenticationFailedError if the credentials
    have changed since they were verified.
    """
    if otp:
        await _enqueue_email(request, found.user_id)
        return await _give_to_app(request, found, otp)
    if desktop_otp:
        return await give_token(request, found, desktop_otp)
    await begin_session(request, found.user_id, changed_at=found.changed_at)
    return go(request, place_here(wanted))


async def begin_session(
    request: Request, user_id: UserId, *, changed_at: datetime | None = None
) -> None:
    """Set the cookies of a new session; a previous one of the browser ends.

    `changed_at`: when the verified credentials were last changed. Raises
    AuthenticationFailedError if they have changed since: the new session would outlive the end of
    all others.
    """
    app, realm_id = request.app, request.realm_cache.realm_id
    seconds = app.settings.session_days * 24 * 3600
    token = new_token()
    user_agent = request.headers.get("User-Agent", "")[:MAX_USER_AGENT_LENGTH].replace("\0", "")
    async with app.database.connection() as connection:
        key = await server_keys.key_for(connection, known_browsers.PURPOSE)
    kept = read_cookie(
        app, request.headers, known_browsers.COOKIE, longest=known_browsers.MAX_LENGTH
    )
    known = known_browsers.load(key, realm_id, kept)
    if user_id not in known:
        await _enqueue_email(request, user_id)
    others = [each for each in known if each != user_id]
    async with app.database.transaction() as connection:
        if not await credentials.hold_unchanged(
            connection, realm_id, user_id, changed_at=changed_at
        ):
            raise WrongCredentialsError
        if request.session is not None:
            await sessions.end(connection, realm_id, request.session.digest)
        await sessions.insert(
            connection,
            realm_id,
            user_id,
            digest_of(token),
            user_agent=user_agent,
            seconds=seconds,
        )
    request.session = Session(token, user_id)
    form_token = request.session.form_token
    request.cookies += [
        cookie(app, SESSION, token, seconds=seconds),
        cookie(app, FORM_TOKEN, form_token, seconds=seconds, scripts_may=True),
        cookie(app, VISITOR, "", seconds=0),
        cookie(
            app,
            known_browsers.COOKIE,
            known_browsers.dump(key, realm_id, [*others, user_id]),
            seconds=known_browsers.VALID_SECONDS,
        ),
    ]


async def _enqueue_email(request: Request, user_id: UserId) -> None:
    if request.app.mailer is not None:
        user_agent, now = request.headers.get("User-Agent", ""), request.app.clock.now()
        await request.transact(lambda tx: enqueue_sign_in_email(tx, user_id, user_agent, now=now))


async def sign_out(request: Request) -> Page:
    """End the session, which is shared by all tabs."""
    if request.session is not None:
        async with request.app.database.connection() as connection:
            await sessions.end(connection, request.realm_cache.realm_id, request.session.digest)
    request.cookies += [cookie(request.app, name, "", seconds=0) for name in (SESSION, FORM_TOKEN)]
    return go(request, SIGN_IN)


async def _give_to_app(request: Request, found: CredentialsRow, otp: str) -> Page:
    """Give the app the key that was valid when its user signed in, not a newer one."""
    place = mobile_flow.way_back(
        request.app.settings.mobile_scheme,
        otp,
        realm_url=(await request.realm_cache.address()).url,
        email=found.email,
        user_id=found.user_id,
        key=found.api_key,
    )
    return go(request, place)


async def _form(
    request: Request, sent: Mapping[str, str], error: DomainError | None = None
) -> Page:
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
