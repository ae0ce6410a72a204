"""Notifications of the browser client: by its service worker, and by the page."""

import json
import re
from typing import Any

import pytest
from playwright.async_api import CDPSession, Page, expect

from server.domain.reaction_notifications import WINDOW
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.factories import Make
from testkit.test_services import NOTIFYING_BROWSERS
from testkit.timers import due_item_runner_at
from tests.browser.conftest import Person, SignIn

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.parametrize("browser", [NOTIFYING_BROWSERS], indirect=True, ids=["notifying"]),
]

# Granted to a page that is open already, the page is not told.
ALLOWED = {"permissions": ["notifications"]}

SHOWN = """async () => {
    const worker = await navigator.serviceWorker.ready;
    const shown = await worker.getNotifications();
    return shown.map(({ title, body }) => [title, body]);
}"""


class Pushes:
    """Delivers to the worker of a page what a push service would."""

    def __init__(self, session: CDPSession, origin: str) -> None:
        self.session = session
        self.origin = origin
        self.registration = ""
        session.on("ServiceWorker.workerRegistrationUpdated", self._note)

    def _note(self, event: dict[str, Any]) -> None:
        for each in event["registrations"]:
            self.registration = each["registrationId"]

    async def push(self, **payload: Any) -> None:
        await self.session.send(
            "ServiceWorker.deliverPushMessage",
            {
                "origin": self.origin,
                "registrationId": self.registration,
                "data": json.dumps(payload),
            },
        )


async def worker_of(person: Person) -> Pushes:
    """Wait for the worker of a person who has allowed notifications."""
    await person.page.wait_for_function(
        "navigator.serviceWorker.getRegistration('/').then((each) => Boolean(each?.active))"
    )
    session = await person.context.new_cdp_session(person.page)
    pushes = Pushes(session, person.url)
    await session.send("ServiceWorker.enable")
    for _ in range(200):
        if pushes.registration:
            break
        await person.page.wait_for_timeout(50)
    assert pushes.registration
    return pushes


async def shows(page: Page, wanted: list[list[str]]) -> None:
    """Wait until the notifications are those wanted, by title and body.

    Looks seldom: Chromium may lose one that it is about to display while it lists the others.
    """
    shown: list[list[str]] = []
    for _ in range(40):
        await page.wait_for_timeout(500)
        shown = await page.evaluate(SHOWN)
        if shown == wanted:
            return
    assert shown == wanted


async def look_away(page: Page) -> None:
    """Let the page believe that the person looks elsewhere: headless pages have the focus."""
    await page.evaluate("document.hasFocus = () => false; dispatchEvent(new Event('blur'))")


async def test_pushes_are_shown_and_removed(chat: Server, sign_in: SignIn):
    ada = await sign_in("Ada Lovelace", **ALLOWED)
    pushes = await worker_of(ada)
    # The worker shows nothing to a person who looks at the client.
    await ada.page.goto(f"{ada.url}/channels")
    message = {
        "type": "message",
        "user_id": ada.user.user_id,
        "title": "#engines > notes",
        "url": f"{ada.url}/#narrow/channel/1-engines/topic/notes/near/7",
        "recipient_type": "channel",
        "channel_id": 1,
        "topic": "notes",
    }
    await pushes.push(**message, message_ids=[7], body="Grace: Hello")
    await shows(ada.page, [["#engines > notes", "Grace: Hello"]])
    await pushes.push(**message, message_ids=[8], body="Grace: Hello again")
    await shows(ada.page, [["#engines > notes", "Grace: Hello again"]])
    # What is late does not replace what is newer, and another account's is not shown.
    await pushes.push(**message, message_ids=[7], body="Grace: Hello")
    await pushes.push(**{**message, "user_id": 0, "topic": "secret"}, message_ids=[9], body="x")
    await pushes.push(**{**message, "topic": "plans"}, message_ids=[10], body="Grace: Plans")
    both = [["#engines > notes", "Grace: Hello again"], ["#engines > notes", "Grace: Plans"]]
    await shows(ada.page, both)
    await pushes.push(type="remove", user_id=ada.user.user_id, message_ids=[8], unread_count=1)
    await shows(ada.page, both[1:])


