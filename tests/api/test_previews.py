"""Previews of linked pages, from end to end: with all workers beside the server."""

import pytest

from queue_processors import embed_links
from queue_processors.main import run
from queue_processors.registry import PROCESSORS
from server.domain.access import ADMINISTRATOR
from server.jobs import EmbedLinks
from server.messaging.background import running
from testkit.services.web_server import answering, web_at

pytestmark = pytest.mark.asyncio

PAGE = answering(
    200,
    '<title>Soup</title><meta property="og:image" content="https://x.example/soup.png">',
    content_type="text/html",
)


async def test_they_come_after_the_message_and_after_its_edit(serving_with, make, connect):
    async with (
        web_at("127.0.0.1", PAGE) as web,
        serving_with(egress_allow="127.0.0.1/32") as server,
    ):
        boss = await connect(server, make.realm_id, await make.user(role=ADMINISTRATOR))
        await boss.patch("/realm", inline_url_embed_preview=True)
        queue = await boss.register(event_types=["update_message"], apply_markdown=True)
        to = [boss.user.user_id]
        sent = (await boss.post("/messages", type="direct", to=to, content=web.url("/a")))["id"]
        async with running(run(server.app, PROCESSORS, with_shipper=True)):
            shown = await queue.until("update_message")
            await boss.patch(f"/messages/{sent}", content=web.url("/b"))
            edited, again = [await queue.until("update_message") for _ in range(2)]
        message = (await boss.get(f"/messages/{sent}"))["message"]

    assert [each["rendering_only"] for each in (shown, edited, again)] == [True, False, True]
    assert [each["user_id"] for each in (shown, edited, again)] == [None, *to, None]
    assert [("message_embed" in e["rendered_content"]) for e in (shown, edited, again)] == [
        True,
        False,
        True,
    ]
    assert message["content"] == again["rendered_content"]
    assert [entry["user_id"] for entry in message["edit_history"]] == to
    assert [request.target for request in web.requests] == ["/a", "/b"]


async def test_the_server_may_have_none_at_all(serving_with, make, connect):
    async with (
        web_at("127.0.0.1", PAGE) as web,
        serving_with(egress_allow="127.0.0.1/32", link_previews=False) as server,
    ):
        boss = await connect(server, make.realm_id, await make.user(role=ADMINISTRATOR))
        state = (await boss.register(fetch_event_types=["realm"])).state
        assert state["server_inline_url_embed_preview"] is False
        await boss.patch("/realm", inline_url_embed_preview=True)
        to = [boss.user.user_id]
        sent = (await boss.post("/messages", type="direct", to=to, content=web.url()))["id"]
        job = EmbedLinks(realm_id=make.realm_id, message_id=sent)
        await embed_links.handle(server.app, job)
        message = (await boss.get(f"/messages/{sent}"))["message"]
    assert "message_embed" not in message["content"]
    assert web.requests == []
