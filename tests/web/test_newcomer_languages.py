"""The language and clock of new accounts, and of the emails on the way to them."""

import pytest
import pytest_asyncio

from server.domain.user_settings import UserSettings

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def server(posting):
    return posting.server


@pytest_asyncio.fixture
async def opened(make, posting):
    await make.change_settings(invite_required=False)
    posting.server.forget(make.realm_id)


async def join_in(visitor, posting, asked):
    """Sign up with a browser that asks for this: the settings, and the mail."""
    headers = {"Accept-Language": asked}
    browser = await visitor()
    await browser.look("/register", headers=headers)
    [form] = [each for each in browser.forms() if each.action == "/register"]
    fields = {**form.fields, "email": "grace@example.com"}
    await browser.send_form("/register", fields, headers=headers)
    mail = await posting.mail()
    link = posting.link(mail)
    await browser.look(link, headers=headers)
    [form] = [each for each in browser.forms() if each.action == link]
    fields = {**form.fields, "full_name": "Grace", "new_password": "another good password"}
    answer = await browser.send_form(link, fields, headers=headers)
    assert answer.status == 303, browser.text
    state = (await browser.send("GET", "/json/users/me")).succeeded()
    assert state["full_name"] == "Grace"
    row = await posting.server.app.realm_caches.of(posting.realm_id).user(state["user_id"])
    return UserSettings.of(row.settings), mail


@pytest.mark.parametrize(
    ("asked", "realm", "language", "has_24_hours"),
    [
        ("de-AT,de;q=0.9", "en", "de", True),
        ("ar-EG", "de", "ar", False),
        ("en-US,en;q=0.9", "de", "en", False),
        ("en-GB", "en", "en", True),
        ("fr", "de", "de", True),
        ("", "en", "en", False),
    ],
)
async def test_new_accounts_take_the_language_of_the_browser(
    visitor, opened, posting, make, asked, realm, language, has_24_hours
):
    await make.change_settings(default_language=realm)
    posting.server.forget(make.realm_id)
    settings, _ = await join_in(visitor, posting, asked)
    assert settings.default_language == language
    assert settings.twenty_four_hour_time is has_24_hours


async def test_defaults_of_the_organization_decide_about_the_clock(visitor, opened, posting, make):
    await make.change_settings(user_settings_defaults={"twenty_four_hour_time": None})
    posting.server.forget(make.realm_id)
    settings, _ = await join_in(visitor, posting, "de")
    assert settings.twenty_four_hour_time is None


async def test_the_email_to_sign_up_is_in_the_language_of_the_page(visitor, opened, posting):
    _, mail = await join_in(visitor, posting, "ar")
    html, text = mail.get_body(("html",)), mail.get_body(("plain",))
    assert mail["Content-Language"] == "ar"
    assert mail["Subject"].startswith("الانضمام إلى")
    assert 'lang="ar" dir="rtl"' in html.get_content()
    assert "تصلك هذه الرسالة" in text.get_content()
    assert "You get this" not in text.get_content() + html.get_content()
