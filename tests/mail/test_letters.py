"""Emails to people who are asked to do something: what others have typed stays what it is."""

import pytest

from testkit.sample_mails import MAILS


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
