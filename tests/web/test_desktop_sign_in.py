"""Signing in in the desktop app's window, by a browser that it opens."""

import re

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from testkit.clients.page_client import PASSWORD, Visitor

pytestmark = pytest.mark.asyncio

KEY = "5c" * 32
APP = {"User-Agent": "ZulipElectron/5.12.4 (Linux) Mozilla/5.0 Electron/37.0 Safari/537.36"}


def decrypted(text: str, key: str = KEY) -> str:
    """As the app decrypts what it finds on the clipboard."""
    data = bytes.fromhex(text)
    plain: bytes = AESGCM(bytes.fromhex(key)).decrypt(data[:12], data[12:], None)
    return plain.decode()


def shown_in(browser: Visitor) -> str:
    found = re.search(r'id="desktop-token" tabindex="0">([0-9a-f]+)<', browser.page)
    assert found is not None, browser.text
    return found[1]


async def test_the_app_signs_in_by_what_the_browser_shows(visitor, ada):
    browser, window = await visitor(), await visitor()
    await browser.look(f"/login/?desktop_flow_otp={KEY}")
    answer = await browser.submit("/login/", username=ada.email, password=PASSWORD)
    assert answer.status == 200
    assert "script-src 'self';" in answer.headers["Content-Security-Policy"]
    assert "parley_session" not in browser.cookies
    text = shown_in(browser)
    with pytest.raises(InvalidTag):
        decrypted(text, "5d" * 32)

    await window.look("/login/", headers=APP)
    fields = {name: window.forms()[0].fields[name] for name in ("csrfmiddlewaretoken",)}
    fields |= {"token": decrypted(text), "next": "/#narrow/is/starred"}
    answer = await window.send_form("/sign-in-link/", fields, headers=APP)
    assert (answer.status, answer.headers["Location"]) == (303, "/#narrow/is/starred")
    await window.look("/account")
    assert "Ada Lovelace" in window.text
    again = await visitor()
    await again.look("/sign-in-link/")
    assert (await again.submit("/sign-in-link/", token=decrypted(text))).status == 401


async def test_each_attempt_is_encrypted_anew(visitor, ada):
    texts = set()
    for _ in range(2):
        browser = await visitor()
        await browser.look(f"/login/?desktop_flow_otp={KEY}")
        await browser.submit("/login/", username=ada.email, password=PASSWORD)
        texts.add(shown_in(browser)[:24])
    assert len(texts) == 2


async def test_a_wrong_password_keeps_the_key_of_the_app(visitor, ada):
    browser = await visitor()
    await browser.look(f"/login/?desktop_flow_otp={KEY}")
    answer = await browser.submit("/login/", username=ada.email, password="wrong")
    assert answer.status == 401
    await browser.submit("/login/", username=ada.email, password=PASSWORD)
    assert len(decrypted(shown_in(browser))) == 43


async def test_who_is_signed_in_already_signs_in_for_the_app_too(visitor, ada):
    browser = await visitor()
    await browser.sign_in(ada.email, PASSWORD)
    assert (await browser.look(f"/login/?desktop_flow_otp={KEY}")).status == 200
    assert any(form.action == "/login/" for form in browser.forms())


@pytest.mark.parametrize("key", ["x", "5c" * 31, "5c" * 33, "zz" * 32, "é" * 64])
async def test_a_key_of_another_form_is_refused(visitor, ada, key):
    browser = await visitor()
    assert (await browser.look(f"/login/?desktop_flow_otp={key}")).status == 400
    await browser.look("/login/")
    answer = await browser.submit(
        "/login/", username=ada.email, password=PASSWORD, desktop_flow_otp=key
    )
    assert answer.status == 400


async def test_a_token_is_too_old_after_five_minutes(visitor, ada, make):
    browser = await visitor()
    await browser.look(f"/login/?desktop_flow_otp={KEY}")
    await browser.submit("/login/", username=ada.email, password=PASSWORD)
    await make.connection.execute(
        "UPDATE confirmations SET ends_at = ends_at - make_interval(secs => 301)"
    )
    window = await visitor()
    await window.look("/sign-in-link/")
    token = decrypted(shown_in(browser))
    assert (await window.submit("/sign-in-link/", token=token)).status == 401
