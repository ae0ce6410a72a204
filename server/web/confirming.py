"""Pages to which the links of emails lead."""

from server.actions.confirmations import LinkExpiredError
from server.api.visits import Visit
from server.domain.sessions import digest_of
from storage import confirmations
from storage.confirmations import ConfirmationRow
from storage.ids import RealmId


def digest_in(visit: Visit) -> bytes:
    """What is kept of the token in the page's path."""
    return digest_of(visit.place["token"])


async def to_confirm(
    visit: Visit, *purposes: str, realm_id: RealmId | None = None
) -> ConfirmationRow:
    """What the link that led to this page confirms, of these, in this realm or the visit's own.

    Raises LinkExpiredError.
    """
    where = visit.realm_cache.realm_id if realm_id is None else realm_id
    async with visit.app.database.connection() as connection:
        row = await confirmations.by_token(connection, where, digest_in(visit), purposes)
    if row is None:
        raise LinkExpiredError
    return row
