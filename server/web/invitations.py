"""The form by which people ask others to join: by mail, as members, into the usual channels."""

from datetime import timedelta
from typing import Final

from server.actions.invitations import Wish, invite
from server.api.endpoint import Access
from server.api.invitations import NO_MAIL, PASSED_OVER
from server.api.visits import PageRoute, Visit
from server.domain.access import MEMBER
from server.domain.errors import BadRequestError, DomainError, InvitationFailedError
from server.domain.invitations import addresses_in
from server.pages import Page
from server.web.home import show_home
from server.web.places import HOME
from server.web.rendering import go

INVITE: Final = "/invite"


async def ask(visit: Visit) -> Page:
    """Mail the invitations; what is wrong with them stands beside the form."""
    app, actor = visit.app, visit.actor
    now = app.clock.now()
    wish = Wish(
        role=max(MEMBER, actor.row.role),  # larger numbers may do less
        includes_defaults=True,
        tells_inviter=True,
        ends_at=now + timedelta(minutes=app.settings.invitation_minutes),
    )
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
    return go(visit, f"{HOME}?done=invited")


async def _explained(visit: Visit, error: DomainError) -> Page:
    details = [f"{email}: {reason}" for email, reason, _ in error.details.get("errors", ())]
    return await show_home(visit, error, details)


PAGES = (PageRoute("POST", INVITE, Access.USER, ask),)
