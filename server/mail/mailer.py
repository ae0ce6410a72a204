"""Who takes mail on its way, and what may come of it."""

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
    """A mail was not taken."""


class MailNotTakenNowError(MailError):
    """The mail server is away, busy, or does not let us in: trying again may help."""


class AddressRefusedError(MailError):
    """The mail server takes nothing for this address, and will not."""


class MailRefusedError(MailError):
    """The mail server does not take this mail, whoever it is for."""


def mailbox(name: str, address: str) -> Address:
    """Who a mail is for, or from. Raises AddressRefusedError for what no mail server can take.

    The address comes out in ASCII: its domain is encoded, and anything else cannot be.
    """
    try:
        return Address(name, addr_spec=mailable(address))
    except (ValueError, MessageError) as error:
        raise AddressRefusedError(f"not an address: {error}") from error


class _FoldingPolicy(EmailPolicy):
    """Folds headers, but for those whose value is one word that programs read: it stays whole.

    Where such a word is longer than a line, the library would encode it, and nobody would know it
    again.
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
    """The mail as it goes to a mail server."""
    whole = io.BytesIO()
    BytesGenerator(whole, policy=_POLICY).flatten(message)
    return whole.getvalue()


def addressee_of(message: EmailMessage) -> str:
    """The address of the one whom the mail is for."""
    [address] = message["To"].addresses
    return str(address.addr_spec)


class Mailer(Protocol):
    """Takes one mail for one address at a time; any number may be on their way at once."""

    async def send(self, message: EmailMessage, address: str) -> None:
        """The mail server has it when this returns. Raises a MailError if it has not.

        A mail whose answer was lost may have been taken: whoever sends it again gives it the same
        Message-ID.
        """
        ...
