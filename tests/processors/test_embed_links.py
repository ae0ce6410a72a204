"""From messages that link pages to previews below them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from queue_processors.embed_links import Embedder
from queue_processors.processor import Processor
from server.egress import Egress
from server.egress.guard import Guard
from server.egress.resolving import SystemResolver
from server.events.base import ClientView
from server.history.edit_history import fetch_history
from server.jobs import EmbedLinks, outgoing
from server.parsing.parser import open_parser
from server.previews import Previews
from server.settings.network_types import Destinations, Ports
from storage import message_previews
from storage.ids import MessageId
from testkit.factories import user_ids
from testkit.markdown.reader import read
from testkit.message_changes import Changes
from testkit.message_fanout import FanoutDesk
from testkit.oracles.agreement import Witnesses
from testkit.realm_with_roles import Hall
from testkit.services.job_brokers import Place
from testkit.services.web_server import Received, Web, answering, web_at

pytestmark = pytest.mark.asyncio

ROCK = answering(
    200,
    '<title>The Rock</title><meta property="og:image" content="https://x.example/rock.png">',
    content_type="text/html",
)


@dataclass
class Window:
    """Shows previews as the processor does."""

    hall: Hall
    desk: FanoutDesk
    web: Web
    embedder: Embedder
    done: int = 0

    async def jobs(self) -> list[EmbedLinks]:
        """Those that were asked for since the last time, by the log itself too."""
        await self.desk.catch_up()
        found = self.desk.basket.of(EmbedLinks)
        new, self.done = found[self.done :], len(found)
        return new

    async def work(self) -> int:
        """Do what there is to do; how much it was."""
        jobs = await self.jobs()
        for job in jobs:
            await self.embedder.handle(job)
        return len(jobs)

    async def html(self, message_id: MessageId) -> str:
        html: str = await self.hall.make.connection.value(
            "SELECT rendered_content FROM messages WHERE realm_id = %(r)s AND id = %(id)s",
            r=self.hall.make.realm_id,
            id=message_id,
        )
        return html

    async def previews_in(self, message_id: MessageId) -> int:
        html = await self.html(message_id)
        read(html)
        return html.count("message_embed_title")


@pytest_asyncio.fixture
async def window(hall: Hall, changes: Changes, desk: FanoutDesk) -> AsyncIterator[Window]:
    """Of an organization that shows previews; all users are in its channel."""
    del changes
    await hall.make.change_settings(inline_url_embed_preview=True)
    await hall.make.channel("news", subscribers=[hall.member, hall.other, hall.guest])
    async with web_at("127.0.0.1", ROCK) as web:
        egress = Egress(Guard(Destinations("127.0.0.1/32"), Ports("80")), SystemResolver())
        async with open_parser() as parser:
            previews = Previews(egress, parser, hall.stage.clock.monotonic)
            yield Window(hall, desk, web, Embedder(hall.realm_services(), previews))
        await egress.close()


async def test_a_preview_comes_below_the_message(
    hall: Hall, changes: Changes, window: Window, witnesses: Witnesses
):
    url = window.web.url("/rock")
    sent = await changes.send(hall.member, "news", content=f"see {url}")
    plain = await window.html(sent)
    [job] = await window.jobs()
    people = [hall.member, hall.other, hall.guest, hall.admin]
    seen = await witnesses.watch(lambda: window.embedder.handle(job), people)

    html = await window.html(sent)
    assert html.startswith(f'{plain}\n<div class="message_embed">')
    assert f'<a href="{url}" title="The Rock">The Rock</a>' in html
    assert 'style="background-image: url(&quot;https://x.example/rock.png&quot;)"' in html
    read(html)
    told = {w.user.user_id: w.events for w in seen if w.events}
    assert set(told) == {row.user_id for row in people[:3]}
    for [event] in told.values():
        assert event["rendering_only"] is True
        assert event["user_id"] is None
        assert event["rendered_content"] == html
        assert event["content"] == f"see {url}"
        assert "orig_content" not in event


async def test_nothing_of_the_messages_history_changes(
    hall: Hall, changes: Changes, window: Window
):
    sent = await changes.send(hall.member, "news", content=window.web.url())
    await window.work()
    await changes.edit(hall.member, sent, "nothing any more")
    actor = hall.actor(hall.other)
    realm_cache = hall.stage.realm_caches.of(hall.make.realm_id)
    async with hall.stage.database.connection() as connection:
        first, _ = await fetch_history(realm_cache, connection, actor, sent, ClientView())
        edited = await connection.value("SELECT count(edit_history) FROM messages")
    assert "message_embed" not in first["rendered_content"]
    assert edited == 1
    assert await window.previews_in(sent) == 0


async def test_direct_messages_have_previews_too(hall: Hall, changes: Changes, window: Window):
    sent = await changes.send(hall.member, user_ids([hall.other]), content=window.web.url())
    assert await window.work() == 1
    assert await window.previews_in(sent) == 1


async def test_it_is_off_unless_the_organization_wants_it(
    hall: Hall, changes: Changes, window: Window
):
    await hall.make.change_settings(inline_url_embed_preview=False)
    sent = await changes.send(hall.member, "news", content=window.web.url())
    await changes.edit(hall.member, sent, f"again {window.web.url()}")
    assert await window.work() == 0

    await hall.make.change_settings(inline_url_embed_preview=True)
    later = await changes.send(hall.member, "news", content=window.web.url())
    [job] = await window.jobs()
    await hall.make.change_settings(inline_url_embed_preview=False)
    await window.embedder.handle(job)
    assert await window.previews_in(later) == 0


async def test_bots_and_messages_without_links_have_none(
    hall: Hall, changes: Changes, window: Window
):
    bot = await hall.make.user("Robot", bot_type=1, bot_owner=hall.member)
    sent = await changes.send(bot, user_ids([hall.member]), content=window.web.url())
    await changes.edit(bot, sent, f"again {window.web.url()}")
    await changes.send(hall.member, "news", content="no link")
    assert await window.work() == 0
    assert window.web.requests == []


async def test_its_own_messages_are_not_looked_at(hall: Hall, changes: Changes, window: Window):
    own = (await hall.stage.realm_caches.of(hall.make.realm_id).address()).url
    await changes.send(hall.member, "news", content=f"{own}/#narrow/channel/1-x")
    assert await window.work() == 1
    assert window.web.requests == []


async def test_pages_without_a_picture_have_none(hall: Hall, changes: Changes, window: Window):
    window.web.answers = [answering(200, "<title>Plain</title>", content_type="text/html")]
    sent = await changes.send(hall.member, "news", content=window.web.url())
    hall.stage.happened.clear()
    await window.work()
    assert await window.previews_in(sent) == 0
    assert hall.stage.happened == []


async def test_without_links_to_show_no_fetch_is_waited_for(
    hall: Hall, changes: Changes, window: Window
):
    window.web.answers = [answering(404)]
    sent = await changes.send(hall.member, "news", content=window.web.url())
    [job] = await window.jobs()
    locking = message_previews.locking(hall.make.realm_id, sent)
    async with asyncio.timeout(60), hall.stage.database.transaction() as held:
        assert await locking.waiting(held)
        await window.embedder.handle(job)


async def test_an_edit_has_its_own_previews(hall: Hall, changes: Changes, window: Window):
    sent = await changes.send(hall.member, "news", content=window.web.url("/a"))
    await window.work()
    await changes.edit(hall.member, sent, f"{window.web.url('/b')} {window.web.url('/c')}")
    assert await window.previews_in(sent) == 0
    assert await window.work() == 1
    assert await window.previews_in(sent) == 2


async def test_a_message_that_says_something_else_by_then_is_left_alone(
    hall: Hall, changes: Changes, window: Window
):
    sent = await changes.send(hall.member, "news", content=window.web.url())
    [job] = await window.jobs()

    async def edit_first(request: Received, writer: asyncio.StreamWriter) -> None:
        await changes.edit(hall.member, sent, "changed my mind")
        await ROCK(request, writer)

    window.web.answers = [edit_first]
    await window.embedder.handle(job)
    assert await window.html(sent) == "<p>changed my mind</p>"


@pytest.mark.parametrize("what", ["deleted", "archived"])
async def test_nothing_is_shown_where_nothing_may_change(
    hall: Hall, changes: Changes, window: Window, what: str
):
    channel = await hall.make.channel("old", subscribers=[hall.member])
    sent = await changes.send(hall.member, "old", content=window.web.url())
    [job] = await window.jobs()
    if what == "deleted":
        await changes.delete(hall.admin, sent)
    else:
        await hall.make.archive(channel)
    hall.stage.happened.clear()
    await window.embedder.handle(job)
    assert hall.stage.happened == []


async def test_doing_it_twice_shows_it_once(hall: Hall, changes: Changes, window: Window):
    sent = await changes.send(hall.member, "news", content=window.web.url())
    [job] = await window.jobs()
    await window.embedder.handle(job)
    hall.stage.happened.clear()
    await window.embedder.handle(job)
    assert await window.previews_in(sent) == 1
    assert hall.stage.happened == []
    assert len(window.web.requests) == 1


async def test_what_was_shown_goes_with_the_message(hall: Hall, changes: Changes, window: Window):
    sent = await changes.send(hall.member, "news", content=window.web.url())
    await window.work()
    await changes.delete(hall.admin, sent)
    bodies = await hall.make.connection.values(
        "SELECT convert_from(body, 'UTF8') FROM event_log WHERE realm_id = %(r)s",
        r=hall.make.realm_id,
    )
    assert not any("The Rock" in (body or "") for body in bodies)


async def test_previews_come_by_both_brokers(
    hall: Hall, changes: Changes, window: Window, place: Place
):
    sent = await changes.send(hall.member, "news", content=window.web.url())
    [job] = await window.jobs()
    done = asyncio.Event()

    async def handle(_: object, job: EmbedLinks) -> None:
        await window.embedder.handle(job)
        done.set()

    async with place.open() as broker:
        await broker.publish(outgoing(job, key="one"))
        working = asyncio.create_task(Processor(EmbedLinks, handle).run(None, broker))
        try:
            async with asyncio.timeout(60):
                await done.wait()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
    assert await window.previews_in(sent) == 1
