"""Account page: email address, password, API keys, notifications, sessions."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Final
from urllib.parse import urlencode

from server.actions.api_keys import NewKey, make_key, regenerate_own, revoke_key
from server.actions.credential_changes import Proof
from server.actions.email_changes import ask_for_new_address, ask_for_own_address, change_address
from server.actions.user_activation import deactivate_own
from server.actions.user_settings import NewPassword, OwnChange, change_own_settings
from server.api.endpoint import Access, Request
from server.api.pages import PageRoute, View
from server.domain.accounts import checked_new_email
from server.domain.api_keys import Scope, checked_name
from server.domain.browsers import browser_name
from server.domain.confirmations import CHANGE_EMAIL, PATHS
from server.domain.credential_changes import Ended
from server.domain.decimals import MAX_ID_DIGITS, number_in
from server.domain.errors import BadRequestError, DomainError
from server.domain.sign_in import PASSWORDS
from server.domain.user_settings import UserSettings
from server.i18n import _
from server.runtime.pages import Page
from server.web.confirming import digest_in, to_confirm
from server.web.endings import done_at, ended_in
from server.web.mailing import count_mail, sends_mail
from server.web.new_passwords import new_password_hash
from server.web.notification_settings import chosen_in, groups_of, periods_of
from server.web.places import ACCOUNT, SIGN_IN
from server.web.rendering import go, said, show
from server.web.sign_in import providers
from storage import api_keys, sessions
from storage.ids import ApiKeyId

EMAIL: Final = f"{ACCOUNT}/email"
CONFIRM_EMAIL: Final = f"{EMAIL}/confirm"
PASSWORD: Final = f"{ACCOUNT}/password"
API_KEY: Final = f"{ACCOUNT}/api-key"
ANOTHER_KEY: Final = f"{API_KEY}/regenerate"
SESSIONS: Final = f"{ACCOUNT}/sessions"
KEYS: Final = f"{ACCOUNT}/keys"
REVOKE: Final = f"{KEYS}/revoke"
CLOSE: Final = f"{ACCOUNT}/close"
NOTIFY: Final = f"{ACCOUNT}/notifications"
CONFIRM: Final = PATHS[CHANGE_EMAIL]

SCOPES: Final = {
    "read": frozenset({Scope.READ}),
    "messages": frozenset({Scope.READ, Scope.MESSAGES}),
    "everything": frozenset({Scope.EVERYTHING}),
}
"""The options of the form for a named key."""
LIFETIMES: Final = {"30": timedelta(days=30), "365": timedelta(days=365), "never": None}
NOTICES: Final = {
    "email-sent": _("An email is on its way to the new address. Go on where its link leads."),
    "email": _("Your account has its new address."),
    "confirmed": _("Your address is confirmed."),
    "confirmation-sent": _("An email is on its way. Go on where its link leads."),
    "password": _("Your password has been changed."),
    "notifications": _("Your notifications are saved."),
    "sessions": _("You are signed out everywhere else."),
    "revoked": _("The key opens nothing any more."),
}


def _in_section(section: str) -> Callable[[View], View]:
    """Render errors of a form in its section of the account page."""

    def with_errors(view: View) -> View:
        @wraps(view)
        async def checked(request: Request) -> Page:
            try:
                return await view(request)
            except DomainError as error:
                return await _account(request, error, section)

        return checked

    return with_errors


async def account(request: Request) -> Page:
    return await _account(request)


@_in_section("email")
async def ask_for_email(request: Request) -> Page:
    """Mail a confirmation link to the new address."""
    email = checked_new_email(request.form_value("email"))
    if email == request.actor.row.email:
        raise BadRequestError(_("This is the address that your account has already."))
    proof = await _proof(request)
    await count_mail(request, email)
    await request.transact(lambda tx: ask_for_new_address(tx, request.actor, email, proof))
    return go(request, f"{ACCOUNT}?done=email-sent")


@_in_section("confirm")
async def ask_to_confirm_email(request: Request) -> Page:
    """Mail a confirmation link to the account's own address."""
    if not sends_mail(request.app):
        raise BadRequestError(_("This server sends no emails. Ask its operator for what you need."))
    await count_mail(request, request.actor.row.email)
    await request.transact(lambda tx: ask_for_own_address(tx, request.actor))
    return go(request, f"{ACCOUNT}?done=confirmation-sent")


