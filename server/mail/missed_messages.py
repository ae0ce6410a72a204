"""Emails about what somebody has missed: one for each conversation."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from functools import lru_cache
from typing import Final

import css_inline
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from server.mail.mailer import mailbox
from server.mail.message_html import as_text, for_mail

MAX_SUBJECT: Final = 150
MAX_NAME: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Letterhead:
    """What all emails to one person in one organization have in common."""

    realm_name: str
    realm_url: str
    domain: str
    """What stands after the @ of the ids that mails have."""
    sender: str
    address: str
    full_name: str
    names_realm: bool
    """Whether the subject begins with the organization's name."""
    unsubscribe_url: str
    now: datetime


@dataclass(frozen=True, slots=True)
class MailedMessage:
    sender_name: str
    sent_at: datetime
    content: str
    rendered: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages of one conversation that somebody has missed; never none."""

    key: str
    """Names the conversation for ever: all emails of one key are a thread."""
    last_id: int
    title: str
    """As the subject has it: a channel with its topic, or who is in a direct message."""
    url: str
    reason: str
    """Why they get this email, as the end of a sentence."""
    messages: Sequence[MailedMessage]
    earlier: int
    """How many more there are before these."""
    answers_to: str | None
    """Where an answer has to go to be said in the conversation; None: nobody reads it."""


def about(head: Letterhead, conversation: Conversation) -> EmailMessage:
    """The email that shows what was missed in the conversation.

    Raises AddressRefusedError.
    """
    senders = list(dict.fromkeys(message.sender_name for message in conversation.messages))
    shown = [
        {
            "sender_name": message.sender_name,
            "sent_at": message.sent_at.strftime("%Y-%m-%d %H:%M UTC"),
            "html": Markup(for_mail(message.rendered, head.realm_url)),  # noqa: S704 - ours
            "text": as_text(message.rendered)
            if "spoiler-block" in message.rendered
            else message.content,
        }
        for message in conversation.messages
    ]
    title = _line(conversation.title, MAX_SUBJECT)
    message = _envelope(head, title, conversation.key, conversation.last_id)
    if conversation.answers_to is not None:
        message["Reply-To"] = mailbox(_line(head.realm_name, MAX_NAME), conversation.answers_to)
    name = senders[0] if len(senders) == 1 else f"{senders[0]} and others"
    message["From"] = mailbox(f"{_line(name, MAX_NAME)} (Parley)", head.sender)
    _fill(
        message,
        "missed_messages",
        head=head,
        title=title,
        url=conversation.url,
        reason=conversation.reason,
        messages=shown,
        earlier=conversation.earlier,
        takes_answers=conversation.answers_to is not None,
    )
    return message


def without_content(
    head: Letterhead, *, count: int, batch_id: int, shown_elsewhere: bool = False
) -> EmailMessage:
    """The email that says how much was missed, and nothing of whom or what.

    `shown_elsewhere`: other emails show the rest of the batch. Raises AddressRefusedError.
    """
    title = "New messages" if count > 1 else "New message"
    if shown_elsewhere:
        title = "More new messages"
    message = _envelope(head, title, "hidden", batch_id)
    message["From"] = mailbox("Parley", head.sender)
    _fill(
        message,
        "missed_hidden",
        head=head,
        title=title,
        url=f"{head.realm_url}/",
        count=count,
        shown_elsewhere=shown_elsewhere,
        takes_answers=False,
    )
    return message


def is_ours(headers: Mapping[str, str], domain: str) -> bool:
    """Whether it is such an email that has come back. Names of headers are in small letters."""
    thread = re.compile(rf"<(?:missed\.\d+\.\d+\.\d+|hidden)\.\d+@{re.escape(domain)}>")
    return (
        headers.get("list-id", "").strip() == f"<notifications.{domain}>"
        or thread.fullmatch(headers.get("message-id", "").strip()) is not None
    )


def _envelope(head: Letterhead, title: str, key: str, last_id: int) -> EmailMessage:
    message = EmailMessage()
    subject = f"[{head.realm_name}] {title}" if head.names_realm else title
    message["Subject"] = _line(subject, MAX_SUBJECT)
    message["To"] = mailbox(_line(head.full_name, MAX_NAME), head.address)
    message["Date"] = format_datetime(head.now)
    # The same for the same messages: of two, mail programs show one.
    message["Message-ID"] = f"<{key}.{last_id}@{head.domain}>"
    thread = f"<{key}@{head.domain}>"
    message["In-Reply-To"] = thread
    message["References"] = thread
    message["List-Id"] = f"<notifications.{head.domain}>"
    message["List-Unsubscribe"] = f"<{head.unsubscribe_url}>"
    message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message["Content-Language"] = "en"
    return message


def _fill(message: EmailMessage, template: str, **values: object) -> None:
    message.set_content(_templates().get_template(f"{template}.txt").render(values))
    html = _templates().get_template(f"{template}.html").render(values)
    message.add_alternative(_inliner().inline(html), subtype="html")


def _line(text: str, longest: int) -> str:
    """The text as a header takes it: one line, not too long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


@lru_cache(maxsize=1)
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("server.mail"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@lru_cache(maxsize=1)
def _inliner() -> css_inline.CSSInliner:
    # What depends on the screen stays in a style element: it cannot be inlined.
    return css_inline.CSSInliner(keep_at_rules=True, load_remote_stylesheets=False)
