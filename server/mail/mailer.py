"""The interface of mailers, and their errors."""

import io
from email.errors import MessageError
from email.generator import BytesGenerator
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, EmailPolicy
from typing import Final, Protocol

from typing_extensions import override

from server.domain.addresses import mailable


class MailError(Exception):
    """An email was not accepted."""


class MailNotTakenNowError(MailError):
    """A transient error: the mail server is unavailable, busy, or refuses the credentials."""


class AddressRefusedError(MailError):
    """A permanent error: the mail server refuses the recipient's address."""


class MailRefusedError(MailError):
    """A permanent error: the mail server refuses the email, for any recipient."""


def mailbox(name: str, address: str) -> Address:
    """Return a sender or recipient. Raises AddressRefusedError for an invalid address.

    The address is returned in ASCII, with the domain encoded.
    """
    try:
        return Address(name, addr_spec=mailable(address))
    except (ValueError, MessageError) as error:
        raise AddressRefusedError(f"not an address: {error}") from error


class _FoldingPolicy(EmailPolicy):
    """Folds headers, except those with a single word as their value, which programs read.

    The library would encode a word longer than a line, and programs would not recognize it.
    """

    WHOLE: Final = frozenset({"in-reply-to", "references", "list-id", "list-unsubscribe"})

    @override
    def fold_binary(self, name: str, value: str) -> bytes:
        if name.lower() in self.WHOLE and value.isascii():
            return f"{name}: {value}{self.linesep}".encode("ascii")
        return super().fold_binary(name, value)


# Seven bits, so that every server takes it as it is.
_POLICY: Final = _FoldingPolicy(linesep=SMTP.linesep, cte_type="7bit")


def as_sent(message: EmailMessage) -> bytes:
    """Return the bytes of the email that are sent to a mail server."""
    whole = io.BytesIO()
    BytesGenerator(whole, policy=_POLICY).flatten(message)
    return whole.getvalue()


def addressee_of(message: EmailMessage) -> str:
    """Return the recipient's address."""
    [address] = message["To"].addresses
    return str(address.addr_spec)


class Mailer(Protocol):
    """Sends emails, each to one address. Calls may be concurrent."""

    async def send(self, message: EmailMessage, address: str) -> None:
        """Send the email; the mail server has accepted it when this returns. Raises a MailError.

        An email may have been accepted although the response was lost: a retry has to use the same
        Message-ID.
        """
        ...
