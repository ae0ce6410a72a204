"""Your account: address, password, API key, and where you are signed in."""

from typing import Final

from server.actions.api_keys import regenerate_own, revoke_key
from server.actions.email_changes import ask_for_new_address, change_address
from server.actions.user_activation import deactivate_own
from server.actions.user_settings import NewPassword, OwnChange, change_own_settings
from server.api.endpoint import Access
from server.api.visits import PageRoute, Visit
from server.domain.accounts import checked_new_email
from server.domain.browsers import browser_name
from server.domain.confirmations import CHANGE_EMAIL, PATHS
from server.domain.errors import BadRequestError, DomainError
from server.domain.sign_in import PASSWORDS
from server.pages import Page
from server.web.confirming import digest_in, to_confirm
from server.web.mailing import count_mail
from server.web.new_passwords import checked_new_password
from server.web.places import ACCOUNT, SIGN_IN
from server.web.rendering import go, said, show
from storage import api_keys, credentials, sessions
from storage.ids import ApiKeyId

EMAIL: Final = f"{ACCOUNT}/email"
PASSWORD: Final = f"{ACCOUNT}/password"
API_KEY: Final = f"{ACCOUNT}/api-key"
ANOTHER_KEY: Final = f"{API_KEY}/regenerate"
SESSIONS: Final = f"{ACCOUNT}/sessions"
REVOKE: Final = f"{ACCOUNT}/keys/revoke"
CLOSE: Final = f"{ACCOUNT}/close"
CONFIRM: Final = PATHS[CHANGE_EMAIL]

MAX_DIGITS: Final = 19
NOTICES: Final = {
    "email-sent": "An email is on its way to the new address. Go on where its link leads.",
    "email": "Your account has its new address.",
    "password": "Your password has been changed. Whoever was signed in elsewhere no longer is.",
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
        await _check_present_password(visit)
        await count_mail(visit, email)
        await visit.write(lambda tx: ask_for_new_address(tx, visit.actor, email))
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
    await visit.write(lambda tx: change_address(tx, digest))
    return go(visit, f"{SIGN_IN if visit.caller is None else ACCOUNT}?done=email")


async def change_password(visit: Visit) -> Page:
    """Another password; all other sessions end, and this one goes on."""
    actor, session = visit.actor, visit.session
    try:
        known = await _check_present_password(visit)
        if known is None:
            raise BadRequestError("You have no password yet: choose one by email.")
        password = await checked_new_password(visit, actor.row.email, actor.row.full_name)
        new_hash = await visit.app.passwords.hash(password)
        own = None if session is None else session.digest
        change = OwnChange(password=NewPassword(known, new_hash, own))
        await visit.write(lambda tx: change_own_settings(tx, actor, change))
    except DomainError as error:
        return await _account(visit, error, "password")
    return go(visit, f"{ACCOUNT}?done=password")


async def show_api_key(visit: Visit) -> Page:
    """The key, to whoever knows the password: it opens everything."""
    try:
        await _check_present_password(visit)
    except DomainError as error:
        return await _account(visit, error, "api-key")
    return await _account(visit, api_key=visit.actor.row.api_key)


async def regenerate_api_key(visit: Visit) -> Page:
    """Another key: the one before opens nothing any more, on no device."""
    actor = visit.actor
    try:
        await _check_present_password(visit)
    except DomainError as error:
        return await _account(visit, error, "api-key")
    key = await visit.write(lambda tx: regenerate_own(tx, actor))
    return await _account(visit, api_key=key)


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
        await _check_present_password(visit)
        await visit.write(lambda tx: deactivate_own(tx, actor, now=now))
    except DomainError as error:
        return await _account(visit, error, "close")
    return go(visit, f"{SIGN_IN}?done=closed")


async def _account(
    visit: Visit, error: DomainError | None = None, section: str = "", api_key: str = ""
) -> Page:
    """The page; what is wrong stands in its section."""
    actor, directory = visit.actor, visit.directory
    has_password = await _known_hash(visit) is not None
    async with visit.app.database.connection() as connection:
        where = await sessions.of_user(connection, actor.realm_id, actor.user_id)
        keys = await api_keys.of_user(connection, actor.realm_id, actor.user_id)
    settings = await directory.settings()
    own = b"" if visit.session is None else visit.session.digest
    return await show(
        visit,
        "account.html",
        error=error,
        problems={} if error is None else {section: said(error)},
        notice=NOTICES.get(visit.query.get("done", ""), ""),
        email=visit.sent("email"),
        has_password=has_password,
        by_password=settings.wants_method(PASSWORDS),
        may_change_email=not settings.email_changes_disabled or actor.person.is_administrator,
        api_key=api_key,
        url=(await directory.address()).url,
        sessions=where,
        browser_name=browser_name,
        keys=keys,
        own=own,
    )


async def _check_present_password(visit: Visit) -> str | None:
    """The hash of the password that was typed; None for who has none. Raises DomainError.

    Tries are counted as those to sign in are.
    """
    actor = visit.actor
    known = await _known_hash(visit)
    if known is None:
        return None
    await visit.limits.count_sign_in(actor.realm_id, actor.row.email, visit.limit_headers)
    verdict = await visit.app.passwords.verify(visit.sent("password"), known)
    if not verdict.right:
        raise BadRequestError("Wrong password!")
    await visit.limits.forget_sign_ins(actor.realm_id, actor.row.email)
    return known


async def _known_hash(visit: Visit) -> str | None:
    """Of the password with which they sign in; None for who does not sign in with one of ours."""
    if not (await visit.directory.settings()).wants_method(PASSWORDS):
        return None
    async with visit.app.database.connection() as connection:
        return await credentials.password_hash(
            connection, visit.actor.realm_id, visit.actor.user_id
        )


PAGES = (
    PageRoute("GET", ACCOUNT, Access.USER, account),
    PageRoute("POST", EMAIL, Access.USER, ask_for_email),
    PageRoute("POST", PASSWORD, Access.USER, change_password),
    PageRoute("POST", API_KEY, Access.USER, show_api_key),
    PageRoute("POST", ANOTHER_KEY, Access.USER, regenerate_api_key),
    PageRoute("POST", SESSIONS, Access.USER, end_sessions),
    PageRoute("POST", REVOKE, Access.USER, revoke),
    PageRoute("POST", CLOSE, Access.USER, close),
    PageRoute("GET", CONFIRM, Access.ANONYMOUS, ask_whether_email),
    PageRoute("POST", CONFIRM, Access.ANONYMOUS, confirm_email),
)
