"""Pages to find an organization, and to create one."""

from typing import Final

from server.actions.confirmations import LinkExpiredError
from server.actions.realms import create_realm, open_first_channel
from server.actions.users import NewUser
from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.domain.accounts import checked_full_name, checked_new_email
from server.domain.actor import Actor
from server.domain.addresses import Addresses
from server.domain.admission import is_disposable
from server.domain.confirmations import FOUND_REALM, PATHS, VALID_SECONDS
from server.domain.errors import BadRequestError, DomainError, NotFoundError
from server.domain.realms import checked_realm_name, checked_subdomain
from server.i18n import _
from server.jobs import ConfirmationEmail, outgoing
from server.runtime.pages import Page
from server.web.confirming import to_confirm
from server.web.mailing import count_mail, mail_sent, sends_mail
from server.web.new_passwords import new_password_hash
from server.web.places import FIND, FIND_FROM_APPS, SIGN_IN
from server.web.rendering import go, show
from storage import confirmations, realms
from storage.confirmations import THE_SERVER, ConfirmationRow

ASK: Final = "/new"
FOUND: Final = PATHS[FOUND_REALM]
RESERVED: Final = frozenset({"admin", "api", "ftp", "imap", "mail", "ns", "smtp", "static", "www"})
"""Subdomains that would be mistaken for something else than an organization."""


async def find(request: Request) -> Page:
    """Ask for an organization's subdomain, and redirect there."""
    wanted, wrong = request.query.get("subdomain", ""), None
    if wanted and request.app.settings.root_domain is not None:
        try:
            subdomain = checked_subdomain(wanted)
            async with request.app.database.connection() as connection:
                found = await realms.ids_of_subdomains(connection, [subdomain])
            if found:
                return go(request, _url(request, subdomain) + SIGN_IN)
            wrong = NotFoundError(_("There is no organization of this name."))
        except BadRequestError as error:
            wrong = NotFoundError(error.message)
    if not wanted and (only := await _only_place(request)) is not None:
        return go(request, only + SIGN_IN)
    return await show(
        request,
        "find.html",
        error=wrong,
        form_leads_to=_everywhere(request),
        wanted=wanted,
        root=request.app.settings.root_domain,
        is_open=request.app.settings.open_realm_creation,
    )


async def _only_place(request: Request) -> str | None:
    """Return the address of the server's only organization; None if there are several or none.

    Also None where new organizations may be created, since the page offers that as well.
    """
    if request.app.settings.open_realm_creation:
        return None
    async with request.app.database.connection() as connection:
        row = await realms.only_open(connection)
    if row is None or (row.subdomain and request.app.settings.root_domain is None):
        return None
    return _url(request, row.subdomain)


async def ask(request: Request) -> Page:
    if "sent" in request.query:
        return await mail_sent(request, ASK)
    return await _asking(request)


async def send(request: Request) -> Page:
    """Mail a link to create an organization."""
    try:
        _check_open(request)
        email = checked_new_email(request.form_value("email"))
        if is_disposable(email):
            raise BadRequestError(_("Please use your real email address, not a disposable one."))
        await count_mail(request, email)
    except DomainError as error:
        return await _asking(request, error)
    async with request.app.database.connection() as connection:
        confirmation_id = await confirmations.insert(
            connection, THE_SERVER, purpose=FOUND_REALM, email=email, seconds=VALID_SECONDS
        )
    # There is no log yet that could carry the job; a lost mail is requested again.
    job = ConfirmationEmail(
        realm_id=THE_SERVER, confirmation_id=confirmation_id, language=request.language
    )
    await request.app.jobs.publish(outgoing(job, key=f"found.{confirmation_id}"))
    return go(request, f"{ASK}?sent=yes")


async def choose(request: Request) -> Page:
    """Return the page of that link."""
    return await _choosing(request, await _confirmed(request))


async def found(request: Request) -> Page:
    """Create the organization, and redirect its owner there."""
    row = await _confirmed(request)
    try:
        _check_open(request)
        subdomain = await _found(request, row)
    except BadRequestError as error:
        return await _choosing(request, row, error)
    return go(request, f"{_url(request, subdomain)}{SIGN_IN}?done=founded")


async def _found(request: Request, row: ConfirmationRow) -> str:
    """Create the organization; return its subdomain. Raises BadRequestError without any change."""
    name, subdomain = checked_realm_name(request.form_value("name")), _subdomain(request)
    full_name = checked_full_name(request.form_value("full_name"))
    password_hash = await new_password_hash(request, row.email, full_name, name)
    owner = NewUser(
        email=row.email,
        full_name=full_name,
        password_hash=password_hash,
        email_confirmed=sends_mail(request.app),
    )
    now = request.app.clock.now()
    async with request.app.database.transaction() as connection:
        if not await confirmations.take(connection, THE_SERVER, row.confirmation_id):
            raise LinkExpiredError
        made = await create_realm(connection, name=name, subdomain=subdomain, owner=owner, now=now)
    founder = await request.app.realm_caches.of(made.realm_id).user(made.owner.user_id)
    assert founder is not None, "it was just made"
    actor = Actor(made.realm_id, founder)
    await request.app.writers.of(made.realm_id).write(lambda tx: open_first_channel(tx, actor))
    return subdomain


def _check_open(request: Request) -> None:
    if not request.app.settings.open_realm_creation:
        raise BadRequestError(_("Ask the operator of this server for a new organization."))


def _subdomain(request: Request) -> str:
    """Return the chosen subdomain. Raises BadRequestError if it is invalid."""
    if request.app.settings.root_domain is None:
        return ""
    subdomain = checked_subdomain(request.form_value("subdomain"))
    if not subdomain or subdomain in RESERVED:
        raise BadRequestError(_("Choose another name for the address."))
    return subdomain


async def _asking(request: Request, error: DomainError | None = None) -> Page:
    return await show(
        request,
        "found_ask.html",
        error=error,
        email=request.form_value("email"),
        is_open=request.app.settings.open_realm_creation,
    )


async def _choosing(
    request: Request, row: ConfirmationRow, error: DomainError | None = None
) -> Page:
    return await show(
        request,
        "found.html",
        error=error,
        form_leads_to=_everywhere(request),
        action=FOUND.format(token=request.path_params["token"]),
        email=row.email,
        name=request.form_value("name"),
        subdomain=request.form_value("subdomain"),
        full_name=request.form_value("full_name"),
        root=request.app.settings.root_domain,
    )


async def _confirmed(request: Request) -> ConfirmationRow:
    """Return the confirmation of the link; it belongs to the server, not to a realm."""
    return await to_confirm(request, FOUND_REALM, realm_id=THE_SERVER)


def _url(request: Request, subdomain: str) -> str:
    settings = request.app.settings
    return Addresses(settings.public_url, settings.root_domain).of_realm(subdomain).url


def _everywhere(request: Request) -> str:
    """Return the origins of all organizations, to which forms here redirect."""
    return "" if request.app.settings.root_domain is None else _url(request, "*")


PAGES = (
    PageRoute("GET", FIND, Access.ANONYMOUS, find, is_of_server=True),
    PageRoute("GET", FIND_FROM_APPS, Access.ANONYMOUS, find, is_of_server=True),
    PageRoute("GET", ASK, Access.ANONYMOUS, ask, is_of_server=True),
    PageRoute("POST", ASK, Access.ANONYMOUS, send, is_of_server=True),
    PageRoute("GET", FOUND, Access.ANONYMOUS, choose, is_of_server=True),
    PageRoute("POST", FOUND, Access.ANONYMOUS, found, is_of_server=True),
)
