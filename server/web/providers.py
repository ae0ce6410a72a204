"""Sign-in through identity providers."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from hmac import compare_digest
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

import structlog

from server.actions.email_changes import confirm_by_site
from server.actions.sign_up import check_known_may_join
from server.api.browsers import cookie, read_cookie
from server.api.directory_claims import claims_of, follow_groups
from server.api.endpoint import Access, Request
from server.api.failed_sign_ins import failures_logged
from server.api.pages import PageRoute
from server.api.sign_in import person_with
from server.domain.accounts import as_full_name, checked_email
from server.domain.confirmations import PATHS, VALID_SECONDS, VOUCHED_SIGN_UP
from server.domain.desktop_flow import is_desktop_app
from server.domain.directory_groups import VouchedClaims
from server.domain.errors import (
    AuthenticationFailedError,
    NotFoundError,
    RealmDeactivatedError,
)
from server.domain.sessions import digest_of, new_token
from server.i18n import _
from server.identity.flows import FLOW_LIFETIME_SECONDS as FLOW_SECONDS
from server.identity.flows import Flow
from server.identity.identities import Identity, IdentityError
from server.runtime.pages import HEADERS, Page
from server.web.completing import complete_sign_in, finish_sign_in, otps_in
from server.web.desktop import ask_browser
from server.web.places import place_here
from server.web.rendering import go
from storage import confirmations, credentials, ended_flows
from storage.credentials import CredentialsRow
from storage.ids import UserId

logger = structlog.get_logger(__name__)

BEGIN: Final = "/accounts/login/social/{provider}"
SIGN_UP_BEGIN: Final = "/accounts/register/social/{provider}"
BACK: Final = "/complete/{provider}"
METADATA: Final = f"{BACK}/metadata"
FLOW: Final = "parley_flow"
"""Cookie of a flow that is in progress at the provider."""
MAX_FLOW_LENGTH: Final = 4_000
ENDED: Final = _("Your account was changed since you began to sign in. Sign in again.")


async def begin(request: Request) -> Page:
    """Redirect the browser to the provider, and store the flow in a cookie.

    The window of the desktop app gets a page that opens a browser instead.
    """
    name = await _wanted(request)
    otp, desktop_otp = otps_in(request.query)
    if is_desktop_app(request.headers) and not (otp or desktop_otp):
        return await ask_browser(request)
    flow = Flow.begin(
        name,
        request.realm_cache.realm_id,
        wanted=place_here(request.query.get("next", "")),
        otp=otp,
        desktop_otp=desktop_otp,
        now=request.app.clock.now(),
        user_id=None if request.caller is None else request.caller.user_id,
    )
    identities = request.app.identities
    provider = identities.providers[name]
    try:
        place = await provider.way_there(flow, await _redirect_uri(request, name))
    except IdentityError as error:
        logger.warning("identity_provider.unavailable", provider=name, reason=error.reason)
        raise
    request.cookies.append(
        cookie(
            request.app,
            FLOW,
            identities.flows.dump(flow),
            seconds=FLOW_SECONDS,
            others_may_post=provider.posts_back,
        )
    )
    return go(request, place)


async def come_back(request: Request) -> Page:
    """Sign in the user that the provider asserts; without an account, offer to join."""
    name = await _wanted(request)
    said = request.form if request.method == "POST" else request.query
    logged = partial(
        failures_logged,
        request.app,
        request.realm_cache.realm_id,
        address=request.remote_address,
        method=name,
    )
    async with logged():
        flow, identity = await _identify(request, name, said)
    request.cookies.append(cookie(request.app, FLOW, "", seconds=0))
    async with logged(account=identity.email):
        await _confirm_own(request, flow, identity)
        found = await person_with(request.app, request.realm_cache, identity.email)
        if found is not None:
            _check_begun_since(flow, found)
    if found is None:
        return await _join(request, name, identity)
    await follow_groups(
        request.app,
        request.realm_cache,
        found.user_id,
        identity,
        request.app.settings.sign_in_providers.mapping_of(name),
        provider=name,
    )
    if (await request.realm_cache.settings()).second_factor_after_provider:
        return await complete_sign_in(
            request, found, wanted=flow.wanted, otp=flow.otp, desktop_otp=flow.desktop_otp
        )
    return await finish_sign_in(
        request,
        found,
        wanted=flow.wanted,
        otp=flow.otp,
        desktop_otp=flow.desktop_otp,
        is_vouched=True,
    )


async def _identify(request: Request, name: str, said: Mapping[str, str]) -> tuple[Flow, Identity]:
    """Return the flow that ends here, and the asserted identity. Raises DomainError."""
    try:
        flow = _flow(request, name, said)
        provider = request.app.identities.providers[name]
        answer = said[provider.answer_field]
        identity = await provider.identify(flow, answer, await _redirect_uri(request, name))
        email = checked_email(identity.email)
        await _end(request, flow)
    except IdentityError as error:
        logger.warning("identity_provider.assertion_refused", provider=name, reason=error.reason)
        raise
    return flow, replace(identity, email=email)


async def _confirm_own(request: Request, flow: Flow, identity: Identity) -> None:
    """Confirm the unconfirmed address of the account that began the flow, if it is this one."""
    if flow.user_id is None:
        return
    user_id, realm_id = UserId(flow.user_id), request.realm_cache.realm_id
    async with request.app.database.connection() as connection:
        own = await credentials.by_email(connection, realm_id, identity.email)
    if own is None or own.user_id != user_id or own.email_confirmed or not own.is_active:
        return
    _check_begun_since(flow, own)
    await request.transact(lambda tx: confirm_by_site(tx, user_id, identity.email))


def _check_begun_since(flow: Flow, found: CredentialsRow) -> None:
    """Raise AuthenticationFailedError if the account's credentials have changed since it began."""
    if found.changed_at is not None and flow.began_at < found.changed_at.timestamp():
        raise AuthenticationFailedError(ENDED)


