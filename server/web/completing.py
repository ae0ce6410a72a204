"""Complete a sign-in: ask for the second factor, then begin a session or give an app its key."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from server.actions.signing_in import enqueue_sign_in_email
from server.api.browsers import cookie, read_cookie
from server.api.endpoint import Request
from server.api.second_factors import grace_seconds, needs_second_factor
from server.api.sign_in import begin_account_of
from server.domain import desktop_flow, known_browsers, mobile_flow, unfinished_sign_ins
from server.domain.errors import DomainError, WrongCredentialsError
from server.domain.sessions import (
    FORM_TOKEN,
    SESSION,
    VISITOR,
    Session,
    digest_of,
    new_token,
)
from server.domain.unfinished_sign_ins import UnfinishedSignIn
from server.runtime.pages import Page
from server.web.desktop import give_token
from server.web.enrolments import Enrolment
from server.web.passkey_forms import form_to_use
from server.web.places import place_here
from server.web.rendering import go, show
from storage import credentials, second_factors, server_keys, sessions
from storage.credentials import CredentialsRow
from storage.ids import UserId
from storage.second_factors import TOTP

MAX_USER_AGENT_LENGTH: Final = 300


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
    request: Request, found: CredentialsRow, *, wanted: str, otp: str = "", desktop_otp: str = ""
) -> Page:
    """Ask an authenticated user for the second factor if the account has one, or sign them in."""
    realm_cache = request.realm_cache
    if not await needs_second_factor(request.app, realm_cache, found.user_id):
        return await finish_sign_in(request, found, wanted=wanted, otp=otp, desktop_otp=desktop_otp)
    unfinished = UnfinishedSignIn(
        realm_id=realm_cache.realm_id,
        user_id=found.user_id,
        changed_at=found.changed_at,
        wanted=place_here(wanted),
        otp=otp,
        desktop_otp=desktop_otp,
    )
    async with request.app.database.connection() as connection:
        has_factor = await second_factors.has_any(connection, realm_cache.realm_id, found.user_id)
    if has_factor:
        return await ask_second_factor(request, unfinished)
    return await ask_to_set_up(request, unfinished, found)


async def ask_to_set_up(
    request: Request,
    unfinished: UnfinishedSignIn,
    found: CredentialsRow,
    error: DomainError | None = None,
    *,
    secret: str = "",
) -> Page:
    """Return the page on which a user without a second factor adds the one that is required."""
    realm = await request.realm_cache.realm()
    return await show(
        request,
        "second_factor_set_up.html",
        error=error,
        unfinished=await dumped(request, unfinished),
        name=request.form_value("name"),
        enrolment=await Enrolment.offer(
            request, found.user_id, account=found.email, issuer=realm.name, secret=secret
        ),
    )


async def dumped(request: Request, unfinished: UnfinishedSignIn) -> str:
    """Return the sign-in as a token for a form."""
    async with request.app.database.connection() as connection:
        key = await server_keys.key_for(connection, unfinished_sign_ins.PURPOSE)
    return unfinished.dump(key)


async def ask_second_factor(
    request: Request, unfinished: UnfinishedSignIn, error: DomainError | None = None
) -> Page:
    """Return the page that asks for the second factor."""
    realm_id, user_id = request.realm_cache.realm_id, UserId(unfinished.user_id)
    async with request.app.database.connection() as connection:
        factors = await second_factors.of_user(connection, realm_id, user_id)
    known = [each.credential_id for each in factors if each.credential_id is not None]
    passkey = None
    if known:
        passkey = await form_to_use(request, "second_step", user_id=user_id, known=known)
    return await show(
        request,
        "second_step.html",
        error=error,
        form_leads_to=f"{request.app.settings.mobile_scheme}:" if unfinished.otp else "",
        has_script=passkey is not None,
        passkey=passkey,
        takes_codes=any(each.kind == TOTP for each in factors),
        unfinished=await dumped(request, unfinished),
    )


async def finish_sign_in(
    request: Request,
    found: CredentialsRow,
    *,
    wanted: str,
    otp: str = "",
    desktop_otp: str = "",
    is_vouched: bool = False,
) -> Page:
    """Begin a session for an authenticated user, or give the app that waits what it needs.

    Redirects to `wanted` if it is a path of this site. An earlier session and CSRF cookie of the
    browser are replaced (session fixation). Raises AuthenticationFailedError if the credentials
    have changed since they were verified. `is_vouched`: a provider has signed the user in, and
    asked for what it wants.
    """
    if otp:
        await _enqueue_email(request, found.user_id)
        await begin_account_of(request.app, request.realm_cache, found.user_id)
        return await _give_to_app(request, found, otp)
    if desktop_otp:
        return await give_token(request, found, desktop_otp)
    await begin_session(request, found.user_id, changed_at=found.changed_at, is_vouched=is_vouched)
    return go(request, place_here(wanted))


async def begin_session(
    request: Request,
    user_id: UserId,
    *,
    changed_at: datetime | None = None,
    is_vouched: bool = False,
) -> None:
    """Set the cookies of a new session; a previous one of the browser ends.

    `changed_at`: when the verified credentials were last changed. Raises
    AuthenticationFailedError if they have changed since: the new session would outlive the end of
    all others. Without the second factor that is required the session ends with the grace period,
    unless the user `is_vouched` for by a provider.
    """
    app, realm_id = request.app, request.realm_cache.realm_id
    seconds = app.settings.session_days * 24 * 3600
    grace = None if is_vouched else await grace_seconds(app, request.realm_cache, user_id)
    if grace is not None:
        seconds = min(seconds, int(grace))
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
    await begin_account_of(app, request.realm_cache, user_id)
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
