"""Send an email to one address in the background."""

from collections.abc import Callable
from email.message import EmailMessage

import structlog

from queue_processors.processor import PermanentError
from server.mail.mailer import AddressRefusedError, Mailer, MailRefusedError, addressee_of
from storage.ids import RealmId

logger = structlog.get_logger(__name__)


async def post(mailer: Mailer, build: Callable[[], EmailMessage], realm_id: RealmId) -> None:
    """Build the email and send it. Raises MailNotTakenNowError, PermanentError.

    A refused address is logged only and not retried: it is mistyped, as a rule.
    """
    try:
        message = build()
        await mailer.send(message, addressee_of(message))
    except AddressRefusedError as error:
        logger.warning("mail.address_refused", realm_id=realm_id, reason=str(error))
    except MailRefusedError as error:
        raise PermanentError(str(error)) from error
