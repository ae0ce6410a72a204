"""The form about notifications, to which emails lead."""

import re

import pytest
import pytest_asyncio

from server.domain.page_links import NOTIFICATIONS
from server.domain.user_settings import DEFAULTS, MAX_BATCHING_SECONDS
from server.web.notification_settings import PERIOD, SWITCHES
from testkit.clients.page_client import PASSWORD, Visitor

pytestmark = pytest.mark.asyncio

FORM = "/account/notifications"


@pytest_asyncio.fixture
async def browser(visitor, ada) -> Visitor:
    found: Visitor = await visitor()
    await found.sign_in(ada.email, PASSWORD)
    await found.look("/account")
    return found


def ticked(browser: Visitor) -> set[str]:
    return set(re.findall(r'name="(\w+)" checked', browser.page))


async def test_links_in_mails_lead_to_it_and_it_shows_what_holds(browser):
    assert f'id="{NOTIFICATIONS.partition("#")[2]}"' in browser.page
    assert ticked(browser) == {name for name in SWITCHES if getattr(DEFAULTS, name)}
    assert '<option value="120" selected>' in browser.page


@pytest.mark.parametrize("name", SWITCHES)
async def test_each_switch_turns_its_own_setting_on_and_off(browser, log_in, ada, name):
    client = await log_in(ada)
    queue = await client.post("/register", event_types=["user_settings"])
    wanted = not getattr(DEFAULTS, name)
    form = next(form for form in browser.forms() if form.action == FORM)
    fields = form.fields | {PERIOD: "120"}
    fields = fields | {name: "on"} if wanted else {k: v for k, v in fields.items() if k != name}
    await browser.follow(await browser.post("/account/notifications", **fields))
    assert "Your notifications are saved." in browser.text
    assert (name in ticked(browser)) is wanted
    body = await client.get("/events", queue_id=queue["queue_id"], last_event_id=-1)
    changed = {e["property"]: e["value"] for e in body["events"] if "property" in e}
    assert changed == {name: wanted}


async def test_a_wait_that_no_menu_offers_is_kept(browser, log_in, ada):
    client = await log_in(ada)
    await client.patch("/settings", **{PERIOD: 77})
    await browser.look("/account")
    assert '<option value="77" selected>' in browser.page
    await browser.follow(await browser.submit("/account/notifications", **{PERIOD: "77"}))
    assert '<option value="77" selected>' in browser.page
    await browser.follow(await browser.submit("/account/notifications", **{PERIOD: "3600"}))
    assert '<option value="3600" selected>' in browser.page


@pytest.mark.parametrize("period", ["", "x", "-1", "²", "9" * 30, str(MAX_BATCHING_SECONDS + 1)])
async def test_what_is_no_wait_is_refused_and_changes_nothing(browser, period):
    before = ticked(browser)
    form = next(form for form in browser.forms() if form.action == FORM)
    fields = {k: v for k, v in form.fields.items() if k not in SWITCHES}
    answer = await browser.post("/account/notifications", **fields | {PERIOD: period})
    assert (answer.status, browser.problem) == (400, "Choose how long to wait before an email.")
    await browser.look("/account")
    assert ticked(browser) == before


async def test_a_form_that_we_have_not_shown_changes_nothing(browser):
    before = ticked(browser)
    assert (await browser.post("/account/notifications", **{PERIOD: "60"})).status in (400, 403)
    await browser.look("/account")
    assert ticked(browser) == before
