"""What emails about missed messages say, and what they keep to themselves."""

from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest

from server.domain.addresses import mail_domain
from server.mail.mailer import AddressRefusedError, as_sent
from server.mail.message_html import HIDDEN, as_text, for_mail
from server.mail.missed_messages import (
    MailedMessage,
    about,
    without_content,
)
from testkit.sample_mails import HEAD, NOON, URL, conversation, parts


def test_it_shows_who_said_what_and_why_it_comes():
    message = about(HEAD, conversation())
    text, html = parts(message)
    assert message["Subject"] == "#cooks > soup"
    assert message["From"].addresses[0].display_name == "Bob (Parley)"
    assert message["To"].addresses[0].display_name == "Ada, Countess"
    for shown in (text, html):
        assert "Bob" in shown
        assert "you were mentioned" in shown
        assert "2026-05-01 12:00 UTC" in shown
        assert HEAD.unsubscribe_url in shown
        assert f"{URL}/account#notifications" in shown
    assert "**hot** <b>" in text
    assert "<b>hot</b> &lt;b&gt;" in html
    assert "Kitchen &amp; Co" in html
    assert "earlier" not in text + html.partition("</style>")[2]


def test_styles_are_in_the_elements_and_nothing_is_fetched():
    _, html = parts(about(HEAD, conversation()))
    assert '<p class="time"' not in html
    assert 'class="message" style="' in html
    assert "prefers-color-scheme" in html
    assert ".message {" not in html
    assert "src=" not in html
    assert "<link" not in html