async def ask_whether_email(request: Request) -> Page:
    """Return the page of that link. Link scanners change nothing, since it only shows a form."""
    row = await to_confirm(request, CHANGE_EMAIL)
    action = CONFIRM.format(token=request.path_params["token"])
    return await show(request, "email_confirm.html", email=row.email, action=action)


async def confirm_email(request: Request) -> Page:
    digest = digest_in(request)
    confirmed = sends_mail(request.app)
    asked = await to_confirm(request, CHANGE_EMAIL)
    own = None if request.caller is None else request.caller.row
    by = None if own is None else own.user_id
    ended = await request.transact(
        lambda tx: change_address(tx, digest, confirmed=confirmed, by=by)
    )
    done = "confirmed" if own is not None and asked.email == own.email else "email"
    return go(request, done_at(SIGN_IN if own is None else ACCOUNT, done, ended))


@_in_section("password")
async def change_password(request: Request) -> Page:
    """Set or change the password; all other sessions end."""
    actor = request.actor
    proof = await _proof(request)
    if not (await request.realm_cache.settings()).wants_method(PASSWORDS):
        raise BadRequestError(_("Nobody signs in with a password of their own here."))
    new_hash = await new_password_hash(request, actor.row.email, actor.row.full_name)
    new = NewPassword(new_hash, proof, end_keys=bool(request.form_value("end_keys")))
    ended = await request.transact(
        lambda tx: change_own_settings(tx, actor, OwnChange(password=new))
    )
    return go(request, done_at(ACCOUNT, "password", ended))


@_in_section("api-key")
async def show_api_key(request: Request) -> Page:
    """Show the API key after re-authentication, since it gives full access."""
    await _proof(request)
    return await _account(request, api_key=request.actor.row.api_key)


@_in_section("api-key")
async def regenerate_api_key(request: Request) -> Page:
    """Replace the API key; the previous one becomes invalid."""
    actor, end_named = request.actor, bool(request.form_value("end_named"))
    proof = await _proof(request)
    key, ended = await request.transact(
        lambda tx: regenerate_own(tx, actor, proof, end_named=end_named)
    )
    return await _account(request, api_key=key, ended=ended)


@_in_section("keys")
async def make_named_key(request: Request) -> Page:
    """Create a named key. Only this response shows it."""
    actor, now = request.actor, request.app.clock.now()
    new = NewKey(
        name=checked_name(request.form_value("name")),
        scopes=SCOPES.get(request.form_value("scopes"), frozenset()),
        expires_at=expiry_of(request.form_value("days"), now),
    )
    if not new.scopes:
        raise BadRequestError(_("Choose what the key is for."))
    proof = await _proof(request)
    _key_id, key = await request.transact(
        lambda tx: make_key(tx, actor.user_id, new, by=actor.user_id, proof=proof, now=now)
    )
    return await _account(request, named_key=key)


def expiry_of(days: str, now: datetime) -> datetime | None:
    """Return the expiry of a key with this lifetime; None: never. Raises BadRequestError."""
    if days not in LIFETIMES:
        raise BadRequestError(_("Choose for how long the key is good."))
    lifetime = LIFETIMES[days]
    return None if lifetime is None else now + lifetime


@_in_section("notifications")
async def change_notifications(request: Request) -> Page:
    """Save the notification settings; clients get the events."""
    actor = request.actor
    change = OwnChange(settings=chosen_in(request.form))
    await request.transact(lambda tx: change_own_settings(tx, actor, change))
    return go(request, f"{ACCOUNT}?done=notifications")


async def end_sessions(request: Request) -> Page:
    """End all other sessions."""
    actor, session = request.actor, request.session
    async with request.app.database.connection() as connection:
        await sessions.end_of_users(
            connection,
            actor.realm_id,
            [actor.user_id],
            but=None if session is None else session.digest,
        )
    return go(request, f"{ACCOUNT}?done=sessions")


