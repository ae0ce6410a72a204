"""What is kept of an email: what its sender wrote, and nothing that it quotes or hides."""

from contextlib import suppress
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.domain.messages import MAX_MESSAGE_LENGTH, MAX_TOPIC_LENGTH
from server.mail.incoming import (
    MAX_HEADER,
    NO_SUBJECT,
    NO_TEXT,
    TRUNCATED,
    OpenLetter,
    UnreadableError,
    content_of,
    read,
)


def letter(text: str | None = None, html: str | None = None, **headers: str) -> OpenLetter:
    message = EmailMessage()
    message["From"] = 'Ada "*" @**all** <ada@example.com>'.replace('"*" ', "")
    for name, value in headers.items():
        message[name] = value
    if text is not None:
        message.set_content(text)
    if html is not None and text is not None:
        message.add_alternative(html, subtype="html")
    elif html is not None:
        message.set_content(html, subtype="html")
    return read(message.as_bytes())


def answer(text: str | None = None, html: str | None = None, **headers: str) -> OpenLetter:
    """A mail that answers another one."""
    return letter(text, html, **{"In-Reply-To": "<1@chat.example.com>", **headers})


def content(some: OpenLetter, *options: str) -> str:
    """The message that it makes where no files are kept."""
    said = content_of(some, options, to_person=False)
    return said.written([None] * len(said.enclosures.files))


GMAIL = """\
Sure, *let's* do it.

On Mon, May 4, 2026 at 12:00 PM Bob (Parley) <
noreply@chat.example.com> wrote:

> Shall we?
> Bob
"""
OUTLOOK = """\
Sure, *let's* do it.

From: Bob <noreply@chat.example.com>
Sent: Monday, May 4, 2026 12:00 PM
To: Ada
Subject: soup

Shall we?
"""
GERMAN = """\
Sure, *let's* do it.

Am 04.05.2026 um 12:00 schrieb Bob:
> Sollen wir?
"""
BELOW = """\
On Mon, May 4, 2026 at 12:00 PM Bob <noreply@chat.example.com> wrote:
> Shall we?

Sure, *let's* do it.
"""


@pytest.mark.parametrize("text", [GMAIL, OUTLOOK, GERMAN, BELOW])
def test_what_is_answered_is_left_out(text):
    for some in (answer(text), letter(text, Subject="Re: soup"), letter(text, References="<1@x>")):
        assert content(some) == "Sure, *let's* do it."
        assert content(some, "include-quotes") == text.strip()
    said = content_of(letter(text), (), to_person=True)  # to an address for answers
    assert said.text == "Sure, *let's* do it."


def test_what_is_forwarded_is_the_point_of_it():
    assert content(answer(OUTLOOK, Subject="Fwd: soup")) == OUTLOOK.strip()
    assert content(answer(OUTLOOK, Subject="WG: Suppe")) == OUTLOOK.strip()
    for first in ("---------- Forwarded message ---------", "Begin forwarded message:"):
        text = OUTLOOK.replace("From:", f"{first}\n\nFrom:", 1).strip()
        assert content(answer(text)) == content(letter(text)) == text


LOOKS_QUOTED = {
    "a journey": "From: Berlin\nTo: Paris\nDate: 1 May\n\nSee you there",
    "a meeting": "Agenda\nSubject: budget\nDate: Monday\n\nAll are welcome",
    "a newspaper": "Look:\n\nOn 1 May the Daily wrote:\nPrices are up.\n\nWhat now?",
    "a menu": "Menu\n________________________________\nSoup\n\nFish",
    "a heading": "Prices\n--\nApples: 3",
}


@pytest.mark.parametrize("text", LOOKS_QUOTED.values(), ids=LOOKS_QUOTED)
def test_what_only_looks_like_a_quote_is_kept(text):
    assert content(letter(text)) == text
    if "--" not in text:
        assert content(answer(text)) == text


PIECES = (
    *("From: Berlin", "To: Paris", "Date: 1 May", "Sent: today", "Subject: soup", "Von: Ada"),
    *("On 1 May the Daily wrote:", "On Mon, May 4, 2026 at 12:00 PM Bob <b@x.org> wrote:"),
    *("________________________________", "-----Original Message-----", "> quoted", ">", ""),
    *("Begin forwarded message:", "--", "Am 04.05.2026 um 12:00 schrieb Bob:", "words", "2 * 3"),
)


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12))
def test_a_mail_that_answers_nothing_keeps_all_and_an_answer_keeps_something(lines):
    text = "\n".join(lines).strip("\n")
    if text.strip():
        assert content(letter(text)).rstrip() == text.rstrip()
        assert content_of(answer(text), (), to_person=True).text


