"""Sign-up in an open organization: confirm an address by mail, then choose a name and password."""

from typing import Final

from server.actions.confirmations import ask_to_confirm
from server.actions.directory_claims import follow_claims
from server.actions.sign_up import (
    BY_INVITATION,
    NOT_BY_EMAIL,
    check_may_join,
    check_way,
    sign_up,
)
from server.actions.users import NewUser
from server.api.directory_claims import finish_access_changes
from server.api.endpoint import Access, Request
from server.api.languages import settings_of_newcomer
from server.api.pages import PageRoute
from server.domain.accounts import checked_full_name, checked_new_email
from server.domain.confirmations import PATHS, SIGN_UP, VOUCHED_SIGN_UP
from server.domain.directory_groups import VouchedClaims
from server.domain.errors import BadRequestError, DomainError, RealmDeactivatedError
from server.domain.sign_in import PASSWORDS
from server.i18n import _
from server.runtime.pages import Page
from server.transactions import Tx
from server.web.completing import begin_session
from server.web.confirming import digest_in, to_confirm
from server.web.mailing import count_mail, mail_sent, sends_mail
from server.web.new_passwords import new_password_hash
from server.web.places import HOME, SIGN_IN
from server.web.rendering import go, show
from storage import default_channel_groups
from storage.confirmations import ConfirmationRow
from storage.ids import ChannelGroupId, UserId

ASK: Final = "/register"
JOIN: Final = PATHS[SIGN_UP]
GROUP: Final = "channel_group_"
"""Names of the checkboxes of default channel groups, with their ids."""
DIGITS: Final = 18


async def ask(request: Request) -> Page:
    if "sent" in request.query:
        return await mail_sent(request, SIGN_IN)
    return await _asking(request)


async def send(request: Request) -> Page:
    """Send a mail. Only the mail reveals whether the address has an account."""
    realm_cache = request.realm_cache
    try:
        realm = await realm_cache.realm()
        if realm.deactivated:
            raise RealmDeactivatedError(_("This organization has been deactivated"))
        email = checked_new_email(request.form_value("email"))
        check_way(await realm_cache.settings(), SIGN_UP)
        async with request.app.database.connection() as connection:
            await check_may_join(connection, realm, email)
        await count_mail(request, email)
    except DomainError as error:
        return await _asking(request, error)
    language = request.language
    await request.transact(
        lambda tx: ask_to_confirm(tx, purpose=SIGN_UP, email=email, language=language)
    )
    return go(request, f"{ASK}?sent=yes")


async def choose(request: Request) -> Page:
    """Return the page of that link."""
    return await _joining(request, (await _confirmation(request)).email)


async def join(request: Request) -> Page:
    """Create the account, and sign its owner in."""
    row = await _confirmation(request)
    email = row.email
    digest = digest_in(request)
    try:
        name = checked_full_name(request.form_value("full_name"))
        takes = await _by_password(request)
        password_hash = await new_password_hash(request, email, name) if takes else None
        new = NewUser(
            email=email,
            full_name=name,
            password_hash=password_hash,
            channel_groups=_chosen(request),
            email_confirmed=sends_mail(request.app) or row.purpose == VOUCHED_SIGN_UP,
            settings=await settings_of_newcomer(request),
        )
        user_id, work = await request.transact(lambda tx: _sign_up(tx, request, digest, new))
    except BadRequestError as error:
        return await _joining(request, email, error)
    await finish_access_changes(request.app, request.realm_cache.realm_id, work)
    await begin_session(request, user_id)
    return go(request, HOME)


async def _sign_up(
    tx: Tx, request: Request, digest: bytes, new: NewUser
) -> tuple[UserId, list[str]]:
    """Create the account, with what a provider that vouches for the address has asserted.

    Returns its id, and the ids of ACCESS_CHANGEs to be finished.
    """
    now = request.app.clock.now()
    user_id = await sign_up(tx, digest, new, now=now)
    vouched = VouchedClaims.of_token(request.path_params["token"])
    if vouched is None:
        return user_id, []
    work = await follow_claims(tx, user_id, vouched.claims, cause=vouched.provider, now=now)
    return user_id, work


async def _confirmation(request: Request) -> ConfirmationRow:
    """Return what the link of this page confirms.

    Raises a DomainError if it is invalid.
    """
    row = await to_confirm(request, SIGN_UP, VOUCHED_SIGN_UP)
    check_way(await request.realm_cache.settings(), row.purpose)
    return row


async def _asking(request: Request, error: DomainError | None = None) -> Page:
    closed = ""
    if (await request.realm_cache.settings()).invite_required:
        closed = f"{BY_INVITATION} Ask somebody who is there already."
    elif not await _by_password(request):
        closed = NOT_BY_EMAIL
    return await show(
        request,
        "sign_up_ask.html",
        error=error,
        email=request.form_value("email"),
        closed=closed,
    )


async def _joining(request: Request, email: str, error: DomainError | None = None) -> Page:
    async with request.app.database.connection() as connection:
        groups = await default_channel_groups.of_realm(connection, request.realm_cache.realm_id)
    return await show(
        request,
        "sign_up_join.html",
        error=error,
        groups=[group for group in groups if group.channel_ids],
        chosen=_chosen(request),
        action=JOIN.format(token=request.path_params["token"]),
        email=email,
        full_name=request.form_value("full_name") or request.query.get("full_name", ""),
        by_password=await _by_password(request),
    )


def _chosen(request: Request) -> set[ChannelGroupId]:
    """Return the default channel groups that are checked."""
    ids = [name.removeprefix(GROUP) for name in request.form if name.startswith(GROUP)]
    return {ChannelGroupId(int(each)) for each in ids if each.isdecimal() and len(each) <= DIGITS}


async def _by_password(request: Request) -> bool:
    return (await request.realm_cache.settings()).wants_method(PASSWORDS)


PAGES = (
    PageRoute("GET", ASK, Access.ANONYMOUS, ask),
    PageRoute("POST", ASK, Access.ANONYMOUS, send),
    PageRoute("GET", JOIN, Access.ANONYMOUS, choose),
    PageRoute("POST", JOIN, Access.ANONYMOUS, join),
)
