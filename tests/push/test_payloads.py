"""What phones are told fits, says no more than it may, and is in words that people read."""

import string
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import pytest

from server.domain.languages import LANGUAGES
from server.domain.notifications import Reason
from server.i18n import in_any_catalogue
from server.push.payloads import (
    MAX_IDS_PER_REMOVAL,
    Addressee,
    PushedMessage,
    message_notice,
    message_to_seal,
    removals,
    removals_to_seal,
)
from server.push.phrases import ENGLISH, phrases_in
from server.push.plain_text import LEFT_OUT, MAX_CONTENT, as_notification, shortened
from server.push.sealing import sealed

MAX_BYTES: Final = 4_096
ADA = Addressee(
    user_id=7,
    language="en",
    realm_id=1,
    realm_uuid="5a1f6c1e-7a51-4c83-9d33-5e3d1a2b3c4d",
    realm_name="A realm",
    realm_url="https://chat.example.com",
    host="chat.example.com",
)
MESSAGE = PushedMessage(
    message_id=17,
    sent_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
    content="hello",
    sender_id=8,
    sender_email="ben@example.com",
    sender_name="Ben",
    sender_avatar_url="https://pictures.example.com/8",
    reason=Reason.CHANNEL_BY_PUSH,
    channel=(3, "news"),
    topic="soup",
)
WIDE = "\N{FAMILY}"
SECONDS: Final = 3.0
"""Of processor time: ten times what is asked, where comparing each with each takes fifteen."""


def huge(people: int = 0) -> PushedMessage:
    """As long as everything may be, in letters of four bytes."""
    everyone = [(10**15 + n, WIDE * 100) for n in range(people)]
    channel = None if people else (10**15, WIDE * 60)
    return replace(
        MESSAGE,
        message_id=10**15,
        content=WIDE * 10_000,
        sender_name=WIDE * 100,
        sender_email=f"{'e' * 64}@{'e' * 190}",
        channel=channel,
        topic=WIDE * 60,
        group=(10**15, WIDE * 100),
        people=everyone,
    )


LONG_ADDRESS = replace(ADA, realm_name=WIDE * 40, realm_url=f"https://{'h' * 250}", host="h" * 250)


@pytest.mark.parametrize("people", [0, 3, 100, 1_000])
def test_everything_fits_however_much_there_is_to_say(people: int):
    message = huge(people)
    notice = message_notice(LONG_ADDRESS, message, badge=10**9)
    android = {name: str(value) for name, value in notice.android.items()}
    assert sum(len((name + value).encode()) for name, value in android.items()) <= MAX_BYTES
    apple = {"aps": dict(notice.apple), **notice.apple["custom"]}
    apple["aps"].pop("custom")
    assert len(msgspec.json.encode(apple)) <= MAX_BYTES
    encrypted = sealed(bytes(range(1, 33)), message_to_seal(LONG_ADDRESS, message))
    around = {
        "push_account_id": -(2**63),
        "encrypted_data": encrypted,
        "aps": {"mutable-content": 1, "alert": {"title": "New notification"}},
    }
    assert len(msgspec.json.encode(around)) <= MAX_BYTES


def test_removals_fit_too():
    ids = range(2**63 - 301, 2**63 - 1)
    pieces = list(removals(LONG_ADDRESS, ids, badge=3))
    assert [len(p.android["zulip_message_ids"].split(",")) for p in pieces] == [
        MAX_IDS_PER_REMOVAL,
        MAX_IDS_PER_REMOVAL,
        300 - 2 * MAX_IDS_PER_REMOVAL,
    ]
    for notice, to_seal in zip(pieces, removals_to_seal(LONG_ADDRESS, ids), strict=True):
        assert len(msgspec.json.encode(notice.android)) <= MAX_BYTES
        assert len(msgspec.json.encode(notice.apple)) <= MAX_BYTES
        assert len(sealed(bytes(range(1, 33)), to_seal)) <= MAX_BYTES - 300


def test_a_long_message_is_cut_and_a_short_one_is_not():
    assert shortened("x" * MAX_CONTENT) == "x" * MAX_CONTENT
    cut = message_notice(ADA, replace(MESSAGE, content="x" * 201), badge=0)
    assert cut.android["content"] == "x" * 200 + "…"


