"""The second step of a sign-in: a code of the account's second factor."""

from msgspec import structs

from server.actions.credential_changes import Proof
from server.actions.second_factors import NewTotp, add_totp
from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.api.second_factors import factors_key, verify_code
from server.domain import unfinished_sign_ins
from server.domain.errors import AuthenticationFailedError, DomainError
from server.domain.sessions import digest_of
from server.domain.unfinished_sign_ins import LIFETIME_SECONDS, UnfinishedSignIn
from server.i18n import _
from server.runtime.pages import Page
from server.web.completing import ask_second_factor, ask_to_set_up, dumped, finish_sign_in
from server.web.enrolments import name_in, secret_in
from server.web.places import SECOND_STEP, SET_UP, SET_UP_DONE, SIGN_IN
from server.web.rendering import go, show
from storage import credentials, ended_flows, server_keys
from storage.credentials import CredentialsRow
from storage.ids import UserId

LATE = f"{SIGN_IN}?done=late"


class SignInEndedError(AuthenticationFailedError):
    """The sign-in is too old, has ended, or the account's credentials have changed since."""

    def __init__(self) -> None:
        super().__init__(_("That took too long. Sign in again."))


async def look(request: Request) -> Page:
    """Redirect to the first step: the second one follows it, and has no address of its own."""
    return go(request, SIGN_IN)


async def verify(request: Request) -> Page:
    """Finish the sign-in of the form if its code is right."""
    try:
        unfinished, found = await unfinished_in(request)
    except SignInEndedError:
        return go(request, LATE)
    try:
        await verify_code(request, found, request.form_value("code"))
    except DomainError as error:
        return await ask_second_factor(request, unfinished, error)
    return await end_unfinished(request, unfinished, found)


async def set_up(request: Request) -> Page:
    """Add the authenticator app that is required, and show the recovery codes."""
    realm_id, now = request.realm_cache.realm_id, request.app.clock.now()
    try:
        unfinished, found = await unfinished_in(request)
    except SignInEndedError:
        return go(request, LATE)
    user_id, key = found.user_id, await factors_key(request)
    proof, secret = Proof(found.changed_at), ""
    try:
        secret = secret_in(request, user_id, key)
        new = NewTotp(name=name_in(request), secret=secret, code=request.form_value("code"))
        added = await request.transact(
            lambda tx: add_totp(tx, user_id, proof, new, key=key, now=now, is_first=True)
        )
    except DomainError as error:
        return await ask_to_set_up(request, unfinished, found, error, secret=secret)
    async with request.app.database.connection() as connection:
        found = await credentials.by_id(connection, realm_id, user_id)
    verified = structs.replace(unfinished, changed_at=found.changed_at, is_verified=True)
    return await show(
        request,
        "second_factor_is_set_up.html",
        form_leads_to=f"{request.app.settings.mobile_scheme}:" if unfinished.otp else "",
        recovery_codes=added.recovery_codes,
        unfinished=await dumped(request, verified),
    )


async def done(request: Request) -> Page:
    """Finish a sign-in in which the second factor was just set up."""
    try:
        unfinished, found = await unfinished_in(request)
    except SignInEndedError:
        return go(request, LATE)
    if not unfinished.is_verified:
        return go(request, LATE)
    return await end_unfinished(request, unfinished, found)


async def unfinished_in(request: Request) -> tuple[UnfinishedSignIn, CredentialsRow]:
    """Return the sign-in of the form, and the present credentials of its user.

    Raises SignInEndedError for one that is invalid or too old, and after a change of the
    credentials, which the deactivation of the account is too.
    """
    realm_id = request.realm_cache.realm_id
    async with request.app.database.connection() as connection:
        key = await server_keys.key_for(connection, unfinished_sign_ins.PURPOSE)
        unfinished = unfinished_sign_ins.load(key, request.form_value("unfinished"))
        if unfinished is None or unfinished.realm_id != realm_id:
            raise SignInEndedError
        found = await credentials.by_id(connection, realm_id, UserId(unfinished.user_id))
    is_deactivated = (await request.realm_cache.realm()).deactivated
    if is_deactivated or not found.is_active or found.changed_at != unfinished.changed_at:
        raise SignInEndedError
    return unfinished, found


async def end_unfinished(
    request: Request, unfinished: UnfinishedSignIn, found: CredentialsRow
) -> Page:
    """Finish the sign-in, once."""
    digest, realm_id = digest_of(unfinished.nonce), request.realm_cache.realm_id
    async with request.app.database.transaction() as connection:
        is_first = await ended_flows.end(connection, realm_id, digest, seconds=LIFETIME_SECONDS)
    if not is_first:
        return go(request, LATE)
    return await finish_sign_in(
        request,
        found,
        wanted=unfinished.wanted,
        otp=unfinished.otp,
        desktop_otp=unfinished.desktop_otp,
    )


PAGES = (
    PageRoute("GET", SECOND_STEP, Access.ANONYMOUS, look),
    PageRoute("POST", SECOND_STEP, Access.ANONYMOUS, verify),
    PageRoute("POST", SET_UP, Access.ANONYMOUS, set_up),
    PageRoute("POST", SET_UP_DONE, Access.ANONYMOUS, done),
)
