"""Pictures of other sites: fetched once in a while, few at once, and only so many remembered."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from server.egress import Egress
from server.egress.guard import Guard
from server.egress.resolving import SystemResolver
from server.previews import LinkedPictures, pictures
from server.previews.fetching import FAILURES_KEPT_SECONDS, KEPT_SECONDS
from server.previews.pictures import AT_ONCE_OF_HOST, LEAST_WEIGHT, Busy
from server.settings.network_types import Destinations, Ports
from testkit.images import picture
from testkit.services.web_server import Web, answering, web_at

pytestmark = pytest.mark.asyncio

PNG = picture()
GOOD = answering(200, PNG, content_type="image/png")


class Site:
    def __init__(self, web: Web, egress: Egress) -> None:
        self.web = web
        self.now = 0.0
        self.pictures = LinkedPictures(egress, lambda: self.now)

    async def content(self, path: str = "/a.png") -> bytes | None:
        found = await self.pictures.picture(self.web.url(path))
        return None if found is None else found.content


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    async with web_at("127.0.0.1", GOOD) as web:
        egress = Egress(Guard(Destinations("127.0.0.1/32"), Ports("80")), SystemResolver())
        yield Site(web, egress)
        await egress.close()


async def test_many_who_look_are_one_request(site):
    found = await asyncio.gather(*(site.content() for _ in range(20)))
    assert found == [PNG] * 20
    assert len(site.web.requests) == 1
    site.now = KEPT_SECONDS
    assert await site.content() == PNG
    assert len(site.web.requests) == 2


@pytest.mark.parametrize(
    ("status", "seconds"), [(404, KEPT_SECONDS), (500, FAILURES_KEPT_SECONDS), (429, None)]
)
async def test_where_there_was_none_is_looked_again_later(site, status, seconds):
    site.web.answers = [answering(status), GOOD]
    assert await site.content() is None
    site.now = (seconds or FAILURES_KEPT_SECONDS) - 1
    assert await site.content() is None
    site.now += 1
    assert await site.content() == PNG


async def test_what_is_remembered_is_bounded_by_its_size(site):
    capacity = 3 * (LEAST_WEIGHT + len(PNG))
    site.pictures.memory.capacity = capacity
    for number in range(6):
        assert await site.content(f"/{number}.png") == PNG
    assert len(site.pictures.memory) == 3
    assert site.pictures.memory.weight == capacity
    await site.content("/3.png")
    await site.content("/6.png")
    asked = [request.target for request in site.web.requests]
    assert asked == [f"/{number}.png" for number in range(7)]
    await site.content("/3.png")  # has been used, so another one went
    assert len(site.web.requests) == 7
    await site.content("/4.png")
    assert len(site.web.requests) == 8
    site.now = KEPT_SECONDS
    await site.content("/4.png")
    assert site.pictures.memory.weight == capacity
    site.pictures.memory.capacity = 1  # nothing fits: it is shown all the same
    assert await site.content("/7.png") == PNG
    assert (len(site.pictures.memory), site.pictures.memory.weight) == (0, 0)


async def test_few_come_from_one_site_at_once_and_others_do_not_wait_for_it(site):
    held, most = asyncio.Event(), 0

    async def hold(received, writer):
        nonlocal most
        most = max(most, site.web.connections)
        await held.wait()
        await GOOD(received, writer)

    site.web.answers = [hold]
    slow = [asyncio.create_task(site.content(f"/{number}.png")) for number in range(20)]
    async with web_at("127.0.0.1", GOOD) as quick:
        found = await site.pictures.picture(quick.url("/a.png"))
        assert found is not None
        while site.web.connections < AT_ONCE_OF_HOST:  # noqa: ASYNC110 - it has no callback
            await asyncio.sleep(0)
    assert site.web.connections == AT_ONCE_OF_HOST
    held.set()
    assert await asyncio.gather(*slow) == [PNG] * 20
    assert site.pictures._turns_of_host == {}


async def test_no_request_waits_behind_too_many(site, monkeypatch):
    monkeypatch.setattr(pictures, "MAX_COMING", 3)
    held = asyncio.Event()

    async def hold(received, writer):
        await held.wait()
        await GOOD(received, writer)

    site.web.answers = [hold]
    waiting = [asyncio.create_task(site.content(f"/{number}.png")) for number in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await site.content("/3.png")
    also = asyncio.create_task(site.content("/0.png"))
    held.set()
    assert await asyncio.gather(*waiting, also) == [PNG] * 4
