"""Invitation emails."""

from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final, NamedTuple

from server.i18n import language_of_mail, localized_time, marked
from server.i18n.catalogues import catalogue
from server.mail.composing import MAX_NAME, MAX_SUBJECT, fill, line
from server.mail.mailer import mailbox


class InvitationPhrases(NamedTuple):
    """Texts with placeholders for the inviting user and the organization.

    They are in the language of the organization, since the recipient's is unknown.
    """

    title: str
    says: str
    button: str
    until: str
    once: str
    otherwise: str
    reason: str
    reason_of_link: str


ENGLISH: Final = InvitationPhrases(
    marked("{inviter} invites you to {realm}"),
    marked("{inviter} would like you to join {realm}, where they talk with their team."),
    marked("Join {realm}"),
    marked("The link works once, until {date} (UTC)."),
    marked("The link works once."),
    marked("If the button does not work, open this address:"),
    marked(
        "You get this because {inviter} has entered your address. If you do not know"
        " them, do nothing. Answers to this email are not read by anybody."
    ),
    marked(
        "You get this because your address was entered at a link of {inviter}. If it"
        " was not you, do nothing. Answers to this email are not read by anybody."
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The content of an invitation."""

    realm_name: str
    realm_url: str
    domain: str
    """The domain of Message-IDs."""
    sender: str
    inviter_name: str
    address: str
    url: str
    """The link."""
    ends_at: datetime | None
    language: str
    is_by_link: bool
    """Whether the recipient has entered the address on the page of an invitation link."""
    key: str
    """Identifies the email."""
    now: datetime


def asking(some: Asking) -> EmailMessage:
    """Build the email. Raises AddressRefusedError."""
    language = language_of_mail(some.language, ENGLISH.title)
    translations = catalogue(language)
    names = {
        "inviter": some.inviter_name,
        "realm": some.realm_name,
        "date": "" if some.ends_at is None else localized_time(some.ends_at, language),
    }
    phrases = InvitationPhrases(
        *(translations.gettext(phrase).format(**names) for phrase in ENGLISH)
    )
    title = line(phrases.title, MAX_SUBJECT)
    message = EmailMessage()
    message["Subject"] = title
    message["From"] = mailbox(f"{line(some.inviter_name, MAX_NAME)} (Parley)", some.sender)
    message["To"] = mailbox("", some.address)
    message["Date"] = format_datetime(some.now)
    message["Message-ID"] = f"<invitation.{some.key}@{some.domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    fill(
        message,
        "invitation",
        language,
        title=title,
        phrases=phrases,
        reason=phrases.reason_of_link if some.is_by_link else phrases.reason,
        until=phrases.once if some.ends_at is None else phrases.until,
        url=some.url,
        realm_name=some.realm_name,
        realm_url=some.realm_url,
    )
    return message
