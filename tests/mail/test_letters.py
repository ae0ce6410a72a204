"""Emails to people who are asked to do something: what others have typed stays what it is."""

from collections.abc import Callable
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import partial

import pytest

from server.mail import confirmation_letters as letters
from server.mail.account_emails import AccountHead, about_account
from server.mail.confirmation_letters import Place
from server.mail.invitations import PHRASES, Asking, asking

EVIL = "x\r\nBcc: all@example.com\r\n\r\n<script>alert(1)</script>{inviter.__class__}%s"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://chat.example.com"


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


def confirmation(letter: letters.Letter) -> EmailMessage:
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


PLACE = Place(name=EVIL, url=URL)
MAILS: dict[str, Callable[[], EmailMessage]] = {
    **{f"invitation, {language}": partial(invitation, language) for language in PHRASES},
    "new password": lambda: confirmation(letters.reset_password(PLACE, EVIL, URL)),
    "no account": lambda: confirmation(letters.no_account(PLACE, is_closed=False)),
    "new address": lambda: confirmation(letters.confirm_new_address(PLACE, EVIL, URL)),
    "sign-up": lambda: confirmation(letters.confirm_sign_up(PLACE, URL)),
    "has account": lambda: confirmation(letters.has_account(PLACE)),
    "founding": lambda: confirmation(letters.confirm_founding(PLACE, URL)),
}


@pytest.mark.parametrize("kind", MAILS)
def test_names_add_neither_headers_nor_html(kind):
    mail = MAILS[kind]()
    head = mail.as_bytes().partition(b"\n\n")[0]
    assert mail["Bcc"] is None
    assert b"\nBcc:" not in head
    assert [each.addr_spec for each in mail["To"].addresses] == ["ada@example.com"]
    html = mail.get_body(("html",))
    assert html is not None
    assert "<script>" not in html.get_content()
    assert "class '" not in html.get_content()