@pytest.mark.parametrize(
    ("parts", "title", "subtitle"),
    [
        ({}, "#news > soup", "Ben:"),
        ({"reason": Reason.MENTIONED}, "#news > soup", "Ben mentioned you:"),
        (
            {"reason": Reason.MENTIONED, "group": (4, "cooks")},
            "#news > soup",
            "Ben mentioned @cooks:",
        ),
        ({"reason": Reason.CHANNEL_WILDCARD}, "#news > soup", "Ben mentioned everyone:"),
        (
            {"reason": Reason.TOPIC_WILDCARD_WHERE_FOLLOWED},
            "#news > soup",
            "Ben mentioned everyone:",
        ),
        ({"channel": None, "people": [(7, "Ada"), (8, "Ben")]}, "Ben", ""),
        ({"channel": None, "people": [(7, "Ada"), (8, "Ben"), (9, "Cy")]}, "Ada, Ben, Cy", "Ben:"),
    ],
)
def test_titles_say_where_and_who(parts: dict[str, Any], title: str, subtitle: str):
    alert = message_notice(ADA, replace(MESSAGE, **parts), badge=0).apple["alert"]
    assert (alert["title"], alert["subtitle"]) == (title, subtitle)


def test_names_with_braces_are_names():
    message = replace(MESSAGE, reason=Reason.MENTIONED, sender_name="{group.__class__}")
    alert = message_notice(ADA, message, badge=0).apple["alert"]
    assert alert["subtitle"] == "{group.__class__} mentioned you:"


def test_the_same_message_replaces_itself_and_no_other():
    def key(message: PushedMessage, to: Addressee = ADA) -> str:
        return message_notice(to, message, badge=0).collapse_key

    assert len(key(MESSAGE).encode()) <= 64
    assert key(MESSAGE) == key(replace(MESSAGE, content="edited"))
    other_realm = replace(ADA, realm_uuid="6a1f6c1e-7a51-4c83-9d33-5e3d1a2b3c4d")
    assert len({key(MESSAGE), key(replace(MESSAGE, message_id=18)), key(MESSAGE, other_realm)}) == 3


def test_each_language_has_all_words_and_every_place():
    assert set(in_any_catalogue()) <= set(LANGUAGES)

    def places(text: str) -> set[str | None]:
        return {name for _, name, _, _ in string.Formatter().parse(text)} - {None}

    assert len(in_any_catalogue()) > 10
    for words in map(phrases_in, in_any_catalogue()):
        assert all(words)
        assert [places(text) for text in words] == [places(text) for text in ENGLISH]
    assert phrases_in("pt-br") == phrases_in("pt") != ENGLISH
    assert phrases_in("xx") == ENGLISH


@pytest.mark.parametrize(
    ("rendered", "text"),
    [
        ("<p>a <strong>b</strong> &lt;c&gt;</p>", "a b <c>"),
        ('<p><span aria-label="tada" class="emoji emoji-1f389" role="img">:tada:</span></p>', "🎉"),
        ('<p><img alt=":own:" class="emoji" src="/x.png" title="own"></p>', ":own:"),
        ("<p>one<br>\ntwo</p>\n<p>three</p>", "one\ntwo\nthree"),
        ("<ul>\n<li>a</li>\n<li>b</li>\n</ul>", "a\nb"),
        ('<ol start="3">\n<li>a</li>\n<li>b <em>c</em></li>\n</ol>', "3. a\n4. b c"),
        ("<blockquote>\n<p>said</p>\n<p>more</p>\n</blockquote>", "> said\n> more"),
        ("<blockquote>\n<p>said</p>\n</blockquote>\n<p>answer</p>", "[…]\nanswer"),
        (
            (
                '<p><span class="user-mention" data-user-id="1">@Ada</span>'
                ' <a href="/#narrow/channel/1-x/topic/y/near/9">said</a>:</p>\n'
                "<blockquote>\n<p>words</p>\n</blockquote>\n<p>answer</p>"
            ),
            "[…]\nanswer",
        ),
        (
            (
                '<div class="spoiler-block"><div class="spoiler-header">\n<p>The end</p>\n</div>'
                '<div class="spoiler-content" aria-hidden="true">\n<p>He dies</p>\n</div></div>'
            ),
            "The end (…)",
        ),
        (
            (
                '<p><span class="katex"><math><semantics><mrow><mi>x</mi></mrow><annotation'
                ' encoding="application/x-tex">x^2</annotation></semantics></math></span></p>'
            ),
            "x^2",
        ),
        ("<div>" * 200 + "deep" + "</div>" * 200, "deep"),
        ("", ""),
    ],
)
def test_messages_are_plain_words(rendered: str, text: str):
    assert as_notification(rendered) == text


def test_a_message_of_nothing_but_short_quotes_and_answers_is_no_burden():
    answer = "<blockquote>\n<p>q</p>\n</blockquote>\n<p>a</p>\n"
    start = time.thread_time()
    text = as_notification(answer * 6_000)
    assert time.thread_time() - start < SECONDS
    assert text == f"{LEFT_OUT}\na\n" * 5_999 + f"{LEFT_OUT}\na"
