"""Pages that send somebody an email."""

from server.api.visits import Visit
from server.app import App
from server.domain.errors import BadRequestError
from server.mail.folder import MailFolder
from storage.confirmations import THE_SERVER


def sends_mail(app: App) -> bool:
    """Whether emails leave the machine of the server, so that strangers can be asked by them."""
    return app.mailer is not None and not isinstance(app.mailer, MailFolder)


async def count_mail(visit: Visit, email: str) -> None:
    """Count a mail to this address. Raises RateLimitedError, and BadRequestError without mail."""
    if visit.app.mailer is None:
        raise BadRequestError(
            "This server sends no emails. Ask whoever looks after it for what you need."
        )
    realm_id = visit.realm_id or THE_SERVER
    await visit.limits.count_account_mail(
        realm_id, email, visit.remote_address, visit.limit_headers
    )