def test_answers_between_quotes_are_kept_with_them():
    text = "Hi\n\nOn May 4, 2026, Bob <b@example.com> wrote:\n\n> Shall we?\nYes\n> Really?\nNo"
    assert content(answer(text)) == text


def test_code_and_quotes_of_ones_own_stay_as_they_are():
    text = "Look:\n\n    def f():\n        return 1\n\n> as they say\n\nand after"
    assert content(letter(text)) == text


def test_footers_are_cut_unless_included():
    assert content(letter("Yes\n\n-- \nAda\nCountess")) == "Yes"
    assert content(letter("Yes\n\n-- \nAda"), "include-footer") == "Yes\n\n-- \nAda"
    table = "a\n--\nb\n--\nc"
    assert content(letter(table)) == table
    assert content(answer("Yes\n\n--\nAda")) == "Yes"
    assert content(answer("-- \nAda")) == "-- \nAda"


HTML = """\
<html><head><title>no</title><style>p {}</style></head><body>
<p>See <b>this</b> <a href="https://example.com/x">page</a>:
<img src="http://spy/x.png" alt="spy"></p>
<ul><li>one</li><li>two</li></ul><script>alert(1)</script>
<div class="gmail_quote">On Mon, May 4, 2026 at 12:00 PM Bob &lt;b@example.com&gt; wrote:<br>
<blockquote>Shall we?</blockquote></div></body></html>
"""


def test_html_becomes_markdown_without_what_tells_who_looks():
    shown = content(answer(html=HTML))
    assert shown == "See **this** [page](https://example.com/x):\n\n- one\n- two"
    assert content(letter("As text", HTML)) == "As text"
    assert content(answer("As text", HTML), "prefer-html") == shown


def test_html_is_read_however_deep_mail_programs_nest_their_tables():
    table = "<table><tbody><tr><td>"
    end = "</td></tr></tbody></table>"
    assert "deep down" in content(letter(html=table * 30 + "deep down" + end * 30))


def test_the_sender_is_shown_and_makes_nothing_of_their_name():
    shown = content(letter("hi"), "show-sender")
    assert shown.startswith("**From:** ")
    assert shown.endswith("\n\nhi")
    assert "@**all**" not in shown


def test_what_hangs_on_it_is_named_where_it_is_not_kept():
    message = EmailMessage()
    message["From"] = "ada@example.com"
    message.set_content("See there")
    for number in range(12):
        message.add_attachment(
            b"%PDF", maintype="application", subtype="pdf", filename=f"@**a**{number}"
        )
    shown = content(read(message.as_bytes()))
    assert shown.startswith("See there\n\n*Left out: ")
    assert shown.endswith(", …*")
    assert "9" in shown
    assert "10" not in shown
    assert "@**a**" not in shown


def test_what_hangs_on_it_is_linked_as_it_came():
    inner = EmailMessage()
    inner["Subject"] = "Grüße"
    inner.set_content("inside")
    message = EmailMessage()
    message["From"] = "ada@example.com"
    message.set_content("x" * 2 * MAX_MESSAGE_LENGTH)
    message.add_attachment(bytes(range(256)), maintype="image", subtype="png", filename="../a].png")
    message.add_attachment("Grüße", subtype="csv")
    message.add_attachment(inner)
    said = content_of(read(message.as_bytes()), (), to_person=True)
    files = said.enclosures.files
    assert [file.name for file in files] == ["a].png", "text.csv", "email.eml"]
    assert files[0].content == bytes(range(256))
    assert files[1].content.decode() == "Grüße\n"
    assert files[2].content.startswith(b"Subject: =?utf-8?")
    shown = said.written(["/user_uploads/1", None, "/user_uploads/2"])
    assert len(shown) <= MAX_MESSAGE_LENGTH
    assert shown.endswith(
        f"{TRUNCATED}\n\n[a\\]\\.png](/user_uploads/1)\n[email\\.eml](/user_uploads/2)"
        "\n\n*Left out: text\\.csv*"
    )


