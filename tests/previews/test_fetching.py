"""Pages are fetched once in a while, and only what is one."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from server.egress import Egress
from server.egress.guard import Guard
from server.egress.resolving import SystemResolver
from server.parsing.parser import Parser, open_parser
from server.previews import Previews
from server.previews.fetching import FAILURES_KEPT_SECONDS, KEPT_SECONDS, REMEMBERED
from server.previews.page import PageMetadata
from server.settings.network_types import Destinations, Ports
from testkit.services.web_server import Answering, Received, Web, answering, answering_json, web_at

pytestmark = pytest.mark.asyncio

HTML = "text/html; charset=utf-8"
ROCK = answering(
    200,
    '<meta property="og:title" content="The Rock">'
    '<meta property="og:image" content="https://x.example/rock.png">',
    content_type=HTML,
)


class Site:
    def __init__(self, web: Web, egress: Egress, parser: Parser) -> None:
        self.web = web
        self.previews = Previews(egress, parser, lambda: self.now)
        self.now = 0.0

    async def page(self, answer: Answering | None = None, path: str = "/") -> PageMetadata:
        if answer is not None:
            self.web.answers = [answer]
        return await self.previews.page(self.web.url(path))


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    async with web_at("127.0.0.1") as web:
        egress = Egress(Guard(Destinations("127.0.0.1/32"), Ports("80,443")), SystemResolver())
        async with open_parser() as parser:
            yield Site(web, egress, parser)
        await egress.close()


async def test_a_page_is_fetched_once_in_a_while(site):
    for _ in range(3):
        page = await site.page(ROCK)
        assert (page.title, page.image) == ("The Rock", "https://x.example/rock.png")
    [request] = site.web.requests
    assert request.method == "GET"
    assert request.headers["accept"] == "text/html"
    site.now = KEPT_SECONDS
    await site.page()
    assert len(site.web.requests) == 2


async def test_many_who_ask_at_once_are_one_request(site):
    site.web.answers = [ROCK]
    pages = await asyncio.gather(*(site.page() for _ in range(20)))
    assert {page.title for page in pages} == {"The Rock"}
    assert len(site.web.requests) == 1


async def test_a_cancelled_caller_does_not_cancel_the_others(site):
    site.web.answers = [ROCK]
    first, second = asyncio.create_task(site.page()), asyncio.create_task(site.page())
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).title == "The Rock"


async def test_what_is_remembered_is_bounded(site):
    site.web.answers = [answering(404)]
    for number in range(REMEMBERED + 5):
        await site.previews.page(f"ftp://x.example/{number}")
    assert len(site.previews.pages) == REMEMBERED


@pytest.mark.parametrize(
    "answer",
    [
        answering(404, "<title>x</title>", content_type=HTML),
        answering(200, "<title>x</title>", content_type="text/plain"),
        answering(200, b"\x89PNG", content_type="image/png"),
        answering(200, ""),
    ],
)
async def test_what_is_no_page_has_no_preview(site, answer):
    assert await site.page(answer) == PageMetadata()


async def test_failures_are_forgotten_soon(site):
    async def hang_up(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.close()

    assert await site.page(hang_up) == PageMetadata()
    assert await site.page(ROCK) == PageMetadata()
    site.now = FAILURES_KEPT_SECONDS
    assert (await site.page()).title == "The Rock"


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_a_page_that_cannot_now_is_looked_at_again_soon(site, status):
    assert (
        await site.page(answering(status, "<title>Busy</title>", content_type=HTML))
        == PageMetadata()
    )
    assert await site.page(ROCK) == PageMetadata()
    site.now = FAILURES_KEPT_SECONDS
    assert (await site.page()).title == "The Rock"
    assert await site.page(answering(404), "/gone") == PageMetadata()
    site.now += FAILURES_KEPT_SECONDS
    assert await site.page(ROCK, "/gone") == PageMetadata()


async def test_a_page_without_what_it_says_elsewhere_is_looked_at_again_soon(site):
    html = '<title>Film</title><link type="application/json+oembed" href="/o">'
    film = answering(200, html, content_type=HTML)
    site.web.answers = [
        film,
        answering(503),
        film,
        answering_json({"type": "video", "thumbnail_url": "https://x.example/t"}),
    ]
    assert (await site.page()) == PageMetadata(title="Film", oembed_url=site.web.url("/o"))
    site.now = FAILURES_KEPT_SECONDS
    assert (await site.page()).image == "https://x.example/t"


async def test_private_networks_are_not_looked_into(site):
    async with web_at("127.0.0.2", ROCK) as private:
        assert await site.previews.page(private.url()) == PageMetadata()
        assert await site.page(answering(302, Location=private.url()), "/a") == PageMetadata()
        html = f'<link type="application/json+oembed" href="{private.url()}"><title>x</title>'
        assert (await site.page(answering(200, html, content_type=HTML), "/b")).title == "x"
    assert private.connections == 0


@pytest.mark.parametrize("image", ["https://192.168.0.1/x.png", "https://[::1]/x", "x:y"])
async def test_pictures_in_private_networks_are_left_out(site, image):
    html = f'<title>x</title><meta property="og:image" content="{image}">'
    assert await site.page(answering(200, html, content_type=HTML)) == PageMetadata(title="x")


async def test_only_the_beginning_of_a_page_is_read(site):
    html = "<title>Long</title>" + "<p>x</p>" * 200_000
    assert (await site.page(answering(200, html, content_type=HTML))).title == "Long"


async def test_oembed_is_asked_where_the_page_says_too_little(site):
    site.web.answers = [
        answering(
            200,
            '<title>Film</title><link type="application/json+oembed" href="/o?format=json">',
            content_type=HTML,
        ),
        answering_json({"type": "video", "title": "No", "thumbnail_url": "https://x.example/t"}),
    ]
    page = await site.page()
    assert (page.title, page.image) == ("Film", "https://x.example/t")
    assert [request.target for request in site.web.requests] == ["/", "/o?format=json"]
