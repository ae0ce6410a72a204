"""Payloads for browsers: the example of RFC 8291, and another implementation that decrypts."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from server.push.web_encryption import (
    MAX_BYTES,
    auth_secret_of,
    encrypted,
    parse_base64,
    public_key_of,
)
from testkit.services.browser_push import MAX_BODY, Browser, base64_of, bytes_of

PUBLIC_KEY = (
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
)
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
SENDER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
SALT = "DGv6ra1nlYgDCS1FRnbzlw"
TEXT = b"When I grow up, I want to be a watermelon"
CONTENT = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6"
    "TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy"
    "4a-fN"
)


def test_the_example_of_the_standard_is_encrypted_as_it_says():
    public_key, auth = public_key_of(PUBLIC_KEY), auth_secret_of(AUTH)
    assert public_key is not None
    assert auth is not None
    sender = ec.derive_private_key(int.from_bytes(bytes_of(SENDER)), ec.SECP256R1())
    content = encrypted(public_key, auth, TEXT, sender=sender, salt=bytes_of(SALT))
    assert base64_of(content) == CONTENT


@pytest.mark.parametrize("text", [b"{}", '{"a": "грибы 🍄"}'.encode(), b'"' + b"x" * 3_991 + b'"'])
def test_the_browser_alone_decrypts_it_and_padding_hides_its_length(text: bytes):
    browser, other = Browser("https://push.example.com/a"), Browser("https://push.example.com/b")
    content = encrypted(browser.public_key, browser.auth, text, padded_to=MAX_BYTES)
    again = encrypted(browser.public_key, browser.auth, text, padded_to=MAX_BYTES)
    assert len(content) == MAX_BODY
    assert content != again
    assert browser.decrypted(content) == browser.decrypted(again)
    with pytest.raises(Exception, match="Decryption error"):
        other.decrypted(content)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=",
        "x",
        "ж" * 87,
        AUTH,
        PUBLIC_KEY[:-1],
        PUBLIC_KEY + "AAAA",
        base64_of(b"\x04" + bytes(64)),  # no point of the curve
        base64_of(b"\x02" + bytes_of(PUBLIC_KEY)[1:]),
        PUBLIC_KEY.replace("-", "+").replace("_", "/"),
    ],
)
def test_what_is_no_public_key_is_recognized(text: str):
    assert public_key_of(text) is None


@pytest.mark.parametrize("text", ["", "A", AUTH[:-4], AUTH + "AAAA", "Ä" * 22, AUTH + "==="])
def test_what_is_no_secret_is_recognized(text: str):
    assert auth_secret_of(text) is None


def test_base64_may_be_padded():
    assert parse_base64(f"{AUTH}==") == parse_base64(AUTH) == bytes_of(AUTH)
    assert public_key_of(f"{PUBLIC_KEY}=") == public_key_of(PUBLIC_KEY)
