"""Pages of confirmation links in emails."""

from server.actions.confirmations import LinkExpiredError
from server.api.endpoint import Request
from server.domain.sessions import digest_of
from storage import confirmations
from storage.confirmations import ConfirmationRow
from storage.ids import RealmId


def digest_in(request: Request) -> bytes:
    """Return the digest of the token in the path."""
    return digest_of(request.path_params["token"])


async def to_confirm(
    request: Request, *purposes: str, realm_id: RealmId | None = None
) -> ConfirmationRow:
    """The pending confirmation of these kinds for the link, in this realm or the request's own.

    Raises LinkExpiredError.
    """
    where = request.realm_cache.realm_id if realm_id is None else realm_id
    async with request.app.database.connection() as connection:
        row = await confirmations.by_token(connection, where, digest_in(request), purposes)
    if row is None:
        raise LinkExpiredError
    return row
