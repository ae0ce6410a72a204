"""Who takes mail on its way, and what may come of it."""

from email.message import EmailMessage
from typing import Protocol


class MailError(Exception):
    """A mail was not taken."""


class MailNotTakenNowError(MailError):
    """The mail server is away, busy, or does not let us in: trying again may help."""


class AddressRefusedError(MailError):
    """The mail server takes nothing for this address, and will not."""


class MailRefusedError(MailError):
    """The mail server does not take this mail, whoever it is for."""


class Mailer(Protocol):
    """Takes one mail for one address at a time; any number may be on their way at once."""

    async def send(self, message: EmailMessage, address: str) -> None:
        """The mail server has it when this returns. Raises a MailError if it has not.

        A mail whose answer was lost may have been taken: whoever sends it again gives it the same
        Message-ID.
        """
        ...
