"""Invitation pages: choose a name and a password to create an account."""

from typing import Final, NamedTuple

from server.actions.joining import (
    NOT_OURS,
    HasAccountError,
    LinkError,
    Newcomer,
    accept,
    ask_by_link,
    check_address,
    check_still_invites,
    join_by_link,
    open_invitation,
)
from server.api.endpoint import Access, Request
from server.api.languages import settings_of_newcomer
from server.api.pages import PageRoute
from server.domain.access import GUEST, Person
from server.domain.accounts import checked_full_name, checked_new_email
from server.domain.channels import Standing
from server.domain.errors import BadRequestError, DomainError, RateLimitedError
from server.domain.invitations import PATH, PURPOSE, Key, link_key, read_token
from server.domain.realm_settings import RealmSettings
from server.domain.sign_in import PASSWORDS
from server.i18n import _, marked
from server.runtime.pages import Page
from server.web.completing import begin_session
from server.web.mailing import count_mail, sends_mail
from server.web.new_passwords import new_password_hash
from server.web.places import HOME, SIGN_IN
from server.web.rendering import go, show
from storage import server_keys
from storage.ids import UserId
from storage.invitations import InvitationRow
from storage.realms import RealmRow
from storage.users import UserRow

NO_WAY: Final = marked(
    "This server sends no emails, and this organization takes no passwords: ask {inviter} to"
    " invite your address, and sign in as others do here."
)


class _Opened(NamedTuple):
    """An open invitation."""

    realm: RealmRow
    key: Key
    row: InvitationRow
    inviter: UserRow


async def look(request: Request) -> Page:
    """Return the page of the link."""
    opened = await _open(request)
    if _is_direct(request, opened):
        return await _form(request, opened)
    if opened.row.email is None:
        if "sent" in request.query:
            return await show(request, "join_sent.html", realm_name=opened.realm.name)
        return await _address_form(request, opened)
    async with request.app.database.connection() as connection:
        try:
            await check_address(connection, opened.realm, opened.row.email)
        except HasAccountError as error:
            return await _refusal(request, error, place=SIGN_IN)
    return await _form(request, opened)


async def join(request: Request) -> Page:
    """Create the account, and sign its owner in."""
    opened = await _open(request)
    is_direct = _is_direct(request, opened)
    if opened.row.email is None and not is_direct:
        return await _ask(request, opened)
    try:
        user_id = await (_join_directly if is_direct else _accept)(request, opened)
    except HasAccountError as error:
        return await _refusal(request, error, place=SIGN_IN)
    except (BadRequestError, RateLimitedError) as error:
        return await _form(request, opened, error)
    await begin_session(request, user_id)
    return go(request, HOME)


async def _accept(request: Request, opened: _Opened) -> UserId:
    """Create an account with the address to which the invitation was mailed."""
    newcomer, now = (
        await _newcomer(request, opened, opened.row.email or ""),
        request.app.clock.now(),
    )
    return await request.transact(lambda tx: accept(tx, opened.key, newcomer, now=now))


async def _join_directly(request: Request, opened: _Opened) -> UserId:
    """Create an account with the entered address, on a server that cannot confirm it by mail."""
    email = checked_new_email(request.form_value("email"))
    await request.limits.count_join(request.remote_address, request.response_headers)
    newcomer, now = await _newcomer(request, opened, email), request.app.clock.now()
    link_id = opened.row.invitation_id
    return await request.transact(lambda tx: join_by_link(tx, link_id, email, newcomer, now=now))


def _is_direct(request: Request, opened: _Opened) -> bool:
    """Return whether this is a reusable link, on a server that sends no mail to visitors.

    Raises BadRequestError if the organization does not allow passwords: its accounts could be
    signed in to by the address alone.
    """
    if opened.row.email is not None or sends_mail(request.app):
        return False
    if not _takes_passwords(opened):
        raise BadRequestError(_(NO_WAY, inviter=opened.inviter.full_name))
    return True


async def _open(request: Request) -> _Opened:
    """Return the invitation of this page's link. Raises LinkError."""
    key = read_token(request.path_params["token"])
    if key is None:
        raise LinkError(NOT_OURS)
    realm, now = await request.realm_cache.realm(), request.app.clock.now()
    async with request.app.database.connection() as connection:
        signing = await server_keys.key_for(connection, PURPOSE)
        secret = link_key(signing, realm.realm_id, key.invitation_id).secret
        row, inviter = await open_invitation(connection, realm, key, secret, now)
    person = Person(
        inviter.user_id, inviter.role, inviter.date_joined, is_bot=inviter.bot_type is not None
    )
    groups, settings = await request.realm_cache.groups(), await request.realm_cache.settings()
    check_still_invites(Standing(person, groups, settings), row)
    return _Opened(realm, key, row, inviter)


async def _ask(request: Request, opened: _Opened) -> Page:
    """Mail an invitation to the entered address."""
    email = request.form_value("email")
    now = request.app.clock.now()
    try:
        email = checked_new_email(email)
        await count_mail(request, email)
        link_id = opened.row.invitation_id
        await request.transact(lambda tx: ask_by_link(tx, link_id, email, now=now))
    except LinkError:
        raise
    except HasAccountError as error:
        return await _refusal(request, error, place=SIGN_IN)
    except DomainError as error:
        return await _address_form(request, opened, error, email)
    return go(request, f"{PATH.format(token=opened.key.token)}?sent=yes")


async def _newcomer(request: Request, opened: _Opened, email: str) -> Newcomer:
    """Return the form's name and password. Raises BadRequestError."""
    name = checked_full_name(request.form_value("full_name"))
    takes = _takes_passwords(opened)
    password_hash = await new_password_hash(request, name, email) if takes else None
    settings = await settings_of_newcomer(request)
    return Newcomer(
        full_name=name,
        password_hash=password_hash,
        settings=settings,
        email_confirmed=sends_mail(request.app),
    )


def _takes_passwords(opened: _Opened) -> bool:
    return RealmSettings.of(opened.realm.settings).wants_method(PASSWORDS)


async def _form(request: Request, opened: _Opened, error: DomainError | None = None) -> Page:
    return await show(
        request,
        "join.html",
        error=error,
        action=PATH.format(token=opened.key.token),
        inviter=opened.inviter.full_name,
        is_guest=opened.row.role == GUEST,
        email=opened.row.email or request.form_value("email"),
        asks_email=opened.row.email is None,
        full_name=request.form_value("full_name"),
        by_password=_takes_passwords(opened),
    )


async def _address_form(
    request: Request, opened: _Opened, error: DomainError | None = None, email: str = ""
) -> Page:
    return await show(
        request,
        "join_address.html",
        error=error,
        action=PATH.format(token=opened.key.token),
        inviter=opened.inviter.full_name,
        is_guest=opened.row.role == GUEST,
        email=email,
    )


async def _refusal(request: Request, error: DomainError, *, place: str) -> Page:
    return await show(request, "join_refused.html", error=error, place=place)


PAGES = (
    PageRoute("GET", PATH, Access.ANONYMOUS, look),
    PageRoute("POST", PATH, Access.ANONYMOUS, join),
)
