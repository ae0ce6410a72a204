"""The pages that show messages: for those who have signed in, and for visitors."""

import re

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from server.web.conversations import AROUND, AT_ONCE, TOPICS_AT_ONCE
from testkit.clients.page_client import PASSWORD, Visitor, give_password
from testkit.factories import Make, new_realm

pytestmark = pytest.mark.asyncio

NO_MESSAGE = "There is no such message, or you may not read it."


@pytest_asyncio.fixture
async def browser(visitor, ada) -> Visitor:
    found: Visitor = await visitor()
    await found.sign_in(ada.email, PASSWORD)
    return found


@pytest_asyncio.fixture
async def outside(serving_with, make: Make, connect):
    """A visitor of an organization that permits spectators."""
    await make.change_settings(enable_spectator_access=True)
    async with serving_with(web_public_channels=True) as server:
        yield Visitor(await connect(server, make.realm_id))


def ids_on(browser: Visitor) -> list[int]:
    return [int(each) for each in re.findall(r'id="m(\d+)"', browser.page)]


def link_on(browser: Visitor, name: str) -> str:
    found = re.search(rf'href="([^"]*)" id="{name}"', browser.page)
    assert found is not None, browser.text
    return found[1].replace("&amp;", "&")


# -- a message


async def test_a_link_shows_the_message_after_signing_in(visitor, make, ada):
    bob = await make.user("Bob <b>")
    topic = await make.topic(await make.channel("cooks", subscribers=[ada, bob]), "a.b/ü")
    ids = [await make.message(bob, topic, content=f"<p>n{n}.</p>") for n in range(3)]
    browser = await visitor()
    answer = await browser.look(f"/message/{ids[1]}")
    assert answer.headers["Location"] == f"/login/?next=%2Fmessage%2F{ids[1]}"
    await browser.sign_in(ada.email, PASSWORD, then=f"/message/{ids[1]}")
    answer = await browser.look(f"/message/{ids[1]}")
    assert answer.status == 200
    assert ids_on(browser) == ids
    assert f'id="m{ids[1]}" aria-current="true"' in browser.page
    assert browser.page.count("aria-current") == 1
    for shown in ("#cooks > a.b/ü", "Bob <b>", "n0.", "n1.", "n2.", "UTC"):
        assert shown in browser.text
    assert "script-src" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "Bob <b>" not in browser.page


async def test_one_pages_through_all_of_a_conversation(browser, make, ada):
    topic = await make.topic(await make.channel("cooks", subscribers=[ada]), "soup")
    ids = [await make.message(ada, topic) for _ in range(2 * AT_ONCE + 15)]
    middle = AT_ONCE + 5
    await browser.look(f"/message/{ids[middle]}")
    shown = ids_on(browser)
    assert shown == ids[middle - AROUND : middle + AROUND + 1]
    for name, step in (("earlier", -1), ("later", 1)):
        await browser.look(f"/message/{ids[middle]}")
        seen = ids_on(browser)
        while f'id="{name}"' in browser.page:
            await browser.look(link_on(browser, name))
            more = ids_on(browser)
            assert not set(more) & set(seen)
            seen = more + seen if step < 0 else seen + more
        assert seen == (ids[: middle + AROUND + 1] if step < 0 else ids[middle - AROUND :])


async def test_direct_messages_have_the_names_of_the_others(browser, log_in, make, ada):
    bob, eve = await make.user("Bob"), await make.user("Eve")
    client = await log_in(bob)
    sent = (await client.post("/messages", type="direct", to=[ada.user_id], content="psst"))["id"]
    await browser.look(f"/message/{sent}")
    assert "Direct messages with Bob" in browser.text
    assert "psst" in browser.text
    other = await log_in(eve)
    between = await other.post("/messages", type="direct", to=[bob.user_id], content="hidden")
    assert (await browser.look(f"/message/{between['id']}")).status == 404
    assert NO_MESSAGE in browser.text
    assert "hidden" not in browser.text


async def test_what_one_may_not_read_is_as_what_is_not_there(browser, make, ada):
    bob = await make.user("Bob")
    secret = await make.channel("secret plans", subscribers=[bob], invite_only=True)
    hidden = await make.message(bob, await make.topic(secret, "gold"), content="<p>treasure</p>")
    pages = []
    for path in (f"/message/{hidden}", "/message/999999999999999999"):
        assert (await browser.look(path)).status == 404
        pages.append(browser.page)
    assert pages[0] == pages[1]
    pages = []
    for channel_id in (secret.channel_id, 10**17):
        for tail in ("", "/topic?name=gold"):
            assert (await browser.look(f"/channel/{channel_id}{tail}")).status == 404
            pages.append(browser.page)
    assert len(set(pages)) == 1
    for word in ("secret plans", "gold", "treasure", "Bob"):
        assert word not in pages[0]


async def test_a_deleted_message_has_a_clear_page(browser, log_in, make, ada):
    client = await log_in(ada)
    sent = await client.post("/messages", type="direct", to=[ada.user_id], content="oops")
    await browser.look(f"/message/{sent['id']}")
    assert "Direct messages with yourself" in browser.text
    await client.delete(f"/messages/{sent['id']}")
    assert (await browser.look(f"/message/{sent['id']}")).status == 404
    assert "It may have been deleted or moved." in browser.text


