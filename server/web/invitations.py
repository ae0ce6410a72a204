"""The forms by which people ask others to join: by mail or link, as members."""

from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from server.actions import invitations
from server.actions.invitations import Wish, invite
from server.api.endpoint import Access
from server.api.invitations import NO_MAIL, PASSED_OVER
from server.api.visits import PageRoute, Visit
from server.domain.access import MEMBER
from server.domain.errors import BadRequestError, DomainError, InvitationFailedError
from server.domain.invitations import PATH, PURPOSE, addresses_in, link_key
from server.runtime.pages import Page
from server.web.home import INVITED, show_home
from server.web.places import HOME
from server.web.rendering import go
from storage import server_keys

INVITE: Final = "/invite"
LINK: Final = "/invite/link"


async def ask(visit: Visit) -> Page:
    """Mail the invitations; what is wrong with them stands beside the form."""
    app, actor = visit.app, visit.actor
    now = app.clock.now()
    wish = _wish(visit, now)
    emails = addresses_in(visit.sent("invitees"))
    per_day = app.settings.invitations_per_day
    try:
        if app.mailer is None:
            raise BadRequestError(NO_MAIL)
        invited = await visit.write(
            lambda tx: invite(tx, actor, emails, wish, per_day=per_day, now=now)
        )
    except DomainError as error:
        return await _explained(visit, error)
    if invited.passed_over:
        return await _explained(visit, InvitationFailedError(PASSED_OVER, invited.passed_over))
    return go(visit, f"{HOME}?{urlencode({INVITED: len(emails)})}")


async def make_link(visit: Visit) -> Page:
    """Make a reusable invitation link, and show it."""
    app, actor, now = visit.app, visit.actor, visit.app.clock.now()
    wish = _wish(visit, now)
    try:
        made = await visit.write(lambda tx: invitations.make_link(tx, actor, wish, now=now))
    except DomainError as error:
        return await _explained(visit, error)
    async with app.database.connection() as connection:
        key = await server_keys.key_for(connection, PURPOSE)
    token = link_key(key, visit.realm_cache.realm_id, made).token
    url = (await visit.realm_cache.address()).url
    return await show_home(visit, link=url + PATH.format(token=token))


def _wish(visit: Visit, now: datetime) -> Wish:
    """As members, into the channels of newcomers, for as long as the server's settings say."""
    return Wish(
        role=max(MEMBER, visit.actor.row.role),  # larger numbers may do less
        includes_defaults=True,
        tells_inviter=True,
        ends_at=now + timedelta(minutes=visit.app.settings.invitation_minutes),
    )


async def _explained(visit: Visit, error: DomainError) -> Page:
    details = [f"{email}: {reason}" for email, reason, _ in error.details.get("errors", ())]
    return await show_home(visit, error, details)


PAGES = (
    PageRoute("POST", INVITE, Access.USER, ask),
    PageRoute("POST", LINK, Access.USER, make_link),
)
