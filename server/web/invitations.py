"""Forms to invite people, by email or by link."""

from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from server.actions import invitations
from server.actions.invitations import Wish, invite
from server.api.endpoint import Access, Request
from server.api.invitations import NO_MAIL, SKIPPED
from server.api.pages import PageRoute
from server.domain.access import MEMBER
from server.domain.errors import BadRequestError, DomainError, InvitationFailedError
from server.domain.invitations import PATH, PURPOSE, addresses_in, link_key
from server.runtime.pages import Page
from server.web.clients import INVITED, show_clients
from server.web.places import CLIENTS
from server.web.rendering import go
from storage import server_keys

INVITE: Final = "/invite"
LINK: Final = "/invite/link"


async def ask(request: Request) -> Page:
    """Mail the invitations; errors are shown in the form."""
    app, actor = request.app, request.actor
    now = app.clock.now()
    wish = _wish(request, now)
    emails = addresses_in(request.form_value("invitees"))
    per_day = app.settings.invitations_per_day
    try:
        if app.mailer is None:
            raise BadRequestError(NO_MAIL)
        invited = await request.transact(
            lambda tx: invite(tx, actor, emails, wish, per_day=per_day, now=now)
        )
    except DomainError as error:
        return await _explained(request, error)
    if invited.passed_over:
        return await _explained(request, InvitationFailedError(SKIPPED, invited.passed_over))
    return go(request, f"{CLIENTS}?{urlencode({INVITED: len(emails)})}")


async def make_link(request: Request) -> Page:
    """Create a reusable invitation link, and show it."""
    app, actor, now = request.app, request.actor, request.app.clock.now()
    wish = _wish(request, now)
    try:
        made = await request.transact(lambda tx: invitations.make_link(tx, actor, wish, now=now))
    except DomainError as error:
        return await _explained(request, error)
    async with app.database.connection() as connection:
        key = await server_keys.key_for(connection, PURPOSE)
    token = link_key(key, request.realm_cache.realm_id, made).token
    url = (await request.realm_cache.address()).url
    return await show_clients(request, link=url + PATH.format(token=token))


def _wish(request: Request, now: datetime) -> Wish:
    """The invitation: as members, into the default channels, valid as long as the settings say."""
    return Wish(
        role=max(MEMBER, request.actor.row.role),  # larger numbers mean fewer permissions
        includes_defaults=True,
        tells_inviter=True,
        ends_at=now + timedelta(minutes=request.app.settings.invitation_minutes),
    )


async def _explained(request: Request, error: DomainError) -> Page:
    details = [f"{email}: {reason}" for email, reason, _ in error.details.get("errors", ())]
    return await show_clients(request, error, details)


PAGES = (
    PageRoute("POST", INVITE, Access.USER, ask),
    PageRoute("POST", LINK, Access.USER, make_link),
)
