"""Links to video calls: redirect a signed-in user into the call."""

from http import HTTPStatus

import structlog

from server.api.calls import big_blue_button
from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.domain.calls import JOIN, PURPOSE, created_at, meeting_of
from server.domain.errors import BadRequestError
from server.egress import EgressError
from server.i18n import _
from server.runtime.pages import Page
from server.web.rendering import go, refusal
from storage import server_keys

logger = structlog.get_logger(__name__)


async def join(request: Request) -> Page:
    """Create the meeting in BigBlueButton if necessary, and redirect the browser into it."""
    service = big_blue_button(request.app)
    async with request.app.database.connection() as connection:
        key = await server_keys.key_for(connection, PURPOSE)
    meeting = meeting_of(key, request.query.get("bigbluebutton", ""))
    if meeting is None or meeting.realm_id != request.actor.realm_id:
        raise BadRequestError(_("This link leads to no call."))
    try:
        answer = await request.app.egress.fetch("GET", service.creating(meeting))
    except EgressError as error:
        return _failed(request, str(error))
    created = created_at(answer.body)
    if created is None:
        return _failed(request, f"It answered {answer.status}.")
    row = request.actor.row
    place = service.joining(meeting, created=created, user_id=row.user_id, full_name=row.full_name)
    return go(request, place)


def _failed(request: Request, reason: str) -> Page:
    logger.warning("calls.create_failed", reason=reason)
    sentence = _("BigBlueButton does not make the call. Try again later.")
    return refusal(HTTPStatus.BAD_GATEWAY, sentence, request.language)


PAGES = (PageRoute("GET", JOIN, Access.USER, join),)
