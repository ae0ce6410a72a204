"""Pages that send somebody an email."""

from server.api.visits import Visit
from server.domain.errors import BadRequestError
from storage.confirmations import THE_SERVER


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
