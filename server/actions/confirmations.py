"""Confirmations by email."""

from server.domain.confirmations import RESET_PASSWORD, VALID_SECONDS
from server.domain.errors import DomainError
from server.i18n import _
from server.jobs import ConfirmationEmail, enqueue
from server.transactions import Tx
from storage import confirmations, credentials
from storage.confirmations import ConfirmationRow
from storage.ids import UserId


class LinkExpiredError(DomainError):
    """The confirmation is done already, or expired."""

    def __init__(self) -> None:
        super().__init__(_("This link has been used already, or it is too old. Ask for a new one."))


async def ask_to_confirm(
    tx: Tx, *, purpose: str, email: str, user_id: UserId | None = None, language: str = ""
) -> None:
    """Enqueue an email with a confirmation link to this address.

    A password reset records the account of the address, so that it ends with the account's other
    pending ones; the work is the same if there is no account. `language`: of the email, if there
    is no account.
    """
    connection = await tx.changing()
    if purpose == RESET_PASSWORD:
        found = await credentials.by_email(connection, tx.realm_id, email)
        user_id = None if found is None else found.user_id
    confirmation_id = await confirmations.insert(
        connection,
        tx.realm_id,
        purpose=purpose,
        email=email,
        user_id=user_id,
        seconds=VALID_SECONDS,
    )
    job = ConfirmationEmail(
        realm_id=tx.realm_id, confirmation_id=confirmation_id, language=language
    )
    enqueue(tx, job)


async def to_be_confirmed(tx: Tx, digest: bytes, *purposes: str) -> ConfirmationRow:
    """Return the pending confirmation of this token. Raises LinkExpiredError."""
    row = await confirmations.by_token(await tx.connection(), tx.realm_id, digest, purposes)
    if row is None:
        raise LinkExpiredError
    return row


async def confirm(tx: Tx, row: ConfirmationRow) -> None:
    """Mark it as confirmed, once. Raises LinkExpiredError if it already was."""
    if not await confirmations.take(await tx.changing(), tx.realm_id, row.confirmation_id):
        raise LinkExpiredError
