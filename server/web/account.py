"""Your account: address, password, API key, notifications, and where you are signed in."""

from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from server.actions.api_keys import NewKey, make_key, regenerate_own, revoke_key
from server.actions.credential_changes import Proof
from server.actions.email_changes import ask_for_new_address, change_address
from server.actions.user_activation import deactivate_own
from server.actions.user_settings import NewPassword, OwnChange, change_own_settings
from server.api.endpoint import Access
from server.api.visits import PageRoute, Visit
from server.domain.accounts import checked_new_email
from server.domain.api_keys import Scope, checked_name
from server.domain.browsers import browser_name
from server.domain.confirmations import CHANGE_EMAIL, PATHS
from server.domain.credential_changes import Ended
from server.domain.errors import BadRequestError, DomainError
from server.domain.sign_in import PASSWORDS
from server.domain.user_settings import UserSettings
from server.runtime.pages import Page
from server.web.confirming import digest_in, to_confirm
from server.web.endings import done_at, ended_in
from server.web.mailing import count_mail
from server.web.new_passwords import checked_new_password
from server.web.notification_settings import chosen_in, groups_of, periods_of
from server.web.places import ACCOUNT, SIGN_IN
from server.web.rendering import go, said, show
from storage import api_keys, sessions
from storage.ids import ApiKeyId

EMAIL: Final = f"{ACCOUNT}/email"
PASSWORD: Final = f"{ACCOUNT}/password"
API_KEY: Final = f"{ACCOUNT}/api-key"
ANOTHER_KEY: Final = f"{API_KEY}/regenerate"
SESSIONS: Final = f"{ACCOUNT}/sessions"
KEYS: Final = f"{ACCOUNT}/keys"
REVOKE: Final = f"{KEYS}/revoke"
CLOSE: Final = f"{ACCOUNT}/close"
NOTIFY: Final = f"{ACCOUNT}/notifications"
CONFIRM: Final = PATHS[CHANGE_EMAIL]

MAX_DIGITS: Final = 19
SCOPES: Final = {
    "read": frozenset({Scope.READ}),
    "messages": frozenset({Scope.READ, Scope.MESSAGES}),
    "everything": frozenset({Scope.EVERYTHING}),
}
"""What the page offers for a named key."""
LIFETIMES: Final = {"30": timedelta(days=30), "365": timedelta(days=365), "never": None}
NOTICES: Final = {
    "email-sent": "An email is on its way to the new address. Go on where its link leads.",
    "email": "Your account has its new address.",
    "password": "Your password has been changed.",
    "notifications": "Your notifications are saved.",
    "sessions": "You are signed out everywhere else.",
    "revoked": "The key opens nothing any more.",
}


async def account(visit: Visit) -> Page:
    return await _account(visit)


async def ask_for_email(visit: Visit) -> Page:
    """Mail a link to the new address."""
    try:
        email = checked_new_email(visit.sent("email"))
        if email == visit.actor.row.email:
            raise BadRequestError("This is the address that your account has already.")
        proof = await _proof(visit)
        await count_mail(visit, email)
        await visit.write(lambda tx: ask_for_new_address(tx, visit.actor, email, proof))
    except DomainError as error:
        return await _account(visit, error, "email")
    return go(visit, f"{ACCOUNT}?done=email-sent")


async def ask_whether_email(visit: Visit) -> Page:
    """The page to which that mail leads: programs that look at links change nothing."""
    row = await to_confirm(visit, CHANGE_EMAIL)
    action = CONFIRM.format(token=visit.place["token"])
    return await show(visit, "email_confirm.html", email=row.email, action=action)


async def confirm_email(visit: Visit) -> Page:
    digest = digest_in(visit)
    ended = await visit.write(lambda tx: change_address(tx, digest))
    return go(visit, done_at(SIGN_IN if visit.caller is None else ACCOUNT, "email", ended))


async def change_password(visit: Visit) -> Page:
    """Another password, or the first one; all other sessions end, and this one goes on."""
    actor = visit.actor
    try:
        proof = await _proof(visit)
        if not (await visit.realm_cache.settings()).wants_method(PASSWORDS):
            raise BadRequestError("Nobody signs in with a password of their own here.")
        password = await checked_new_password(visit, actor.row.email, actor.row.full_name)
        new_hash = await visit.app.passwords.hash(password)
        new = NewPassword(new_hash, proof, end_keys=bool(visit.sent("end_keys")))
        ended = await visit.write(
            lambda tx: change_own_settings(tx, actor, OwnChange(password=new))
        )
    except DomainError as error:
        return await _account(visit, error, "password")
    return go(visit, done_at(ACCOUNT, "password", ended))


async def show_api_key(visit: Visit) -> Page:
    """The key, to whoever knows the password: it opens everything."""
    try:
        await _proof(visit)
    except DomainError as error:
        return await _account(visit, error, "api-key")
    return await _account(visit, api_key=visit.actor.row.api_key)


