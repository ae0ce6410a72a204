"""Addresses are one where mail goes to one place; accounts that have one are never merged."""

from types import SimpleNamespace

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.domain.access import MEMBER
from server.domain.addresses import mailable
from server.domain.narrow import EventNarrow, QueueReader
from storage import credentials, invitations, users
from storage.address_folding import fold_address
from storage.ids import UserId
from storage.shared_addresses import SharedAddress, fill_foldings, shared_addresses
from testkit.factories import JOINED, Make
from testkit.stage import Stage

SAME = [
    ("Ada@Example.com", "ada@example.COM"),
    ("ada@bücher.example", "ADA@BÜCHER.example"),
    ("ada@bücher.example", "ada@xn--bcher-kva.example"),
    ("ada@bu\u0308cher.example", "ada@bücher.example"),
    ("é@example.com", "E\u0301@example.com"),
    ("ada@faß.de", "ada@xn--fa-hia.de"),
]
DIFFERENT = [
    ("ada@faß.de", "ada@fass.de"),
    ("ada@βόλος.com", "ada@βόλοσ.com"),
    ("straße@example.com", "strasse@example.com"),
    ("ada@example.com", "ada@exampie.com"),
]
BOTH = [*((*pair, True) for pair in SAME), *((*pair, False) for pair in DIFFERENT)]
A_PART = st.text(st.sampled_from("aAßẞéE\u0301üσςΣİıж中-.1😀"), min_size=1, max_size=8)


@pytest.mark.asyncio
@pytest.mark.parametrize(("one", "other", "expected"), BOTH)
async def test_all_ways_agree(make: Make, stage: Stage, one: str, other: str, *, expected: bool):
    row = await make.user(email=one)
    realm_cache = stage.realm_caches.of(make.realm_id)
    assert await realm_cache.user_by_email(one) == row
    found = await credentials.by_email(make.connection, make.realm_id, other)
    message = SimpleNamespace(channel_id=None, sender=SimpleNamespace(id=7, email=one))
    event = SimpleNamespace(message=message, wire_type="message")

    assert {
        "folding": fold_address(one) == fold_address(other),
        "rows": await users.by_emails(make.connection, make.realm_id, [other]) == [row],
        "cached": await realm_cache.user_by_email(other) == row,
        "several": await realm_cache.users_by_email([other]) == [row],
        "signing in": found is not None and found.user_id == row.user_id,
        "narrow": EventNarrow.parse([["sender", other]]).admits(event, QueueReader(UserId(1), ())),
    } == dict.fromkeys(("folding", "rows", "cached", "several", "signing in", "narrow"), expected)


def test_mail_goes_to_the_domain_that_is_stored():
    assert mailable("ada@faß.de") == "ada@xn--fa-hia.de"
    assert mailable("ada@bücher.example") == "ada@xn--bcher-kva.example"
    assert mailable("ada@i❤.ws") == "ada@xn--i-7iq.ws"


@given(A_PART, A_PART)
def test_folding_twice_changes_nothing(local: str, domain: str):
    folding = fold_address(f"{local}@{domain}")
    assert fold_address(folding) == folding


async def write_as_before(make: Make, row: users.UserRow, email: str) -> None:
    """As an older release does it."""
    await make.connection.execute(
        "UPDATE users SET email = %(email)s WHERE realm_id = %(realm_id)s AND user_id = %(id)s",
        email=email,
        realm_id=make.realm_id,
        id=row.user_id,
    )


@pytest.mark.asyncio
async def test_what_an_older_release_has_written_is_found_and_folded(make: Make, database_url: str):
    row = await make.user()
    for email, other in SAME:
        await write_as_before(make, row, email)
        [found] = await users.by_emails(make.connection, make.realm_id, [other])
        assert found.user_id == row.user_id
        exact = await credentials.by_email(make.connection, make.realm_id, email)
        assert exact is not None
    with psycopg.connect(database_url, autocommit=True) as connection:
        assert fill_foldings(connection) == 1
        assert fill_foldings(connection) == 0
    found_again = await credentials.by_email(make.connection, make.realm_id, SAME[-1][1])
    assert found_again is not None


@pytest.mark.asyncio
async def test_accounts_that_have_the_same_address_are_told_apart_and_reported(
    make: Make, stage: Stage, database_url: str
):
    first, second = await make.user(), await make.user()
    spellings = ("ada@bücher.example", "ada@xn--bcher-kva.example")
    for row, email in zip((first, second), spellings, strict=True):
        await write_as_before(make, row, email)
    with psycopg.connect(database_url, autocommit=True) as connection:
        fill_foldings(connection)
        shared = [s for s in shared_addresses(connection) if s.realm_id == make.realm_id]
    realm_cache = stage.realm_caches.of(make.realm_id)
    assert shared == [SharedAddress(make.realm_id, list(spellings))]
    for row, email in zip((first, second), spellings, strict=True):
        for _ in range(2):  # read, and from the cache
            by_address = await realm_cache.user_by_email(email)
            assert by_address is not None
            assert by_address.user_id == row.user_id
        entry = await credentials.by_email(make.connection, make.realm_id, email)
        assert entry is not None
        assert entry.user_id == row.user_id


@pytest.mark.asyncio
@pytest.mark.parametrize(("one", "other", "expected"), BOTH)
async def test_what_asks_an_address_is_found_by_it(
    make: Make, one: str, other: str, *, expected: bool
):
    connection, realm_id = make.connection, make.realm_id
    inviter = await make.user()
    terms = invitations.InvitationTerms(
        inviter_id=inviter.user_id,
        role=MEMBER,
        channel_ids=[],
        group_ids=[],
        includes_defaults=False,
        welcome_text=None,
        tells_inviter=False,
        ends_at=None,
    )
    [asked] = await invitations.insert(connection, realm_id, terms, [one], now=JOINED)
    found = await invitations.open_of_email(connection, realm_id, other, now=JOINED)
    assert (found == [asked]) is expected
    ended = await invitations.end_of_email(connection, realm_id, other)
    assert [row.invitation_id for row in ended] == ([asked] if expected else [])
