"""The way of docs/start.md: from one command to two people who talk, as a newcomer walks it."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
import zulip

from testkit.clients.browser import Page, new_page
from testkit.clients.page_client import PASSWORD
from testkit.clients.parley_run import ROOT, Run
from testkit.clients.terminal import ProgramFailedError, Terminal, terminal_client, without
from testkit.images import picture
from testkit.screenshots import Screenshots, screenshots
from testkit.services.push_bouncer import SERVER_ID, SERVER_KEY, FakeBouncer

pytestmark = pytest.mark.asyncio

PATIENCE_SECONDS: Final = 60
TURNS: Final = 5
PHONE: Final = "token-of-ninas-phone"
COMPOSE: Final = "To: Olivia Owner"


@dataclass
class Day:
    """The first day of a small team."""

    run: Run
    olivia: Page
    """The owner's browser."""
    nina: Page
    """Her colleague's."""
    bouncer: FakeBouncer
    home: Path
    """Where Nina keeps her files."""
    shots: Screenshots = field(default_factory=screenshots)

    @property
    def url(self) -> str:
        return f"http://localhost:{self.run.port}"


@pytest_asyncio.fixture
async def day(
    data: Path, browser_address: str, bouncer: FakeBouncer, tmp_path: Path
) -> AsyncIterator[Day]:
    run = await asyncio.to_thread(
        Run,
        data,
        program=[str(ROOT / "scripts" / "run")],
        environment={
            "PARLEY_PUSH_BOUNCER_URL": bouncer.url,
            "PARLEY_PUSH_SERVER_ID": SERVER_ID,
            "PARLEY_PUSH_SERVER_KEY": SERVER_KEY,
            # These two talk by other clients. The chat in the browser would count them as present,
            # and emails wait until people have left.
            "PARLEY_WEB_CLIENT": str(tmp_path / "none"),
        },
    )
    async with new_page(browser_address) as olivia, new_page(browser_address) as nina:
        yield Day(run, olivia, nina, bouncer, tmp_path)
    assert await asyncio.to_thread(run.end) == 0


async def test_a_newcomer_runs_it_and_talks_with_a_colleague(day: Day):
    async with client(day.run.data / "zuliprc") as olivia:
        # No test waits two minutes for more to say in an email.
        defaults = {"email_notifications_batching_period_seconds": 1}
        await asked(olivia, "realm/user_settings_defaults", "PATCH", **defaults)
        await sign_in(day)
        await invite(day)
        await join(day)
        config = await connect(day)
        async with client(config) as nina:
            await carry_a_phone(nina)
            await hear_while_away(day, olivia)
            await show_a_picture(day, nina)
            await talk(day, config, olivia)


async def sign_in(day: Day) -> None:
    await day.olivia.go(day.url)
    await day.shots.page(day.olivia, "sign-in")
    await day.olivia.fill("#username", day.run.owner)
    await day.olivia.fill("#password", day.run.password)
    await day.olivia.follow("button.main")
    await day.olivia.go(f"{day.url}/clients")
    facts = await day.olivia.text("#facts")
    assert day.url in facts
    assert "get notifications" in facts
    assert await day.olivia.text("#phone") == day.url
    await day.shots.page(day.olivia, "clients")


async def invite(day: Day) -> None:
    await day.olivia.fill("#invitees", "nina@example.com")
    await day.olivia.follow("#send-invitations")
    assert "The invitation is on its way." in await day.olivia.text("[role=status]")


async def join(day: Day) -> None:
    """By the link in the mail, in a browser of her own."""
    emails = await day.olivia.run("document.querySelector('#emails').href")
    await open_mail(day.nina, emails, "invites you")
    await day.shots.page(day.nina, "invitation")
    await day.nina.follow("pre a[href*='/join/']")
    assert await day.nina.text("h1") == "Join Parley"
    await day.nina.fill("#full_name", "Nina Newcomer")
    await day.nina.fill("#new_password", PASSWORD)
    await day.shots.page(day.nina, "join")
    await day.nina.follow("button.main")
    await day.nina.go(f"{day.url}/clients")
    assert await day.nina.text("#account") == "Nina Newcomer"


async def connect(day: Day) -> Path:
    """What the page of her account says to save, saved."""
    await day.nina.follow("#key")
    await day.nina.fill("#password-for-key", PASSWORD)
    await day.nina.follow("#show-key")
    config = day.home / "zuliprc"
    config.touch(mode=0o600)
    config.write_text(await day.nina.text("#zuliprc"))
    return config


