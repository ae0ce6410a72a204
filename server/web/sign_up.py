"""Joining an open organization: an address, a mail, a name and a password."""

from typing import Final

from server.actions.confirmations import ask_to_confirm
from server.actions.sign_up import (
    BY_INVITATION,
    NOT_BY_EMAIL,
    check_may_join,
    check_way,
    sign_up,
)
from server.actions.users import NewUser
from server.api.endpoint import Access
from server.api.visits import PageRoute, Visit
from server.domain.accounts import checked_full_name, checked_new_email
from server.domain.confirmations import PATHS, SIGN_UP, VOUCHED_SIGN_UP
from server.domain.errors import BadRequestError, DomainError, RealmDeactivatedError
from server.domain.sign_in import PASSWORDS
from server.runtime.pages import Page
from server.web.confirming import digest_in, to_confirm
from server.web.mailing import count_mail
from server.web.new_passwords import checked_new_password
from server.web.places import HOME, SIGN_IN
from server.web.rendering import go, show
from server.web.sign_in import begin_session
from storage import default_channel_groups
from storage.ids import ChannelGroupId

ASK: Final = "/register"
JOIN: Final = PATHS[SIGN_UP]
GROUP: Final = "channel_group_"
"""How the boxes of default channel groups are named, with their ids."""
DIGITS: Final = 18


async def ask(visit: Visit) -> Page:
    if "sent" in visit.query:
        return await show(visit, "mail_sent.html", title="Read your email", next=SIGN_IN)
    return await _asking(visit)


async def send(visit: Visit) -> Page:
    """Send a mail. Whether the address has an account is told there, and nowhere else."""
    realm_cache = visit.realm_cache
    try:
        realm = await realm_cache.realm()
        if realm.deactivated:
            raise RealmDeactivatedError("This organization has been deactivated")
        email = checked_new_email(visit.sent("email"))
        check_way(await realm_cache.settings(), SIGN_UP)
        async with visit.app.database.connection() as connection:
            await check_may_join(connection, realm, email)
        await count_mail(visit, email)
    except DomainError as error:
        return await _asking(visit, error)
    await visit.write(lambda tx: ask_to_confirm(tx, purpose=SIGN_UP, email=email))
    return go(visit, f"{ASK}?sent=yes")


async def choose(visit: Visit) -> Page:
    """The page to which the mail leads."""
    return await _joining(visit, await _email(visit))


async def join(visit: Visit) -> Page:
    """Make the account, and let its owner in."""
    email = await _email(visit)
    app, digest = visit.app, digest_in(visit)
    try:
        name = checked_full_name(visit.sent("full_name"))
        password_hash = None
        if await _by_password(visit):
            password = await checked_new_password(visit, email, name)
            password_hash = await app.passwords.hash(password)
        new = NewUser(
            email=email,
            full_name=name,
            password_hash=password_hash,
            channel_groups=_chosen(visit),
        )
        user_id = await visit.write(lambda tx: sign_up(tx, digest, new, now=app.clock.now()))
    except BadRequestError as error:
        return await _joining(visit, email, error)
    await begin_session(visit, user_id)
    return go(visit, HOME)


async def _email(visit: Visit) -> str:
    """Whose address the link of this page was made for. Raises a DomainError if it is not good."""
    row = await to_confirm(visit, SIGN_UP, VOUCHED_SIGN_UP)
    check_way(await visit.realm_cache.settings(), row.purpose)
    return row.email


async def _asking(visit: Visit, error: DomainError | None = None) -> Page:
    closed = ""
    if (await visit.realm_cache.settings()).invite_required:
        closed = f"{BY_INVITATION} Ask somebody who is there already."
    elif not await _by_password(visit):
        closed = NOT_BY_EMAIL
    return await show(
        visit,
        "sign_up_ask.html",
        error=error,
        email=visit.sent("email"),
        closed=closed,
    )


async def _joining(visit: Visit, email: str, error: DomainError | None = None) -> Page:
    async with visit.app.database.connection() as connection:
        groups = await default_channel_groups.of_realm(connection, visit.realm_cache.realm_id)
    return await show(
        visit,
        "sign_up_join.html",
        error=error,
        groups=[group for group in groups if group.channel_ids],
        chosen=_chosen(visit),
        action=JOIN.format(token=visit.place["token"]),
        email=email,
        full_name=visit.sent("full_name") or visit.query.get("full_name", ""),
        by_password=await _by_password(visit),
    )


def _chosen(visit: Visit) -> set[ChannelGroupId]:
    """The default channel groups whose boxes are ticked."""
    ids = [name.removeprefix(GROUP) for name in visit.form if name.startswith(GROUP)]
    return {ChannelGroupId(int(each)) for each in ids if each.isdecimal() and len(each) <= DIGITS}


async def _by_password(visit: Visit) -> bool:
    return (await visit.realm_cache.settings()).wants_method(PASSWORDS)


PAGES = (
    PageRoute("GET", ASK, Access.ANONYMOUS, ask),
    PageRoute("POST", ASK, Access.ANONYMOUS, send),
    PageRoute("GET", JOIN, Access.ANONYMOUS, choose),
    PageRoute("POST", JOIN, Access.ANONYMOUS, join),
)
