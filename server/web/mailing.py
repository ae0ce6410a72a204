"""Conditions and limits of pages that send an email."""

from server.api.endpoint import Request
from server.app import App
from server.domain.errors import BadRequestError
from server.i18n import _
from server.mail.folder import is_delivering
from server.runtime.pages import Page
from server.web.rendering import show
from storage.confirmations import THE_SERVER


def sends_mail(app: App) -> bool:
    """Return whether emails are delivered, rather than kept in a folder on this machine."""
    return is_delivering(app.mailer)


async def count_mail(request: Request, email: str) -> None:
    """Count an email to this address. Raises RateLimitedError, and BadRequestError without mail."""
    if request.app.mailer is None:
        raise BadRequestError(_("This server sends no emails. Ask its operator for what you need."))
    realm_id = request.realm_id or THE_SERVER
    await request.limits.count_account_mail(
        realm_id, email, request.remote_address, request.response_headers
    )


async def mail_sent(request: Request, then: str) -> Page:
    """Return the page after a mail has been sent; it leads on to `then`."""
    return await show(request, "mail_sent.html", title=_("Read your email"), next=then)