@asynccontextmanager
async def client(config: Path) -> AsyncIterator[zulip.Client]:
    """The client of PyPI with that file."""
    found = await asyncio.to_thread(zulip.Client, config_file=str(config))
    yield found
    if found.session is not None:
        found.session.close()


async def carry_a_phone(nina: zulip.Client) -> None:
    """Her phone tells who it is, as the app does when she signs in."""
    await asked(nina, "users/me/android_gcm_reg_id", "POST", token=PHONE)


async def hear_while_away(day: Day, olivia: zulip.Client) -> None:
    message = {"type": "private", "to": ["nina@example.com"], "content": "Soup at noon?"}
    await sent(olivia, message)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await day.bouncer.arrived.wait()
    [push] = day.bouncer.got(PHONE)
    assert push["content"] == "Soup at noon?"
    emails = await day.olivia.run("document.querySelector('#emails').href")
    await open_mail(day.olivia, emails, "Olivia Owner.*to Nina Newcomer")
    assert "Soup at noon?" in await day.olivia.text("pre")
    framed = "document.querySelector('iframe').src"
    await day.nina.go(await day.olivia.run(framed))
    assert "a direct message. Replies to this email" in await day.nina.text()
    await day.shots.page(day.olivia, "missed")


async def show_a_picture(day: Day, nina: zulip.Client) -> None:
    bowl = day.home / "bowl.png"
    bowl.write_bytes(picture(size=(300, 200), color="orange"))
    with bowl.open("rb") as file:
        uploaded = await asyncio.to_thread(nina.upload_file, file)
    content = f"This is my [bowl.png]({uploaded['url']}) of soup."
    await sent(nina, {"type": "stream", "to": "general", "topic": "lunch", "content": content})
    narrow = [{"operator": "has", "operand": "image"}, {"operator": "search", "operand": "soup"}]
    [found] = await messages(nina, narrow)
    assert 'class="message_inline_image"' in found["content"]


async def talk(day: Day, config: Path, olivia: zulip.Client) -> None:
    """Nina reads, answers and searches in a terminal, which now and then fails by itself."""
    for turn in range(TURNS):
        with suppress(ProgramFailedError), terminal_client(config, day.home) as there:
            await asyncio.to_thread(answer, there, f"Yes, and bread ({turn})")
            await day.shots.terminal(day.nina, there.shown(), "terminal")
            [last] = await messages(olivia, [{"operator": "is", "operand": "dm"}], newest=1)
            assert (last["sender_full_name"], last["content"]) == (
                "Nina Newcomer",
                f"<p>Yes, and bread ({turn})</p>",
            )
            await asyncio.to_thread(search, there)
            return
    pytest.fail(f"the client has failed {TURNS} times by itself")


def answer(terminal: Terminal, words: str) -> None:
    terminal.until("▒ Soup at noon")
    terminal.press_until("All private messages", "P")
    terminal.press_until(COMPOSE, "G", "r")
    terminal.write(words)
    terminal.press_until(re.escape(f"▒ {words}"), "C-d")
    terminal.press_until(without(COMPOSE), "Escape")


def search(terminal: Terminal) -> None:
    terminal.press_until("▒ This is my bowl.png", "a")
    terminal.press("/")
    terminal.write("bowl")
    terminal.press_until(without("Soup at noon"), "Enter")
    terminal.until("▒ This is my bowl.png")


async def open_mail(page: Page, emails: str, about: str) -> None:
    """Open the newest mail of which the list says this, once it is there."""
    pattern = re.compile(about, re.DOTALL)
    items = (
        "[...document.querySelectorAll('li')].map(e => [e.innerText, e.querySelector('a').href])"
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            await page.go(emails)
            for text, href in await page.run(items):
                if pattern.search(text):
                    await page.go(href)
                    return


async def asked(client: zulip.Client, path: str, method: str, **fields: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await asyncio.to_thread(
        client.call_endpoint, url=path, method=method, request=fields
    )
    assert answer["result"] == "success", answer
    return answer


async def sent(client: zulip.Client, message: dict[str, Any]) -> None:
    answer = await asyncio.to_thread(client.send_message, message)
    assert answer["result"] == "success", answer


async def messages(
    client: zulip.Client, narrow: list[dict[str, str]], newest: int = 10
) -> list[dict[str, Any]]:
    found = await asked(
        client, "messages", "GET", anchor="newest", num_before=newest, num_after=0, narrow=narrow
    )
    return list(found["messages"])
