"""The page of connection details for clients, and invitations; static files of all pages."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.app import App
from server.domain.channels import Standing
from server.domain.decimals import number_in
from server.domain.errors import DomainError, NotFoundError
from server.i18n import _, ngettext
from server.mail.folder import MailFolder
from server.runtime.pages import Page
from server.runtime.version import FEATURE_LEVEL, VERSION
from server.web.build import build_of
from server.web.mailing import sends_mail
from server.web.places import CLIENTS
from server.web.rendering import STATIC_PATH, show, static_file

INVITED: Final = "invited"
"""Query parameter with the number of sent invitations."""
MAX_DIGITS: Final = 4


class Mailing(NamedTuple):
    """How the server handles outgoing email."""

    words: str
    shown_at: str = ""
    """The URL of the mail folder, for administrators; empty without one."""


async def clients(request: Request) -> Page:
    """Return the page that tells how to connect clients, and invites people."""
    return await show_clients(request)


async def show_clients(
    request: Request,
    error: DomainError | None = None,
    details: Sequence[str] = (),
    *,
    link: str = "",
) -> Page:
    """Render the page, with an error of the invitation form or with the link that was created."""
    address, actor = await request.realm_cache.address(), request.actor
    mailing = _mailing(request.app)
    standing = Standing(
        actor.person, await request.realm_cache.groups(), await request.realm_cache.settings()
    )
    invites = request.app.mailer is not None and standing.realm_permits("can_invite_users_group")
    makes_links = standing.realm_permits("create_multiuse_invite_group")
    return await show(
        request,
        "clients.html",
        error=error,
        has_chat=build_of(request.app) is not None,
        url=address.url,
        is_local=address.is_loopback,
        runs_it=actor.person.is_administrator,
        version=VERSION,
        level=FEATURE_LEVEL,
        emails=mailing.words,
        emails_at=mailing.shown_at if actor.person.is_administrator else "",
        pushes=request.app.pushes is not None,
        invites=invites,
        invitees=request.form_value("invitees"),
        makes_links=makes_links,
        link=link,
        sends_mail=sends_mail(request.app),
        notice=_notice(request.query.get(INVITED, "")),
        details=details,
    )


def _notice(invited: str) -> str:
    """Return the notice about sent invitations."""
    count = number_in(invited, MAX_DIGITS)
    if not count:
        return ""
    return ngettext(
        "The invitation is on its way.", "{count:,} invitations are on their way.", count
    )


def _mailing(app: App) -> Mailing:
    if app.mailer is None:
        return Mailing(_("are not sent: no mail server is set"))
    if isinstance(app.mailer, MailFolder):
        words = _("stay on the machine of the server: no mail server is set")
        return Mailing(words, app.mailer.shown_at)
    return Mailing(_("are sent"))


async def static(request: Request) -> Page:
    found = static_file(request.path_params["name"])
    if found is None:
        raise NotFoundError(_("There is no such page."))
    return found


PAGES = (
    PageRoute("GET", CLIENTS, Access.USER, clients),
    PageRoute("GET", STATIC_PATH, Access.ANONYMOUS, static, is_rate_limited=False),
)