def test_threads_and_headers():
    first, again = about(HEAD, conversation()), about(HEAD, conversation())
    later = about(HEAD, conversation(last_id=90))
    assert first["Message-ID"] == again["Message-ID"] == "<missed.1.2.3.77@chat.example.com>"
    assert later["Message-ID"] != first["Message-ID"]
    assert {m[name] for m in (first, later) for name in ("References", "In-Reply-To")} == {
        "<missed.1.2.3@chat.example.com>"
    }
    assert first["List-Unsubscribe"] == f"<{HEAD.unsubscribe_url}>"
    assert first["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert first["Auto-Submitted"] == "auto-generated"
    assert "12:00:00" in first["Date"]


def test_the_organization_is_named_where_that_is_wanted():
    named = replace(HEAD, names_realm=True)
    assert about(named, conversation())["Subject"] == "[Kitchen & Co] #cooks > soup"
    hidden = without_content(named, count=2, batch_id=5, last_id=9)
    assert hidden["Subject"] == "[Kitchen & Co] New messages"


def test_names_cannot_add_headers():
    evil = "x\r\nBcc: all@example.com"
    message = about(
        HEAD, conversation(title=evil, messages=[MailedMessage(evil, NOON, "a", "<p>a</p>")])
    )
    assert message["Bcc"] is None
    assert message["Subject"] == "x Bcc: all@example.com"
    assert b"\nBcc:" not in message.as_bytes().partition(b"\n\n")[0]


def test_long_titles_are_cut_and_several_senders_told():
    messages = [MailedMessage(name, NOON, "a", "<p>a</p>") for name in ("Bob", "Eve", "Bob")]
    message = about(HEAD, conversation(title="t" * 500, messages=messages, earlier=3))
    assert len(message["Subject"]) == 150
    assert message["From"].addresses[0].display_name == "Bob and Eve (Parley)"
    more = [MailedMessage(name, NOON, "a", "<p>a</p>") for name in ("Bob", "Eve", "Mallory")]
    name = about(HEAD, conversation(messages=more))["From"].addresses[0].display_name
    assert name == "Bob and 2 others (Parley)"
    assert all("3 earlier messages not shown" in part for part in parts(message))


@pytest.mark.parametrize(("count", "words"), [(1, "1 new message."), (7, "7 new messages.")])
def test_without_content_nothing_is_told_but_how_many(count: int, words: str):
    message = without_content(HEAD, count=count, batch_id=4, last_id=9)
    for part in parts(message):
        assert words in part
        assert HEAD.unsubscribe_url in part
    whole = message.as_string()
    assert "Bob" not in whole
    assert "cooks" not in whole
    assert message["Message-ID"] == "<hidden.4@chat.example.com>"


@pytest.mark.parametrize(
    ("rendered", "mailed"),
    [
        (
            '<a href="/user_uploads/1/a.pdf">a</a>',
            f'<a href="{URL}/user_uploads/1/a.pdf">a</a>',
        ),
        (
            '<a class="stream" href="#narrow/channel/7">#x</a>',
            f'<a class="stream" href="{URL}/channel/7">#x</a>',
        ),
        ('<a href="https://other.example/">o</a>', '<a href="https://other.example/">o</a>'),
        (
            '<p>a</p><div class="message_inline_image"><a href="/b"><img src="/b"></a></div>',
            "<p>a</p>",
        ),
        (
            '<p>a</p>\n<div class="message_embed"><a style="background-image: url(x)"></a></div>',
            "<p>a</p>",
        ),
        ('<span class="emoji emoji-1f642" title="smile">:smile:</span>', "🙂"),
        ('<span class="emoji emoji-1f1e9-1f1ea">:de:</span>', "🇩🇪"),
        ('<img class="emoji" alt=":parrot:" src="/p.gif" title="parrot">', ":parrot:"),
        ('<img src="https://spy.example/x.gif" alt="x">', "x"),
        (
            '<div class="spoiler-header"><p>h</p></div><div class="spoiler-content">secret</div>',
            f'<div class="spoiler-header"><p>h</p></div>{HIDDEN}',
        ),
        (
            '<span class="katex"><math><mi>x</mi><annotation>x^2</annotation></math></span>',
            "x^2",
        ),
        ("", ""),
    ],
)
def test_messages_are_made_fit_for_mail(rendered: str, mailed: str):
    assert for_mail(rendered, URL) == mailed


def test_spoilers_stay_hidden_in_text():
    rendered = '<p>a</p><div class="spoiler-block"><div class="spoiler-content">secret</div></div>'
    message = MailedMessage("Bob", NOON, "```spoiler x\nsecret\n```", rendered)
    for part in parts(about(HEAD, conversation(messages=[message]))):
        assert "secret" not in part
        assert HIDDEN in part
    assert as_text("<p>a &amp; b</p>") == "a & b"


# -- addresses and headers


def header_lines(mail: bytes) -> list[str]:
    return mail.partition(b"\r\n\r\n")[0].decode("ascii").split("\r\n")


def test_what_programs_read_is_never_encoded_or_cut_however_long():
    domain = f"{'chat.' * 20}example.com"
    link = f"https://{domain}/api/v1/email_notifications/unsubscribe/{'t' * 120}"
    head = replace(HEAD, domain=domain, unsubscribe_url=link, realm_name="Küche " * 30)
    lines = header_lines(as_sent(about(replace(head, names_realm=True), conversation())))
    assert f"List-Unsubscribe: <{link}>" in lines
    assert f"In-Reply-To: <missed.1.2.3@{domain}>" in lines
    assert f"References: <missed.1.2.3@{domain}>" in lines
    assert f"List-Id: <notifications.{domain}>" in lines
    assert f"Message-ID: <missed.1.2.3.77@{domain}>" in lines
    folded = [line for line in lines if "=?utf-8?" in line]
    assert folded
    assert max(map(len, folded)) < 80


def test_an_organization_at_an_address_of_other_letters_sends_mail_too():
    url = "https://Müller.example:8443"
    head = replace(HEAD, domain=mail_domain(url), realm_url=url, unsubscribe_url=f"{url}/stop")
    lines = header_lines(as_sent(about(head, conversation())))
    assert "Message-ID: <missed.1.2.3.77@xn--mller-kva.example>" in lines


def test_texts_in_all_languages_are_sent_in_seven_bits():
    said = MailedMessage("Bób", NOON, "Grüße, 你好, 🙂", "<p>Grüße, 你好, 🙂</p>")
    sent = as_sent(about(HEAD, conversation(messages=[said])))
    assert sent.isascii()
    arrived = message_from_bytes(sent, policy=policy.default)
    assert isinstance(arrived, EmailMessage)
    assert all("Grüße, 你好, 🙂" in shown for shown in parts(arrived))


@pytest.mark.parametrize(
    "address",
    [
        "jürgen@x.de",
        "a..b@x.de",
        "x@",
        "@x",
        "",
        "a b@x.de",
        "a@b@c",
        "x@x.de\r\nBcc: y@z",
        "a@[::1",
    ],
)
def test_what_is_no_address_is_refused_as_such(address):
    with pytest.raises(AddressRefusedError):
        about(replace(HEAD, address=address), conversation())
    with pytest.raises(AddressRefusedError):
        without_content(replace(HEAD, address=address), count=1, batch_id=1, last_id=9)


def test_a_domain_of_other_letters_is_encoded():
    mail = about(replace(HEAD, address="ada@Müller.example"), conversation())
    assert mail["To"].addresses[0].addr_spec == "ada@xn--mller-kva.example"


@pytest.mark.parametrize("address", ["http://[::1", "http://[x]/", "//["])
def test_a_link_that_is_none_leads_nowhere(address):
    html = for_mail(f'<p><a href="{address}">x</a> <a href="/y">y</a></p>', URL)
    assert html == f'<p><a>x</a> <a href="{URL}/y">y</a></p>'
