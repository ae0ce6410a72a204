"""Mail that goes to one address, for which nobody waits."""

from collections.abc import Callable
from email.message import EmailMessage

import structlog

from queue_processors.processor import PermanentError
from server.mail.mailer import AddressRefusedError, Mailer, MailRefusedError, addressee_of
from storage.ids import RealmId

logger = structlog.get_logger(__name__)


async def post(mailer: Mailer, build: Callable[[], EmailMessage], realm_id: RealmId) -> None:
    """Send the mail that this makes. Raises MailNotTakenNowError, and PermanentError.

    An address that takes nothing is only logged: people mistype theirs, and nobody can do
    anything about it.
    """
    try:
        message = build()
        await mailer.send(message, addressee_of(message))
    except AddressRefusedError as error:
        logger.warning("mail.address_refused", realm_id=realm_id, reason=str(error))
    except MailRefusedError as error:
        raise PermanentError(str(error)) from error