async def regenerate_api_key(visit: Visit) -> Page:
    """Another key: the one before opens nothing any more, on no device."""
    actor, end_named = visit.actor, bool(visit.sent("end_named"))
    try:
        proof = await _proof(visit)
        key, ended = await visit.write(
            lambda tx: regenerate_own(tx, actor, proof, end_named=end_named)
        )
    except DomainError as error:
        return await _account(visit, error, "api-key")
    return await _account(visit, api_key=key, ended=ended)


async def make_named_key(visit: Visit) -> Page:
    """A key for a program: it is shown on the page that answers, and never again."""
    actor, now = visit.actor, visit.app.clock.now()
    try:
        new = NewKey(
            name=checked_name(visit.sent("name")),
            scopes=SCOPES.get(visit.sent("scopes"), frozenset()),
            expires_at=expiry_of(visit.sent("days"), now),
        )
        if not new.scopes:
            raise BadRequestError("Choose what the key is for.")
        proof = await _proof(visit)
        _, key = await visit.write(
            lambda tx: make_key(tx, actor.user_id, new, by=actor.user_id, proof=proof, now=now)
        )
    except DomainError as error:
        return await _account(visit, error, "keys")
    return await _account(visit, named_key=key)


def expiry_of(days: str, now: datetime) -> datetime | None:
    """When a key of this lifetime expires; None: never. Raises BadRequestError."""
    if days not in LIFETIMES:
        raise BadRequestError("Choose for how long the key is good.")
    lifetime = LIFETIMES[days]
    return None if lifetime is None else now + lifetime


async def change_notifications(visit: Visit) -> Page:
    """Save the form of notification settings; all clients get the events."""
    actor = visit.actor
    try:
        change = OwnChange(settings=chosen_in(visit.form))
        await visit.write(lambda tx: change_own_settings(tx, actor, change))
    except DomainError as error:
        return await _account(visit, error, "notifications")
    return go(visit, f"{ACCOUNT}?done=notifications")


async def end_sessions(visit: Visit) -> Page:
    """Sign out everywhere else."""
    actor, session = visit.actor, visit.session
    async with visit.app.database.connection() as connection:
        await sessions.end_of_users(
            connection,
            actor.realm_id,
            [actor.user_id],
            but=None if session is None else session.digest,
        )
    return go(visit, f"{ACCOUNT}?done=sessions")


async def revoke(visit: Visit) -> Page:
    """A key that was given to a program opens nothing any more."""
    actor, number = visit.actor, visit.sent("key_id")
    try:
        if not (number.isascii() and number.isdigit() and len(number) < MAX_DIGITS):
            raise BadRequestError("No such API key")
        key_id = ApiKeyId(int(number))
        await visit.write(lambda tx: revoke_key(tx, actor.user_id, key_id, by=actor.user_id))
    except DomainError as error:
        return await _account(visit, error, "keys")
    return go(visit, f"{ACCOUNT}?done=revoked")


async def close(visit: Visit) -> Page:
    """Close the account; its sessions end with it."""
    actor, now = visit.actor, visit.app.clock.now()
    try:
        if not visit.sent("sure"):
            raise BadRequestError("Tick the box if you want to close your account.")
        proof = await _proof(visit)
        await visit.write(lambda tx: deactivate_own(tx, actor, proof, now=now))
    except DomainError as error:
        return await _account(visit, error, "close")
    return go(visit, f"{SIGN_IN}?done=closed")


async def _account(
    visit: Visit,
    error: DomainError | None = None,
    section: str = "",
    *,
    api_key: str = "",
    named_key: str = "",
    ended: Ended | None = None,
) -> Page:
    """The page; what is wrong stands in its section."""
    actor, realm_cache = visit.actor, visit.realm_cache
    async with visit.app.database.connection() as connection:
        where = await sessions.of_user(connection, actor.realm_id, actor.user_id)
        keys = await api_keys.of_user(connection, actor.realm_id, actor.user_id)
    settings, own_settings = await realm_cache.settings(), UserSettings.of(actor.row.settings)
    own = b"" if visit.session is None else visit.session.digest
    done = visit.query.get("done", "")
    return await show(
        visit,
        "account.html",
        error=error,
        problems={} if error is None else {section: said(error)},
        notice=NOTICES.get(done, ""),
        ended=ended_in(visit.query) if ended is None and done else ended,
        email=visit.sent("email"),
        name=visit.sent("name"),
        has_password=await visit.reauthentication.has_password(),
        is_fresh=await visit.reauthentication.is_fresh(),
        sign_in_again=f"{SIGN_IN}?{urlencode({'again': 'yes', 'next': ACCOUNT})}",
        by_password=settings.wants_method(PASSWORDS),
        may_change_email=not settings.email_changes_disabled or actor.person.is_administrator,
        api_key=api_key,
        named_key=named_key,
        url=(await realm_cache.address()).url,
        notification_groups=groups_of(own_settings),
        notification_periods=periods_of(own_settings),
        sessions=where,
        browser_name=browser_name,
        keys=keys,
        own=own,
    )


async def _proof(visit: Visit) -> Proof:
    """That the account's owner has sent the form. Raises a DomainError."""
    return await visit.reauthentication.prove(visit.sent("password"))


PAGES = (
    PageRoute("GET", ACCOUNT, Access.USER, account),
    PageRoute("POST", EMAIL, Access.USER, ask_for_email),
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
