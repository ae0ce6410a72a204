"""The pages that show messages, in a real browser: pleasant, legible, and without a complaint."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from testkit.clients.browser import CONTRAST, Page
from testkit.clients.page_client import PASSWORD
from testkit.clients.server import Server, serve
from testkit.factories import Make
from testkit.images import picture

pytestmark = pytest.mark.asyncio

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
CONTENT = """Some **text** :smile: and a [link](https://example.com/), `code`

```python
def a_function_with_a_long_name(argument_one, argument_two, argument_three): return argument_one
```

```spoiler Open me
the secret
```

| a | b |
|---|---|
| 1 | 2 |
"""


@pytest_asyncio.fixture
async def server(database, database_url: str, make: Make) -> AsyncIterator[Server]:
    """A server at which every address is the organization's, with spectators."""
    await make.connection.execute(
        "UPDATE realms SET subdomain = '', name = 'Analytical Engines' WHERE realm_id = %(id)s",
        id=make.realm_id,
    )
    await make.change_settings(enable_spectator_access=True)
    async with serve(database_url, root_domain=None, web_public_channels=True) as running:
        yield running


@pytest.mark.parametrize("mode", ["light", "dark"])
async def test_messages_and_channels_can_be_read_on_a_desk_and_on_a_phone(
    server, page: Page, make: Make, ada, log_in, tmp_path: Path, mode: str
):
    async def can_be_read(name: str) -> None:
        for width in (390, 1280):
            await page.look_like(width=width, dark=mode == "dark", still=True)
            await page.picture(tmp_path / f"{name}-{mode}-{width}.png")
            assert await page.run(CONTRAST) == [], name
            assert await page.run(WIDER) == 0, (name, width)
            assert await page.run("document.querySelectorAll('h1').length") == 1

    await make.channel("web", subscribers=[ada], is_web_public=True, description="All may read")
    inner = await make.channel("inner", subscribers=[ada])
    client = await log_in(ada)
    fields = {"type": "channel", "topic": "A topic", "content": CONTENT}
    public = (await client.post("/messages", to="web", **fields))["id"]
    private = (await client.post("/messages", to=inner.channel_id, **fields))["id"]

    await page.go(f"{server.url}/login")
    await page.follow("#public")
    assert await page.text("h1") == "What is public in Analytical Engines"
    await can_be_read("channels")
    await page.follow("#channels a")
    await can_be_read("topics")
    await page.follow("#topics a")
    assert await page.text("h1") == "#web > A topic"
    await can_be_read("topic")
    assert await page.run("document.querySelector('.content details').open") is False
    await page.click(".content summary")
    await page.until("document.querySelector('.content details').open")

    await page.go(f"{server.url}/message/{private}")
    assert await page.text("h1") == "Sign in to Analytical Engines"
    await page.fill("#username", ada.email)
    await page.fill("#password", PASSWORD)
    await page.follow("button.main")
    assert await page.text("h1") == "#inner > A topic"
    await can_be_read("message")
    await page.go(f"{server.url}/message/{public}")
    assert await page.text("[aria-current] .sender") == ada.full_name
    await page.go(f"{server.url}/account#notifications")
    await page.follow("#save-notifications")
    assert await page.text("[role=status]") == "Your notifications are saved."
    await can_be_read("account")
    assert page.complaints == []


async def test_an_uploaded_picture_is_shown(server, page: Page, make: Make, ada, log_in):
    client = await log_in(ada)
    upload = (await client.upload("/user_uploads", file=("dot.png", picture()))).succeeded()
    sent = await client.post(
        "/messages", type="direct", to=[ada.user_id], content=f"[dot]({upload['url']})"
    )
    await page.go(f"{server.url}/login/?next=/message/{sent['id']}")
    await page.fill("#username", ada.email)
    await page.fill("#password", PASSWORD)
    await page.follow("button.main")
    await page.until(
        "[...document.querySelectorAll('.content img')].some((i) => i.complete && i.naturalWidth)"
    )
    assert page.complaints == []
