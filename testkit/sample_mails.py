"""Emails of each kind, with names that try to add headers and HTML."""

from collections.abc import Callable
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import partial
from typing import Any

from server.i18n import in_any_catalogue
from server.mail import confirmation_mails as letters
from server.mail.account_emails import AccountHead, about_account
from server.mail.confirmation_mails import EmailOrigin
from server.mail.invitations import Asking, asking
from server.mail.missed_messages import Conversation, Letterhead, MailedMessage

URL = "https://chat.example.com"
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HEAD = Letterhead(
    realm_name="Kitchen & Co",
    realm_url=URL,
    domain="chat.example.com",
    sender="noreply@chat.example.com",
    address="ada@example.com",
    full_name="Ada, Countess",
    names_realm=False,
    unsubscribe_url=f"{URL}/stop/token",
    now=NOON,
)


def conversation(**facts: Any) -> Conversation:
    return Conversation(
        **{
            "key": "missed.1.2.3",
            "last_id": 77,
            "title": "#cooks > soup",
            "url": f"{URL}/message/77",
            "reason": "you were mentioned",
            "messages": [MailedMessage("Bob", NOON, "**hot** <b>", "<p><b>hot</b> &lt;b&gt;</p>")],
            "earlier": 0,
            "answers_to": None,
            **facts,
        }
    )


def parts(message: EmailMessage) -> tuple[str, str]:
    """Its text and its HTML."""
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None
    assert html is not None
    return text.get_content(), html.get_content()


EVIL = "x\r\nBcc: all@example.com\r\n\r\n<script>alert(1)</script>{inviter.__class__}%s"


def invitation(language: str) -> EmailMessage:
    return asking(
        Asking(
            realm_name=EVIL,
            realm_url=URL,
            domain="chat.example.com",
            sender="noreply@chat.example.com",
            inviter_name=EVIL,
            address="ada@example.com",
            url=f"{URL}/join/1.secret",
            ends_at=NOON,
            language=language,
            is_by_link=False,
            key="key",
            now=NOON,
        )
    )


def confirmation(letter: letters.EmailContent) -> EmailMessage:
    head = AccountHead(
        realm_name=EVIL,
        realm_url=URL,
        domain="chat.example.com",
        sender="noreply@chat.example.com",
        address="ada@example.com",
        full_name=EVIL,
        now=NOON,
    )
    return about_account(head, letter, key="key")


PLACE = EmailOrigin(name=EVIL, url=URL, language="en")
MAILS: dict[str, Callable[[], EmailMessage]] = {
    **{f"invitation, {language}": partial(invitation, language) for language in in_any_catalogue()},
    "new password": lambda: confirmation(letters.reset_password(PLACE, EVIL, URL)),
    "no account": lambda: confirmation(letters.no_account(PLACE, is_closed=False)),
    "new address": lambda: confirmation(letters.confirm_new_address(PLACE, EVIL, URL)),
    "sign-up": lambda: confirmation(letters.confirm_sign_up(PLACE, URL)),
    "has account": lambda: confirmation(letters.has_account(PLACE)),
    "founding": lambda: confirmation(letters.confirm_founding(PLACE, URL)),
}
