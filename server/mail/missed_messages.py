"""Notification emails, one for each conversation with missed messages."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime

from markupsafe import Markup

from server.domain.page_links import message_page
from server.i18n import SOURCE, _, localized_time, ngettext, translated
from server.mail.composing import MAX_NAME, MAX_SUBJECT, fill, line
from server.mail.mailer import mailbox
from server.mail.message_html import as_text, for_mail


@dataclass(frozen=True, slots=True, kw_only=True)
class Letterhead:
    """The common parts of all emails to one user in one organization."""

    realm_name: str
    realm_url: str
    domain: str
    """The domain of Message-IDs."""
    sender: str
    address: str
    full_name: str
    names_realm: bool
    """Whether the subject begins with the organization's name."""
    unsubscribe_url: str
    now: datetime
    language: str = SOURCE
    """The language of the email, which has a complete catalogue."""


@dataclass(frozen=True, slots=True)
class MailedMessage:
    sender_name: str
    sent_at: datetime
    content: str
    rendered: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The missed messages of one conversation, at least one."""

    key: str
    """The permanent id of the conversation: all emails with one key form a thread."""
    last_id: int
    title: str
    """The title in the subject: channel and topic, or the users of a direct message."""
    url: str
    reason: str
    """The reason of the notification, as a sentence."""
    messages: Sequence[MailedMessage]
    earlier: int
    """The number of earlier missed messages."""
    answers_to: str | None
    """The reply address of the conversation; None if replies are not received."""


def about(head: Letterhead, conversation: Conversation) -> EmailMessage:
    """Build the email with the missed messages of a conversation.

    Raises AddressRefusedError.
    """
    senders = list(dict.fromkeys(message.sender_name for message in conversation.messages))
    language = head.language
    title = line(translated(conversation.title, language), MAX_SUBJECT)
    message = _envelope(head, title, conversation.key, conversation.last_id)
    if conversation.answers_to is not None:
        message["Reply-To"] = mailbox(line(head.realm_name, MAX_NAME), conversation.answers_to)
    named = translated(_named(senders), language)
    message["From"] = mailbox(f"{named} (Parley)", head.sender)
    fill(
        message,
        "missed_messages",
        language,
        head=head,
        title=title,
        url=conversation.url,
        reason=conversation.reason,
        messages=shown(conversation.messages, head.realm_url, language),
        earlier=conversation.earlier,
        takes_answers=conversation.answers_to is not None,
    )
    return message


def _named(senders: Sequence[str]) -> str:
    """Return the first sender, and the second or the number of the others, on one line."""
    first, *others = senders
    if not others:
        return line(first, MAX_NAME)
    name = line(first, MAX_NAME)
    if len(others) == 1:
        return _("{name} and {other}", name=name, other=line(others[0], MAX_NAME))
    return ngettext("{name} and {count} other", "{name} and {count} others", len(others), name=name)


def shown(
    messages: Sequence[MailedMessage], realm_url: str, language: str
) -> list[dict[str, object]]:
    """Return the messages for templates."""
    return [
        {
            "sender_name": message.sender_name,
            "sent_at": f"{localized_time(message.sent_at, language)} UTC",
            "html": Markup(for_mail(message.rendered, realm_url)),  # noqa: S704 - ours
            "text": as_text(message.rendered)
            if "spoiler-block" in message.rendered
            else message.content,
        }
        for message in messages
    ]


def without_content(
    head: Letterhead, *, count: int, batch_id: int, last_id: int, shown_elsewhere: bool = False
) -> EmailMessage:
    """Build an email with the number of missed messages, without senders and content.

    It links to the page of the message `last_id`. `shown_elsewhere`: other emails show the rest of
    the batch. Raises AddressRefusedError.
    """
    text = _("New messages") if count > 1 else _("New message")
    if shown_elsewhere:
        text = _("More new messages")
    title = translated(text, head.language)
    message = _envelope(head, title, "hidden", batch_id)
    message["From"] = mailbox(f"{line(head.realm_name, MAX_NAME)} (Parley)", head.sender)
    fill(
        message,
        "missed_hidden",
        head.language,
        head=head,
        title=title,
        url=f"{head.realm_url}{message_page(last_id)}",
        count=count,
        shown_elsewhere=shown_elsewhere,
        takes_answers=False,
    )
    return message


def is_ours(headers: Mapping[str, str], domain: str) -> bool:
    """Return whether it is such an email that was bounced. Header names are in lower case."""
    thread = re.compile(rf"<(?:missed\.\d+\.\d+\.\d+|hidden)\.\d+@{re.escape(domain)}>")
    return (
        headers.get("list-id", "").strip() == f"<notifications.{domain}>"
        or thread.fullmatch(headers.get("message-id", "").strip()) is not None
    )


def _envelope(head: Letterhead, title: str, key: str, last_id: int) -> EmailMessage:
    """Return the headers of an email in the thread of this key."""
    # The same for the same messages: of two, mail programs show one.
    message = envelope(head, title, f"{key}.{last_id}")
    thread = f"<{key}@{head.domain}>"
    message["In-Reply-To"] = thread
    message["References"] = thread
    return message


def envelope(head: Letterhead, title: str, key: str) -> EmailMessage:
    """Return the headers of an email with a way to unsubscribe; `key` identifies it.

    Raises AddressRefusedError.
    """
    message = EmailMessage()
    subject = f"[{head.realm_name}] {title}" if head.names_realm else title
    message["Subject"] = line(subject, MAX_SUBJECT)
    message["To"] = mailbox(line(head.full_name, MAX_NAME), head.address)
    message["Date"] = format_datetime(head.now)
    message["Message-ID"] = f"<{key}@{head.domain}>"
    message["List-Id"] = f"<notifications.{head.domain}>"
    message["List-Unsubscribe"] = f"<{head.unsubscribe_url}>"
    message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    return message