def _flow(request: Request, name: str, said: Mapping[str, str]) -> Flow:
    """Return the flow of this response, begun in this very browser. Raises IdentityError."""
    kept = read_cookie(request.app, request.headers, FLOW, longest=MAX_FLOW_LENGTH)
    flow = request.app.identities.flows.load(kept) if kept is not None else None
    if flow is None:
        raise IdentityError("there is no flow", _("That took too long. Sign in again."))
    is_own = flow.provider == name and flow.realm_id == request.realm_cache.realm_id
    provider = request.app.identities.providers[name]
    state = said.get(provider.state_field, "")
    if not is_own or not compare_digest(flow.state.encode(), state.encode()):
        raise IdentityError("the state is of another flow")
    if "error" in said or not said.get(provider.answer_field):
        raise IdentityError(f"the provider says {said.get('error', 'nothing')[:100]!r}")
    return flow


async def _end(request: Request, flow: Flow) -> None:
    """Mark the flow as used. Raises IdentityError if it was used before."""
    digest, seconds, realm_id = digest_of(flow.state), FLOW_SECONDS, request.realm_cache.realm_id
    async with request.app.database.transaction() as connection:
        if not await ended_flows.end(connection, realm_id, digest, seconds=seconds):
            raise IdentityError(
                "the flow has ended before", _("That took too long. Sign in again.")
            )


async def _join(request: Request, provider: str, identity: Identity) -> Page:
    """Ask for a name for an account with the address that the provider has verified."""
    realm_cache, token = request.realm_cache, new_token()
    mapping = request.app.settings.sign_in_providers.mapping_of(provider)
    claims = await claims_of(request.app, realm_cache, identity, mapping, provider=provider)
    if claims is not None:
        token = VouchedClaims(provider, claims).added_to(token)
    async with request.app.database.transaction() as connection:
        realm, now = await realm_cache.realm(), request.app.clock.now()
        await check_known_may_join(connection, realm, identity.email, now=now)
        confirmation_id = await confirmations.insert(
            connection,
            realm_cache.realm_id,
            purpose=VOUCHED_SIGN_UP,
            email=identity.email,
            seconds=VALID_SECONDS,
        )
        await confirmations.add_token(
            connection, realm_cache.realm_id, confirmation_id, digest_of(token)
        )
    place = PATHS[VOUCHED_SIGN_UP].format(token=token)
    name = as_full_name(identity.full_name, email=identity.email)
    return go(request, f"{place}?{urlencode({'full_name': name})}")


async def metadata(request: Request) -> Page:
    """Metadata of this organization for the provider."""
    name = request.path_params["provider"]
    site = request.app.identities.providers.get(name)
    found = None if site is None else site.metadata(await _redirect_uri(request, name))
    if found is None:
        raise NotFoundError(_("There is no such site."))
    return Page(HTTPStatus.OK, found, "application/samlmetadata+xml", HEADERS)


async def _wanted(request: Request) -> str:
    """Return the provider's name. Raises NotFoundError if it is not enabled."""
    name, realm_cache = request.path_params["provider"], request.realm_cache
    if (await realm_cache.realm()).deactivated:
        raise RealmDeactivatedError(_("This organization has been deactivated"))
    settings, known = await realm_cache.settings(), request.app.settings.sign_in_providers
    if name not in known or not settings.wants_method(known.method_of(name)):
        raise NotFoundError(_("Nobody signs in to this organization like that."))
    return name


async def _redirect_uri(request: Request, name: str) -> str:
    """Return the redirect URI, which has to be registered at the provider."""
    address = await request.realm_cache.address()
    return address.url + BACK.format(provider=name)


PAGES = (
    PageRoute("GET", BEGIN, Access.ANONYMOUS, begin),
    PageRoute("GET", SIGN_UP_BEGIN, Access.ANONYMOUS, begin),
    PageRoute("GET", METADATA, Access.ANONYMOUS, metadata),
    PageRoute("GET", BACK, Access.ANONYMOUS, come_back),
    PageRoute("POST", BACK, Access.ANONYMOUS, come_back, takes_foreign_forms=True),
)
