"""Addresses by which mail becomes messages: they cannot be made or changed without the key."""

from datetime import date
from typing import Any

import pytest

from server.domain.mail_addresses import (
    DAYS_TO_ANSWER,
    Destination,
    MailAddresses,
    ToChannel,
    ToMessage,
)

TODAY = date(2026, 5, 1)
ADDRESSES = MailAddresses("%s@Chat.example.com", b"k" * 32)
ANY: Any = (1, 12, 105, None)
TO_CHANNEL = ToChannel(*ANY)
SENT: Any = (1, 105, 123_456, TODAY.toordinal())
TO_MESSAGE = ToMessage(*SENT)


def read(address: str) -> Destination | None:
    return ADDRESSES.read(address, TODAY)


def test_addresses_say_what_they_were_made_of_in_any_case_of_letters():
    for address, target in (
        (ADDRESSES.of_channel("general", TO_CHANNEL), TO_CHANNEL),
        (ADDRESSES.of_message(TO_MESSAGE), TO_MESSAGE),
    ):
        for written in (address, address.upper(), address.title()):
            found = read(written)
            assert found is not None
            assert found.target == target


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("general", "general"),
        ("Küche & Co.", "kuche-co"),
        ("  release_notes  ", "release-notes"),
        ("Straße", "strasse"),
        ("日本", "channel"),
        ("日本 office", "channel"),
        ("...", "channel"),
        ("a" * 60, "a" * 20),
    ],
)
def test_channels_are_known_again_by_their_names(name, slug):
    address = ADDRESSES.of_channel(name, TO_CHANNEL)
    assert address.startswith(f"{slug}.")
    local, _, domain = address.partition("@")
    assert len(local) <= 64
    assert domain == ADDRESSES.domain == "chat.example.com"
    assert read(address) == Destination(TO_CHANNEL, frozenset({"show-sender"}))


def test_options_are_added_with_dots_or_plus_signs():
    address = ADDRESSES.of_channel("general", TO_CHANNEL)
    more = address.replace(".show-sender@", "+include-quotes.prefer-html@")
    assert read(more) == Destination(TO_CHANNEL, frozenset({"include-quotes", "prefer-html"}))
    assert read(address.partition(".")[2]) == read(address)
    assert read(address.replace("general.", "what-it-was-called-before+")) == read(address)


def test_no_letter_of_a_token_can_be_another():
    local, _, domain = ADDRESSES.of_message(TO_MESSAGE).partition("@")
    for place in range(len("answer."), len(local)):
        for other in "a7":
            changed = f"{local[:place]}{other}{local[place + 1 :]}"
            found = read(f"{changed}@{domain}")
            assert found is None or found.target == TO_MESSAGE
            assert found is None or changed == local or place == len(local) - 1


@pytest.mark.parametrize(
    "address",
    [
        "",
        "@",
        "@chat.example.com",
        "answer@chat.example.com",
        "a.b.c@chat.example.com",
        "ü.ß@chat.example.com",
        "." * 64 + "@chat.example.com",
        "show-sender@chat.example.com",
        "a" * 10_000 + "@chat.example.com",
    ],
)
def test_what_is_none_of_ours_says_nothing(address):
    assert read(address) is None
    assert read(f"{address}.org") is None


def test_another_key_or_domain_makes_other_addresses():
    for other in (
        MailAddresses("%s@chat.example.com", b"l" * 32),
        MailAddresses("%s@chat.example.org", b"k" * 32),
        MailAddresses("in+%s@chat.example.com", b"k" * 32),
    ):
        assert read(other.of_message(TO_MESSAGE)) is None or "in+" in other.of_message(TO_MESSAGE)
        assert other.read(other.of_message(TO_MESSAGE), TODAY) == Destination(TO_MESSAGE)


def test_answers_are_taken_for_a_while():
    last = date.fromordinal(TODAY.toordinal() + DAYS_TO_ANSWER)
    after = date.fromordinal(last.toordinal() + 1)
    address = ADDRESSES.of_message(TO_MESSAGE)
    assert ADDRESSES.read(address, last) is not None
    assert ADDRESSES.read(address, after) is None
    assert ADDRESSES.read(ADDRESSES.of_channel("x", TO_CHANNEL), date(2099, 1, 1)) is not None