async def test_the_page_notifies_until_the_message_is_read(
    chat: Server, make: Make, sign_in: SignIn
):
    ada, grace = await make.user("Ada Lovelace"), await make.user("Grace Hopper")
    reader, writer = await sign_in(ada, **ALLOWED), await sign_in(grace)
    await worker_of(reader)
    await reader.go("#inbox")
    await reader.page.get_by_role("navigation", name="Conversations").wait_for()
    await look_away(reader.page)
    await writer.go(f"#narrow/dm/{ada.user_id}-Ada")
    await writer.write("Good **morning**")
    await shows(reader.page, [["Grace Hopper", "Good morning"]])
    await expect(reader.page).to_have_title(re.compile(r"^\(1\) \S.* – Analytical Engines$"))
    icon = reader.page.locator("link[rel=icon]")
    await expect(icon).to_have_attribute("href", re.compile("^data:image/png;base64,.{400}"))
    await reader.page.evaluate("delete document.hasFocus")
    await reader.go(f"#narrow/dm/{grace.user_id}-Grace")
    await shows(reader.page, [])
    await expect(reader.page).to_have_title(re.compile(r"^[^(].* – Analytical Engines$"))
    await expect(icon).to_have_attribute("href", re.compile("icon.*[.]svg"))


async def test_an_edit_that_mentions_one_is_notified_of(chat: Server, make: Make, sign_in: SignIn):
    channel = await make.channel("engines")
    ada, grace = await make.user("Ada Lovelace"), await make.user("Grace Hopper")
    await make.subscribe(channel, [ada, grace])
    reader, writer = await sign_in(ada, **ALLOWED), await sign_in(grace)
    await worker_of(reader)
    await reader.go("#inbox")
    await reader.page.get_by_role("navigation", name="Conversations").wait_for()
    await look_away(reader.page)
    await writer.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await writer.write("Who has the plans?")
    await expect(reader.page).to_have_title(re.compile(r"^\(1\) \S.* – Analytical Engines$"))

    async def edit(text: str) -> None:
        await writer.message("plans").hover()
        await writer.message("plans").get_by_role("button", name="Message actions").click()
        await writer.page.get_by_role("menuitem", name="Edit", exact=True).click()
        editor = writer.page.get_by_role("article").get_by_role("textbox")
        await editor.fill(text)
        await editor.press("Control+Enter")
        await expect(editor).to_have_count(0)

    await edit("Who has our plans?")
    await edit("Who has our plans, @**Ada Lovelace**?")
    await shows(
        reader.page, [["#engines > notes", "Grace Hopper: Who has our plans, @Ada Lovelace?"]]
    )


async def test_reactions_to_a_message_are_one_notification(
    chat: Server, make: Make, sign_in: SignIn
):
    ada = await make.user("Ada Lovelace", settings={"enable_reaction_notifications": True})
    grace = await make.user("Grace Hopper")
    writer = await sign_in(ada, **ALLOWED)
    pushes = await worker_of(writer)
    host = await chat.host_of(make.realm_id)
    author, client = (Client(chat, host, each.email, each.api_key, each) for each in (ada, grace))
    sent = await author.post(
        "/messages", type="direct", to=[grace.user_id], content="The engine **works**"
    )
    message_id = sent["id"]
    await writer.go("#inbox")
    await writer.page.get_by_role("navigation", name="Conversations").wait_for()
    await look_away(writer.page)
    await client.post(f"/messages/{message_id}/reactions", emoji_name="tada")
    await client.post(f"/messages/{message_id}/reactions", emoji_name="rocket")
    later = chat.app.clock.now().timestamp() + WINDOW.total_seconds()
    assert await due_item_runner_at(chat.app, later).catch_up() == 1
    shown = [["Reactions to your message", "Grace Hopper: 🎉 🚀\nThe engine works"]]
    await shows(writer.page, shown)
    # Pushed too, it replaces what the page has shown; what was in an earlier window does not.
    await writer.page.goto(f"{writer.url}/channels")
    reactions = {
        "type": "reactions",
        "user_id": ada.user_id,
        "message_ids": [message_id],
        "title": "Reactions to your message",
        "tag": f"reactions:{message_id}",
    }
    await pushes.push(**reactions, window_id=1, body="late")
    await pushes.push(**reactions, window_id=10**9, body="Grace Hopper: 👍")
    await shows(writer.page, [["Reactions to your message", "Grace Hopper: 👍"]])
