"""Addresses, pictures, names: what others see of a user."""

from datetime import UTC, datetime

import pytest

from server.domain.access import GUEST, MEMBER, OWNER
from server.domain.accounts import NAMELESS, as_full_name, checked_email, checked_full_name
from server.domain.addresses import Addresses, RealmAddress
from server.domain.api_keys import API_KEY_LENGTH, new_api_key
from server.domain.avatars import avatar_of, avatar_of_unknown, gravatar_url
from server.domain.errors import BadRequestError
from server.domain.profiles import (
    hidden_email,
    hides_email,
    knows_email,
    public_email,
    user_id_of_hidden_email,
)
from server.domain.sign_in import is_too_old
from server.domain.user_settings import ADMINISTRATORS, NOBODY
from server.events.base import ClientView
from server.events.users import inaccessible_user, shown_user
from storage.ids import Position, UserId
from storage.users import UserRow


def user(user_id=7, role=MEMBER, **facts) -> UserRow:
    return UserRow(
        **{
            "user_id": UserId(user_id),
            "email": f"cook{user_id}@example.com",
            "full_name": "Cook",
            "role": role,
            "is_active": True,
            "bot_type": None,
            "bot_owner_id": None,
            "is_system_bot": False,
            "api_key": "k" * 32,
            "avatar_key": None,
            "avatar_version": 1,
            "timezone": "Europe/Berlin",
            "date_joined": datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
            "settings": {},
            "changed_at": Position(0),
            **facts,
        }
    )


ADDRESS = RealmAddress("https://chat.example.com")
HIDING = {"email_address_visibility": ADMINISTRATORS}


def test_who_hides_nothing_is_known_by_the_real_address():
    assert public_email(user(), "chat.example.com") == "cook7@example.com"
    assert not hides_email(user())


def test_who_hides_the_address_is_known_by_one_that_stands_for_it():
    email = public_email(user(settings=HIDING), "chat.example.com")

    assert email == "user7@chat.example.com"
    assert user_id_of_hidden_email("User7@Chat.example.com", "chat.example.com") == 7


@pytest.mark.parametrize(
    "email",
    [
        "user7@elsewhere.example.com",
        "user@chat.example.com",
        "userx@chat.example.com",
        "7@chat.example.com",
        "user-7@chat.example.com",
        "",
    ],
)
def test_other_addresses_stand_for_no_user(email):
    assert user_id_of_hidden_email(email, "chat.example.com") is None


def test_one_always_knows_ones_own_address():
    me = user(settings={"email_address_visibility": NOBODY})

    assert knows_email(me, me)
    assert not knows_email(user(8, role=OWNER), me)


def test_a_picture_belongs_to_an_address_in_any_letters():
    assert gravatar_url("Cook@example.com", 2) == gravatar_url(" cook@example.com", 2)
    assert gravatar_url("cook@example.com", 2) != gravatar_url("cook@example.com", 3)
    assert gravatar_url("cook@example.com", 2, medium=True).endswith("&s=500")


def test_without_the_service_no_address_leaves_the_server():
    own = RealmAddress("https://chat.example.com", gravatars=False)
    avatars = [avatar_of(user(), own), avatar_of_unknown(UserId(7), own)]
    assert {each.source for each in avatars} == {"J"}
    assert {each.url for each in avatars} == {"/user_avatars/identicon/7.png"}
    assert {each.medium_url for each in avatars} == {"/user_avatars/identicon/7-medium.png"}


@pytest.mark.parametrize("settings", [{}, HIDING])
def test_a_client_that_finds_gravatars_finds_this_one(settings):
    shown = shown_user(user(settings=settings), ADDRESS, knows_email=False)

    assert shown.for_view(ClientView(client_gravatar=True)).avatar_url is None
    found = shown.for_view(ClientView(client_gravatar=False)).avatar_url
    assert found == gravatar_url(shown.email, shown.avatar_version)


def test_what_is_shown_of_a_user_whom_one_may_not_know_says_nothing():
    secret = user(
        role=GUEST, full_name="Secret", timezone="Asia/Tokyo", bot_type=1, bot_owner_id=UserId(3)
    )

    shown = inaccessible_user(secret, ADDRESS)

    assert shown.email == hidden_email(7, "chat.example.com")
    assert (shown.role, shown.timezone, shown.is_bot) == (MEMBER, "", False)
    assert "12:30" not in shown.date_joined
    assert "Secret" not in str(shown)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Cook", "Cook"),
        ("  Ann\t Lee ", "Ann Lee"),
        ("李娜", "李娜"),
        ("x" * 100, "x" * 100),
        ("a|5b", "a|5b"),
    ],
)
def test_a_name_is_kept_without_needless_spaces(given, kept):
    assert checked_full_name(given) == kept


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "a*b", "a@b", "a\x07b", "a\u202eb", "a|5"])
def test_some_names_cannot_be(name):
    with pytest.raises(BadRequestError):
        checked_full_name(name)


def test_no_name_ends_like_a_mention_of_one_of_many():
    with pytest.raises(BadRequestError, match="Invalid format!"):
        checked_full_name(" Ann Lee|50 ")
    assert as_full_name("Ann|7|50", email="x@example.com") == "Ann"
    assert as_full_name("|7", email="x|1@example.com") == "x"
    assert as_full_name("|7", email="|1@example.com") == NAMELESS


@pytest.mark.parametrize("email", ["a@b", "Cook+1@mail.example.com", " a@example.com "])
def test_an_address_is_kept_as_it_is(email):
    assert checked_email(email) == email.strip()


@pytest.mark.parametrize(
    "email", ["", "a", "a@", "@b", "a@b@c", "a b@c", "a@b..c", "a,b@c", "<a@b>"]
)
def test_some_addresses_cannot_be(email):
    with pytest.raises(BadRequestError):
        checked_email(email)


def test_api_keys_are_long_and_different():
    keys = {new_api_key() for _ in range(100)}

    assert len(keys) == 100
    assert all(len(key) == API_KEY_LENGTH and key.isalnum() for key in keys)


def test_an_organization_is_at_the_servers_address_or_at_a_subdomain():
    one = Addresses("http://localhost:9991")
    many = Addresses("https://chat.example.com", "chat.example.com:8443")

    assert one.of_realm("").url == "http://localhost:9991"
    assert (one.of_realm("").host, one.of_realm("").domain) == ("localhost:9991", "localhost")
    assert many.of_realm("acme").url == "https://acme.chat.example.com:8443"
    assert many.of_realm("acme").domain == "acme.chat.example.com"
    assert many.of_realm("").url == "https://chat.example.com"


@pytest.mark.parametrize(
    ("user_agent", "too_old"),
    [
        ("ZulipMobile/27.191 (iOS)", True),
        ("ZulipMobile/27.192", False),
        ("ZulipMobile/v28", False),
        ("ZulipMobile", False),
        ("", False),
    ],
)
def test_clients_are_too_old_by_their_version(user_agent, too_old):
    assert is_too_old(user_agent) == too_old