@_in_section("keys")
async def revoke(request: Request) -> Page:
    """Revoke a named key."""
    actor, number = request.actor, number_in(request.form_value("key_id"), MAX_ID_DIGITS)
    if number is None:
        raise BadRequestError(_("No such API key"))
    key_id = ApiKeyId(number)
    await request.transact(lambda tx: revoke_key(tx, actor.user_id, key_id, by=actor.user_id))
    return go(request, f"{ACCOUNT}?done=revoked")


@_in_section("close")
async def close(request: Request) -> Page:
    """Deactivate the account; its sessions end."""
    actor, now = request.actor, request.app.clock.now()
    if not request.form_value("sure"):
        raise BadRequestError(_("Tick the box if you want to close your account."))
    proof = await _proof(request)
    await request.transact(lambda tx: deactivate_own(tx, actor, proof, now=now))
    return go(request, f"{SIGN_IN}?done=closed")


async def _account(
    request: Request,
    error: DomainError | None = None,
    section: str = "",
    *,
    api_key: str = "",
    named_key: str = "",
    ended: Ended | None = None,
) -> Page:
    """Render the page, with an error in its section."""
    actor, realm_cache = request.actor, request.realm_cache
    async with request.app.database.connection() as connection:
        where = await sessions.of_user(connection, actor.realm_id, actor.user_id)
        keys = await api_keys.of_user(connection, actor.realm_id, actor.user_id)
    settings, own_settings = await realm_cache.settings(), UserSettings.of(actor.row.settings)
    own = b"" if request.session is None else request.session.digest
    done = request.query.get("done", "")
    return await show(
        request,
        "account.html",
        error=error,
        problems={} if error is None else {section: said(error)},
        notice=NOTICES.get(done, ""),
        ended=ended_in(request.query) if ended is None and done else ended,
        email=request.form_value("email"),
        name=request.form_value("name"),
        has_password=await request.reauthentication.has_password(),
        is_fresh=await request.reauthentication.is_fresh(),
        sign_in_again=f"{SIGN_IN}?{urlencode({'again': 'yes', 'next': ACCOUNT})}",
        by_password=settings.wants_method(PASSWORDS),
        sites=providers(request, settings, {"next": ACCOUNT}),
        sends_mail=sends_mail(request.app),
        may_change_email=not settings.email_changes_disabled or actor.person.is_administrator,
        api_key=api_key,
        named_key=named_key,
        url=(await realm_cache.address()).url,
        notification_groups=groups_of(own_settings),
        notification_periods=periods_of(own_settings, request.language),
        sessions=where,
        browser_name=browser_name,
        keys=keys,
        own=own,
    )


async def _proof(request: Request) -> Proof:
    """Re-authenticate by the form's password. Raises a DomainError."""
    return await request.reauthentication.prove(request.form_value("password"))


PAGES = (
    PageRoute("GET", ACCOUNT, Access.USER, account),
    PageRoute("POST", EMAIL, Access.USER, ask_for_email),
    PageRoute("POST", CONFIRM_EMAIL, Access.USER, ask_to_confirm_email),
    PageRoute("POST", PASSWORD, Access.USER, change_password),
    PageRoute("POST", API_KEY, Access.USER, show_api_key),
    PageRoute("POST", ANOTHER_KEY, Access.USER, regenerate_api_key),
    PageRoute("POST", NOTIFY, Access.USER, change_notifications),
    PageRoute("POST", SESSIONS, Access.USER, end_sessions),
    PageRoute("POST", KEYS, Access.USER, make_named_key),
    PageRoute("POST", REVOKE, Access.USER, revoke),
    PageRoute("POST", CLOSE, Access.USER, close),
    PageRoute("GET", CONFIRM, Access.ANONYMOUS, ask_whether_email),
    PageRoute("POST", CONFIRM, Access.ANONYMOUS, confirm_email),
)