async def test_another_organizations_message_does_not_exist(browser, make):
    other_realm = await new_realm(make.connection)
    bob = await other_realm.user("Bob")
    topic = await other_realm.topic(await other_realm.channel(subscribers=[bob]), "far")
    sent = await other_realm.message(bob, topic, content="<p>elsewhere</p>")
    await browser.look(f"/message/{sent}")
    assert "elsewhere" not in browser.text


@pytest.mark.parametrize("path", ["/message/x", "/message/-1", "/message/1e3", "/channel/%C2%B2"])
async def test_what_is_no_id_leads_nowhere(browser, path):
    assert (await browser.look(path)).status == 404


async def test_a_restricted_guest_sees_no_name_of_strangers(visitor, make, ada):
    guest = await make.user("Gus", email="gus@example.com", role=GUEST)
    await give_password(make, guest)
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    channel = await make.channel("hall", subscribers=[ada, guest])
    topic = await make.topic(channel, "t")
    sent = await make.message(ada, topic)
    await make.unsubscribe(channel, [ada])
    browser = await visitor()
    await browser.sign_in(guest.email, PASSWORD)
    assert (await browser.look(f"/message/{sent}")).status == 200
    assert "Unknown user" in browser.text
    assert ada.full_name not in browser.page
    assert ada.email not in browser.page


# -- channels and topics


async def test_topics_of_a_channel_are_paged(browser, make, ada):
    channel = await make.channel("busy", subscribers=[ada])
    for number in range(TOPICS_AT_ONCE + 2):
        await make.message(ada, await make.topic(channel, f"topic {number:03}"))
    await browser.look("/channels")
    assert "#busy" in browser.text
    await browser.look(f"/channel/{channel.channel_id}")
    assert browser.text.count("topic ") == TOPICS_AT_ONCE
    assert "topic 001" not in browser.text
    await browser.look(link_on(browser, "older"))
    assert browser.text.count("topic ") == 2
    assert "topic 000" in browser.text
    await browser.look(link_on(browser, "newer"))
    assert browser.text.count("topic ") == TOPICS_AT_ONCE


@pytest.mark.parametrize("name", ["", "a/b?c=d&e#f", "王 %41", "<i>"])
async def test_every_topic_has_its_page(browser, make, ada, name):
    channel = await make.channel("names", subscribers=[ada])
    await make.message(ada, await make.topic(channel, name), content="<p>found it</p>")
    await browser.look(f"/channel/{channel.channel_id}")
    [place] = re.findall(r'<a href="(/channel/\d+/topic[^"]*)"', browser.page)
    await browser.look(place)
    assert "found it" in browser.text


# -- visitors


async def test_visitors_read_what_is_public_to_the_web_and_nothing_else(outside, make, ada):
    places = {
        "web": await make.channel("web", subscribers=[ada], is_web_public=True),
        "inner": await make.channel("inner", subscribers=[ada]),
        "secret": await make.channel("secret", subscribers=[ada], invite_only=True),
    }
    sent = {
        name: await make.message(ada, await make.topic(channel, f"t {name}"))
        for name, channel in places.items()
    }
    await outside.look("/channels")
    assert "#web" in outside.text
    assert not {"inner", "secret"} & set(re.findall(r"\w+", outside.text))
    for path in (
        f"/channel/{places['web'].channel_id}",
        f"/channel/{places['web'].channel_id}/topic?name=t+web",
        f"/message/{sent['web']}",
    ):
        assert (await outside.look(path)).status == 200, path
        assert "t web" in outside.text
        assert ada.email not in outside.page
    assert "Sign in" in outside.text
    answers = [
        await outside.look(path)
        for name in ("inner", "secret")
        for path in (
            f"/channel/{places[name].channel_id}",
            f"/channel/{places[name].channel_id}/topic?name=t+{name}",
            f"/message/{sent[name]}",
        )
    ]
    answers.append(await outside.look("/message/999999999"))
    assert {answer.status for answer in answers} == {303}
    assert all(answer.headers["Location"].startswith("/login/?next=") for answer in answers)


@pytest.mark.parametrize("permits", ["organization", "server", "neither"])
async def test_visitors_read_nothing_unless_both_permit_it(
    serving_with, connect, make: Make, ada, permits
):
    await make.change_settings(enable_spectator_access=permits == "organization")
    web = await make.channel("web", subscribers=[ada], is_web_public=True)
    sent = await make.message(ada, await make.topic(web, "t"))
    async with serving_with(web_public_channels=permits == "server") as server:
        browser = Visitor(await connect(server, make.realm_id))
        for path in ("/channels", f"/channel/{web.channel_id}", f"/message/{sent}"):
            answer = await browser.look(path)
            assert answer.headers["Location"].startswith("/login/?next="), path
        await browser.look("/login/")
        assert "/channels" not in browser.page


async def test_visitors_find_it_from_the_page_to_sign_in_and_apps_do_not(outside):
    await outside.look("/login/")
    assert 'href="/channels"' in outside.page
    await outside.look(f"/login/?mobile_flow_otp={'0' * 64}")
    assert 'href="/channels"' not in outside.page
