"""Pages of calls: the way into one, and accounts of users at services that create them."""

import hashlib
from http import HTTPStatus
from typing import Final

from itsdangerous import BadData, URLSafeTimedSerializer

from server.api.call_accounts import SERVICES, connect_account, service_of
from server.api.calls import big_blue_button
from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.calls.oauth import OAuthService, TokensRefusedError, way_there
from server.calls.service import failed
from server.domain.calls import BIG_BLUE_BUTTON, JOIN, PURPOSE, created_at, meeting_of
from server.domain.errors import BadRequestError, NotFoundError
from server.egress import EgressError
from server.i18n import _
from server.runtime.pages import Page
from server.web.rendering import go, refusal, show
from storage import server_keys

REGISTER: Final = "/calls/{service}/register"
COMPLETE: Final = "/calls/{service}/complete"
STATE_SECONDS: Final = 600
MAX_CODE_LENGTH: Final = 4_000


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
    error = failed(BIG_BLUE_BUTTON, reason)
    return refusal(HTTPStatus.BAD_GATEWAY, error.message, request.language)


async def register(request: Request) -> Page:
    """Redirect the browser to the service, where the user permits the server to create calls."""
    service = service_of(request.app.settings, _key_in(request))
    state = (await _states(request)).dumps(_bound_to(request, service))
    place = way_there(service, redirect_uri=await _redirect_uri(request, service), state=str(state))
    return go(request, place)


async def complete(request: Request) -> Page:
    """Store the tokens of the user who comes back from the service.

    Raises BadRequestError for a state of another session, realm or service, and if the user has
    not permitted it.
    """
    service = service_of(request.app.settings, _key_in(request))
    states = await _states(request)
    try:
        given = states.loads(request.query.get("state", ""), max_age=STATE_SECONDS)
    except BadData:
        given = None
    if given != _bound_to(request, service):
        raise BadRequestError(_("That took too long, or began elsewhere. Create the call again."))
    code = request.query.get("code", "")
    if not code or len(code) > MAX_CODE_LENGTH:
        raise BadRequestError(_("{provider} gave no permission.", provider=service.name))
    try:
        await connect_account(request, service, code, await _redirect_uri(request, service))
    except TokensRefusedError:
        message = _("{provider} gave no permission.", provider=service.name)
        raise BadRequestError(message) from None
    return await show(request, "call_account.html", provider=service.name)


def _key_in(request: Request) -> str:
    """Return the key of the service in the path. Raises NotFoundError."""
    key = request.path_params["service"]
    if key not in SERVICES:
        raise NotFoundError(_("There is no such page."))
    return key


async def _redirect_uri(request: Request, service: OAuthService) -> str:
    """Return the redirect URI, which has to be registered at the service."""
    return (await request.realm_cache.address()).url + COMPLETE.format(service=service.key)


async def _states(request: Request) -> URLSafeTimedSerializer:
    async with request.read() as connection:
        key = await server_keys.key_for(connection, PURPOSE)
    return URLSafeTimedSerializer(
        key, salt="call account", signer_kwargs={"digest_method": hashlib.sha256}
    )


def _bound_to(request: Request, service: OAuthService) -> list[int | str]:
    """Return what a state is bound to: service, realm and session, without its token."""
    assert request.session is not None
    session = hashlib.sha256(b"call account" + request.session.digest).hexdigest()
    return [service.key, request.actor.realm_id, session]


PAGES = (
    PageRoute("GET", JOIN, Access.USER, join),
    PageRoute("GET", REGISTER, Access.USER, register),
    PageRoute("GET", COMPLETE, Access.USER, complete),
)
