"""The operator's pages in a real browser, as people use them."""

import pytest
from tornado.httpclient import AsyncHTTPClient

from server.messaging.job_broker import OutgoingJob
from storage import workers
from storage.database import Database
from testkit.clients.browser import CONTRAST, Page
from testkit.clients.operator_server import PASSWORD, QUEUE, Operated

pytestmark = pytest.mark.asyncio


async def sign_in(page: Page, operators: Operated) -> None:
    await page.go(operators.url)
    await page.click("#password")
    await page.write(PASSWORD)
    await page.follow("button.main")


async def test_an_operator_drops_one_dead_job_and_replays_the_rest(operators: Operated, page: Page):
    await operators.dead_letter("1:7", "1:8", "2:9")
    await sign_in(page, operators)
    assert "3 jobs have died" in await page.text("#state")
    await page.follow(f"#queue-{QUEUE}")
    assert "1:8 cannot be" in await page.text(".letters")
    assert "in <line> 7" in await page.run("document.querySelector('.letters pre').textContent")

    await page.click(".letters li:last-child input")
    await page.follow("button[formaction$=drop]")
    assert "Drop 1 dead job of deferred_work?" in await page.text("h1")
    assert await operators.states() == (0, 3)
    await page.follow("button.danger")
    assert await page.text("[role=status].card") == "1 job forgotten."
    assert await operators.states() == (0, 2)
    assert "1:7" not in await page.text(".letters")

    await page.follow("a[href$='/replay?all=yes']")
    await page.follow("button.main")
    assert await page.text("[role=status].card") == "2 jobs went back into the queue."
    assert await operators.states() == (2, 0)
    assert "Nothing has died" in await page.text()
    assert page.complaints == []


async def test_a_queue_is_paused_and_resumed_by_keyboard_alone(
    operators: Operated, page: Page, database: Database
):
    await page.go(operators.url)
    await page.until("document.activeElement.matches('input[type=password]')")
    await page.write(PASSWORD)
    await page.press("Enter")
    await page.loaded()
    for verb, paused in (("pause", [QUEUE]), ("resume", [])):
        await _tab_to(page, f"{verb}-{QUEUE}")
        await page.press("Enter")
        await page.loaded()
        await _tab_to(page, verb)
        await page.press("Enter")
        await page.loaded()
        async with database.connection() as connection:
            assert await workers.paused(connection) == paused
        await page.go(operators.url)
    await _tab_to(page, "sign-out")
    await page.press("Enter")
    await page.loaded()
    assert await page.text("h1") == "Sign in"
    await page.go(operators.url)
    assert await page.text("h1") == "Sign in"


async def _tab_to(page: Page, name: str) -> None:
    """Go on with the tabulator until the element with this id has the focus, and shows it."""
    for _ in range(40):
        await page.press("Tab")
        if await page.run("document.activeElement.id") == name:
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert await page.run(outline) == "solid"
            return
    pytest.fail(f"the tabulator does not lead to {name}")


async def test_the_page_keeps_itself_up_to_date_and_the_focus_where_it_is(
    operators: Operated, page: Page
):
    await sign_in(page, operators)
    await page.click("#live")
    before = await page.text("#updated")
    await operators.dead_letter("1:7")
    await page.run("refresh()")
    assert await page.text("#updated") == before
    assert "All is well" in await page.text("#state")

    await page.click("#live")
    await page.run(f"document.getElementById('pause-{QUEUE}').focus()")
    await page.until("document.getElementById('state').textContent.includes('1 job has died')")
    assert await page.run("document.activeElement.id") == f"pause-{QUEUE}"
    assert await page.run("document.title") == "Dead jobs – Parley"
    assert page.complaints == []


async def test_an_answer_that_comes_after_it_was_switched_off_changes_nothing(
    operators: Operated, page: Page
):
    await sign_in(page, operators)
    await page.run(
        """
        window.asked = new Promise((told) => {
          const ask = window.fetch;
          window.fetch = async (...about) => {
            const answer = await ask(...about);
            document.getElementById("updated").textContent = "then";
            document.getElementById("live").checked = false;
            told();
            return answer;
          };
        })
        .then(() => new Promise((later) => setTimeout(later, 200)));
        refresh().then(() => window.asked)
        """
    )
    assert await page.text("#updated") == "then"


async def test_the_page_of_a_queue_does_not_look_again_by_itself(operators: Operated, page: Page):
    """Each look goes through all that has died."""
    await sign_in(page, operators)
    await page.go(f"{operators.url}/queues/{QUEUE}")
    assert await page.run("document.scripts.length") == 0
    assert not await page.run("document.getElementById('live-toggle').checkVisibility()")


@pytest.mark.parametrize("mode", ["light", "dark"])
async def test_it_can_be_read_on_a_desk_and_on_a_phone(operators: Operated, page: Page, mode: str):
    await operators.dead_letter("1:7")
    dark = mode == "dark"
    await page.look_like(width=390, height=844, dark=dark, still=True)
    await sign_in(page, operators)
    places = (
        operators.url,
        f"{operators.url}/queues/{QUEUE}",
        f"{operators.url}/queues/{QUEUE}/drop",
    )
    for width in (390, 1280):
        await page.look_like(width=width, dark=dark, still=True)
        for place in places:
            await page.go(f"{place}?all=yes")
            assert await page.run(CONTRAST) == []
            wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert await page.run(wider) == 0, (place, width)
            assert await page.run("document.querySelectorAll('h1').length") == 1
            assert await page.run("document.querySelectorAll('main').length") == 1
    assert page.complaints == []


async def test_the_table_is_one_for_those_who_hear_it(operators: Operated, page: Page):
    """Also where it is shown as cards: its roles are said, whatever its style."""
    await page.look_like(width=390)
    await sign_in(page, operators)
    found = (await page.ask("Accessibility.getFullAXTree"))["nodes"]
    roles = [node["role"]["value"] for node in found if not node["ignored"]]
    assert {"banner", "main", "heading", "table", "row", "columnheader", "rowheader", "cell"} <= {
        *roles
    }
    names = {node["name"]["value"] for node in found if node["role"]["value"] == "link"}
    assert f"Pause {QUEUE}" in names


async def test_the_page_runs_nothing_that_users_wrote(operators: Operated, page: Page):
    evil = '"><script>document.title = "taken"</script><img src=x onerror="document.title = 1">'
    jobs = operators.server.app.jobs
    await jobs.publish(OutgoingJob(queue=QUEUE, body=evil.encode(), key=evil))
    async with jobs.consume(QUEUE, prefetch=1) as deliveries:
        await (await anext(deliveries)).dead_letter(evil, trace=evil)
    await sign_in(page, operators)
    await page.go(f"{operators.url}/queues/{QUEUE}")
    assert await page.run("document.title") == f"{QUEUE} – Parley"
    assert evil in await page.text(".letters strong")
    answer = await AsyncHTTPClient().fetch(operators.url, follow_redirects=True)
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
