"""Emails to users about their account."""

from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime

from server.domain.account_news import AccountNews
from server.i18n import SOURCE, translated
from server.mail.composing import MAX_NAME, MAX_SUBJECT, fill, line
from server.mail.confirmation_mails import EmailContent
from server.mail.mailer import mailbox


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountHead:
    """Sender and recipient."""

    realm_name: str
    realm_url: str
    domain: str
    """The domain of Message-IDs."""
    sender: str
    address: str
    full_name: str
    now: datetime
    language: str = SOURCE
    """The language of the email, which has a complete catalogue."""
    unsubscribe_url: str = ""
    """Empty: such emails are always sent."""


def about_account(head: AccountHead, news: AccountNews | EmailContent, *, key: str) -> EmailMessage:
    """Build the email; `key` identifies it. Raises AddressRefusedError."""
    message = EmailMessage()
    title = line(translated(news.subject(head.realm_name), head.language), MAX_SUBJECT)
    message["Subject"] = title
    message["To"] = mailbox(line(head.full_name, MAX_NAME), head.address)
    message["From"] = mailbox(f"{line(head.realm_name, MAX_NAME)} (Parley)", head.sender)
    message["Date"] = format_datetime(head.now)
    # The same however often it is sent: of two, mail programs show one.
    message["Message-ID"] = f"<account.{key}@{head.domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    if head.unsubscribe_url:
        message["List-Unsubscribe"] = f"<{head.unsubscribe_url}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    fill(
        message,
        str(news.__struct_config__.tag),
        head.language,
        title=title,
        news=news,
        realm_name=head.realm_name,
        realm_url=head.realm_url,
        address=head.address,
        full_name=head.full_name,
        unsubscribe_url=head.unsubscribe_url,
    )
    return message
