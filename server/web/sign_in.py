"""Signing in by password, and out."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from server.actions.signing_in import tell_of_sign_in
from server.api.browsers import cookie, read_cookie
from server.api.endpoint import Access
from server.api.sign_in import who_signs_in
from server.api.visits import PageRoute, Visit
from server.domain import known_browsers
from server.domain.errors import AuthenticationFailedError, DomainError
from server.domain.mobile_flow import checked_otp, way_back
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
from server.runtime.pages import Page
from server.web.conversations import has_spectators
from server.web.endings import ended_in
from server.web.places import SIGN_IN, SIGN_OUT, place_here
from server.web.rendering import go, show
from storage import credentials, server_keys, sessions
from storage.credentials import CredentialsRow
from storage.ids import UserId

MAX_USER_AGENT_LENGTH: Final = 300
NOTICES: Final = {
    "founded": "The organization is there. Sign in as its owner.",
    "closed": "Your account is closed. Administrators can open it again.",
    "email": "Your account has its new address. Sign in with it.",
    "password": "Your password has been changed. Sign in with it.",
}
"""What the page says of what has led to it."""


async def ask(visit: Visit) -> Page:
    """The page with the form; a visitor who has signed in goes on at once, or signs in `again`."""
    otp = visit.query.get("mobile_flow_otp", "")
    if otp:
        checked_otp(otp)
    elif visit.caller is not None and "again" not in visit.query:
        return go(visit, place_here(visit.query.get("next", "")))
    return await _form(visit, visit.query)


async def sign_in(visit: Visit) -> Page:
    """Look at the password, and let its owner in."""
    try:
        found = await who_signs_in(
            visit.app,
            visit.limits,
            visit.realm_cache,
            visit.sent("username"),
            visit.sent("password"),
            visit.limit_headers,
            address=visit.remote_address,
        )
    except DomainError as error:
        return await _form(visit, visit.form, error)
    return await let_in(visit, found, wanted=visit.sent("next"), otp=visit.sent("mobile_flow_otp"))


async def let_in(visit: Visit, found: CredentialsRow, *, wanted: str, otp: str) -> Page:
    """Begin a session for an account whose owner has signed in, or give their app its key.

    They go to the wanted place if it is one of ours. What was known of the browser before is
    forgotten: nobody can have put it there. Raises AuthenticationFailedError if the credentials
    have changed since they were compared.
    """
    if otp:
        await _tell_of_sign_in(visit, found.user_id)
        return await _give_to_app(visit, found, otp)
    await begin_session(visit, found.user_id, changed_at=found.changed_at)
    return go(visit, place_here(wanted))


async def begin_session(
    visit: Visit, user_id: UserId, *, changed_at: datetime | None = None
) -> None:
    """Let the browser be that user's from now on; the session that it had ends.

    `changed_at`: that of the credentials with which they have signed in. Raises
    AuthenticationFailedError if these have changed since: a session that began a moment later would
    outlive the end of all others.
    """
    app, realm_id = visit.app, visit.realm_cache.realm_id
    seconds = app.settings.session_days * 24 * 3600
    token = new_token()
    user_agent = visit.headers.get("User-Agent", "")[:MAX_USER_AGENT_LENGTH].replace("\0", "")
    async with app.database.connection() as connection:
        key = await server_keys.key_for(connection, known_browsers.PURPOSE)
    kept = read_cookie(app, visit.headers, known_browsers.COOKIE, longest=known_browsers.MAX_LENGTH)
    known = known_browsers.load(key, realm_id, kept)
    if user_id not in known:
        await _tell_of_sign_in(visit, user_id)
    others = [each for each in known if each != user_id]
    async with app.database.transaction() as connection:
        if not await credentials.hold_unchanged(
            connection, realm_id, user_id, changed_at=changed_at
        ):
            raise AuthenticationFailedError("Your username or password is incorrect")
        if visit.session is not None:
            await sessions.end(connection, realm_id, visit.session.digest)
        await sessions.insert(
            connection,
            realm_id,
            user_id,
            digest_of(token),
            user_agent=user_agent,
            seconds=seconds,
        )
    visit.session = Session(token, user_id)
    form_token = visit.session.form_token
    visit.cookies += [
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


async def _tell_of_sign_in(visit: Visit, user_id: UserId) -> None:
    if visit.app.mailer is not None:
        user_agent, now = visit.headers.get("User-Agent", ""), visit.app.clock.now()
        await visit.write(lambda tx: tell_of_sign_in(tx, user_id, user_agent, now=now))


async def sign_out(visit: Visit) -> Page:
    """End the session, here and in every other tab."""
    if visit.session is not None:
        async with visit.app.database.connection() as connection:
            await sessions.end(connection, visit.realm_cache.realm_id, visit.session.digest)
    visit.cookies += [cookie(visit.app, name, "", seconds=0) for name in (SESSION, FORM_TOKEN)]
    return go(visit, SIGN_IN)


async def _give_to_app(visit: Visit, found: CredentialsRow, otp: str) -> Page:
    """Send the app the key that was there when its user signed in, not one that came since."""
    place = way_back(
        visit.app.settings.mobile_scheme,
        otp,
        realm_url=(await visit.realm_cache.address()).url,
        email=found.email,
        user_id=found.user_id,
        key=found.api_key,
    )
    return go(visit, place)


async def _form(visit: Visit, sent: Mapping[str, str], error: DomainError | None = None) -> Page:
    otp = sent.get("mobile_flow_otp", "")
    settings, available = await visit.realm_cache.settings(), visit.app.settings.sign_in_methods
    has_own_passwords = settings.wants_method(PASSWORDS)
    return await show(
        visit,
        "sign_in.html",
        error=error,
        form_leads_to=f"{visit.app.settings.mobile_scheme}:" if otp else "",
        username=sent.get("username", ""),
        next=place_here(sent.get("next", "")),
        otp=otp,
        notice=NOTICES.get(sent.get("done", ""), ""),
        ended=ended_in(sent) if "done" in sent else None,
        by_password=takes_passwords(settings, available),
        by_name=LDAP in available and settings.wants_method(LDAP),
        has_own_passwords=has_own_passwords,
        is_open=has_own_passwords and not settings.invite_required,
        has_spectators=await has_spectators(visit) and not otp,
        providers=_providers(visit, settings, sent),
    )


def _providers(
    visit: Visit, settings: RealmSettings, sent: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    """Other sites to sign in at: their names, what to read there, and where that leads."""
    kept = {name: sent[name] for name in ("next", "mobile_flow_otp") if sent.get(name)}
    tail = f"?{urlencode(kept)}" if kept else ""
    wanted = visit.app.settings.sign_in_providers
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
