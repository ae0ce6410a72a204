"""The page of links that sign in: the token is in the fragment, which no log of a server sees."""

from typing import Final

from server.actions.sign_in_links import SPENT, spend_sign_in_token
from server.api.endpoint import Access, Request
from server.api.failed_sign_ins import failures_logged
from server.api.pages import PageRoute
from server.api.proxies import FORWARDING
from server.domain.addresses import is_loopback
from server.domain.confirmations import DESKTOP_SIGN_IN, SIGN_IN_LINK
from server.domain.errors import AuthenticationFailedError, DomainError, RealmDeactivatedError
from server.domain.sessions import MAX_TOKEN_LENGTH, digest_of
from server.i18n import _
from server.runtime.pages import Page
from server.web.completing import complete_sign_in, finish_sign_in
from server.web.rendering import show
from storage import credentials
from storage.credentials import CredentialsRow

METHOD: Final = "sign_in_link"
MAX_PASTED_LENGTH: Final = 2_000


async def ask(request: Request) -> Page:
    """Return the page with the form, which its script fills with the token of the address."""
    return await _form(request)


async def sign_in(request: Request) -> Page:
    """Sign the token's user in; a link of the operator stands for the password only."""
    try:
        found, purpose = await _spend(request)
    except DomainError as error:
        return await _form(request, error)
    complete = finish_sign_in if purpose == DESKTOP_SIGN_IN else complete_sign_in
    return await complete(request, found, wanted=request.form_value("next"))


async def _spend(request: Request) -> tuple[CredentialsRow, str]:
    """Return the credentials of the token's user, and the token's purpose."""
    # A link that was pasted as a whole is as good as its token.
    token = request.form_value("token")[:MAX_PASTED_LENGTH].rpartition("#")[2].strip()
    realm_cache, address = request.realm_cache, request.remote_address
    name = f"{METHOD} {address}"
    digest = digest_of(token[: MAX_TOKEN_LENGTH + 1])
    logged = failures_logged(request.app, realm_cache.realm_id, address=address, method=METHOD)
    async with logged:
        await request.count_sign_in(name)
        if (await realm_cache.realm()).deactivated:
            raise RealmDeactivatedError(_("This organization has been deactivated"))
        is_here = _is_on_this_machine(request)
        spent = await request.transact(
            lambda tx: spend_sign_in_token(tx, digest, is_on_this_machine=is_here)
        )
        async with request.app.database.connection() as connection:
            found = await credentials.by_id(connection, realm_cache.realm_id, spent.user_id)
        if not found.is_active or found.changed_at != spent.changed_at:
            raise AuthenticationFailedError(SPENT)
    await request.forget_sign_ins(name)
    return found, spent.purpose


def _is_on_this_machine(request: Request) -> bool:
    """Return whether a browser beside the server has sent the request, through no proxy."""
    return (
        is_loopback(request.host)
        and is_loopback(request.remote_address)
        and not any(name in request.headers for name in FORWARDING)
    )


async def _form(request: Request, error: DomainError | None = None) -> Page:
    return await show(request, "sign_in_link.html", error=error, has_script=True)


PAGES = (
    PageRoute("GET", SIGN_IN_LINK, Access.ANONYMOUS, ask),
    PageRoute("POST", SIGN_IN_LINK, Access.ANONYMOUS, sign_in),
)
