"""People at the browser client: a real Chromium, and a real server."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Locator, Page, expect
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from storage.database import Database
from storage.users import UserRow
from testkit.clients.chromium import PATIENCE_MS, chromium, submit_login
from testkit.clients.page_client import PASSWORD, give_password
from testkit.clients.server import Server, serve
from testkit.cloned_databases import ClonedDatabase
from testkit.factories import Make
from testkit.test_services import BROWSERS
from tests.browser.furnished import Furnished, furnished

STILL: dict[str, Any] = {"reduced_motion": "reduce"}
"""An option of contexts: nothing moves."""
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Person:
    """A signed-in person and their page. `complaints` has errors of scripts and policies."""

    user: UserRow
    context: BrowserContext
    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    async def go(self, fragment: str) -> None:
        """Open a place of the client: `#inbox`, `#narrow/...`."""
        await self.page.goto(f"{self.url}/{fragment}")

    def message(self, text: str) -> Locator:
        """The article of the message with this text."""
        return (
            self.page.get_by_role("feed", name="Messages")
            .get_by_role("article")
            .filter(has_text=text)
        )

    async def write(self, text: str) -> None:
        """Send a message to the conversation that is shown."""
        await self.page.get_by_role("textbox", name="Message", exact=True).fill(text)
        await self.page.get_by_role("button", name="Send", exact=True).click()

    async def texts(self) -> list[str]:
        """The texts of the messages that are shown, in their order."""
        bodies = self.page.locator("[role=feed] [data-message-id] .message-body")
        return [" ".join(each.split()) for each in await bodies.all_text_contents()]


SignIn = Callable[..., Awaitable[Person]]


@pytest_asyncio.fixture
async def browser(request: pytest.FixtureRequest) -> AsyncIterator[Browser]:
    names = getattr(request, "param", BROWSERS)
    async with chromium(names) as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module", scope="module", name="chromium")
async def shared_browser() -> AsyncIterator[Browser]:
    """One browser for all tests of a module."""
    async with chromium(BROWSERS) as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def place(database_url: str, cloned_database: ClonedDatabase) -> AsyncIterator[Furnished]:
    """One organization for all tests of a module."""
    async with furnished(database_url) as place:
        yield place
    cloned_database.empty()


@pytest_asyncio.fixture
async def chat(database: Database, database_url: str, make: Make) -> AsyncIterator[Server]:
    """A server of one organization, which browsers reach under any host name."""
    await make.connection.execute(
        "UPDATE realms SET subdomain = '', name = 'Analytical Engines' WHERE realm_id = %(id)s",
        id=make.realm_id,
    )
    async with serve(database_url, root_domain=None, web_client=None, gravatars=False) as server:
        yield server


async def open_signed_in(
    browser: Browser, url: str, user: UserRow, *, script: str | None = None, **options: Any
) -> Person:
    """Sign in by the form, in a browser context of one's own. A script runs before each page's."""
    context = await browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    if script is not None:
        await context.add_init_script(script)
    page = await context.new_page()
    person = Person(user, context, page, url)
    page.on("pageerror", lambda error: person.complaints.append(str(error)))
    page.on(
        "console",
        lambda line: person.complaints.append(line.text) if line.type == "error" else None,
    )
    await submit_login(page, url, user.email, PASSWORD)
    try:
        await page.get_by_role("navigation", name="Conversations").wait_for()
    except PlaywrightTimeoutError:
        shown = await page.inner_text("body")
        raise AssertionError(f"{page.url}: {shown[:500]} {person.complaints}") from None
    return person


@pytest_asyncio.fixture
async def sign_in(browser: Browser, chat: Server, make: Make) -> AsyncIterator[SignIn]:
    """`await sign_in("Ada Lovelace")`: a new person, signed in. No script may have complained."""
    people: list[Person] = []

    async def signed_in(name: str | UserRow = "Ada Lovelace", **options: Any) -> Person:
        user = await make.user(name) if isinstance(name, str) else name
        await give_password(make, user)
        person = await open_signed_in(browser, f"http://localhost:{chat.port}", user, **options)
        people.append(person)
        return person

    yield signed_in
    assert [each.complaints for each in people] == [[] for _ in people]


async def show(page: Page, fragment: str) -> None:
    """Go to a place within the page."""
    await page.evaluate("(fragment) => { location.hash = fragment; }", fragment)