def test_files_alone_are_an_answer():
    message = EmailMessage()
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    said = content_of(read(message.as_bytes()), (), to_person=True)
    assert said.written(["/user_uploads/1"]) == "[a\\.pdf](/user_uploads/1)"


def test_nothing_said_is_told_and_no_answer():
    assert content(letter("  \n")) == NO_TEXT
    with pytest.raises(UnreadableError):
        content_of(letter("> quote\n"[:0]), (), to_person=True)


def test_what_is_too_long_is_cut_and_told():
    shown = content(letter("x" * 3 * MAX_MESSAGE_LENGTH), "show-sender")
    assert len(shown) <= MAX_MESSAGE_LENGTH
    assert shown.endswith(TRUNCATED)


@pytest.mark.parametrize(
    ("subject", "topic"),
    [
        ("soup", "soup"),
        ("Re: AW: Fwd: [2] soup", "[2] soup"),
        ("RE[2]: soup", "soup"),
        ("Real: soup", "Real: soup"),
        ("  a\tb  ", "a b"),
        ("", NO_SUBJECT),
        ("Re:", NO_SUBJECT),
        ("Grüße 你好 🙂", "Grüße 你好 🙂"),
        ("x" * 100, "x" * (MAX_TOPIC_LENGTH - 1) + "…"),
    ],
)
def test_subjects_are_topics(subject, topic):
    assert letter("x", Subject=subject).topic() == topic


def test_unknown_character_sets_are_read_as_far_as_possible():
    raw = b"Content-Type: text/plain; charset=klingon\n\nGr\xc3\xbc\xc3\x9fe"
    assert content(read(raw)) == "Grüße"


HOSTILE: dict[str, Any] = {
    "headers of quotes": "From: a\n" * 20_000,
    "quotes": "> " * 100_000,
    "dashes": "-" * 500_000,
    "blanks": " \n" * 50_000,
    "writers": "On Mon <a@b.c> wrote:\n" * 30_000,
    "elements": "<div>" * 100_000,
    "tables": "<table><tr><td>" * 30_000,
    "openings": "<" * 500_000,
    "code": "<pre>x" * 100_000,
    "quotes in quotes": "<blockquote>" * 100_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_nothing_takes_for_ever(text):
    for some in (letter(text), letter(html=text)):
        assert len(content(some)) <= MAX_MESSAGE_LENGTH


@pytest.mark.parametrize(
    "raw",
    [
        b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n" * 30_000,
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\n" + b"a:\n" * 2_000_000,
        b"a:\n" * 2_000_000,
    ],
)
def test_mail_of_very_many_parts_or_headers_is_not_taken_apart(raw):
    with pytest.raises(UnreadableError, match="too many parts"):
        read(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"From: " + b"(" * 20_000 + b"\n\nx",
        b"To: <@,,,:;;>\nFrom: @\nMessage-ID: <\nDate: x\n\nx",
        b"Subject: =?utf-8?q?" + b"=" * 10_000 + b"?=\n\nx",
        b"From: \xff\x00\xfe\nSubject: \xc3\n\nx",
    ],
)
def test_headers_that_are_broken_are_shown_as_they_came(raw):
    some = read(raw)
    shown = content(some, "show-sender")
    assert shown.endswith("x")
    assert "\0" not in shown + some.topic()
    assert (shown + some.topic()).encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"From: " + b"a@b.c," * 200_000 + b"\n\nx",
        b"Subject: " + b"=?utf-8?q?a?= " * 100_000 + b"\n\nx",
    ],
)
def test_headers_are_read_up_to_some_length(raw):
    some = read(raw)
    assert all(len(value) <= 2 * MAX_HEADER for value in some.headers.values())
    assert content(some, "show-sender").endswith("x")


def test_mail_with_endless_headers_in_its_parts_is_not_read():
    part = b"--b\nContent-Type: text/plain" + b";a=b" * 2_000 + b"\n\nx\n"
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n" + part * 1_000 + b"--b--\n"
    with pytest.raises(UnreadableError, match="too many headers"):
        content(read(raw))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"\x00" * 1000,
        b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n" * 5_000,
        b"Content-Type: message/rfc822\n\n" * 500,
        b"Content-Type: text/html; charset=utf-7\n\n+AGE-",
    ],
)
def test_broken_mail_is_read_or_refused_and_ends_nothing(raw):
    with suppress(UnreadableError):
        assert content(read(raw), "show-sender")
