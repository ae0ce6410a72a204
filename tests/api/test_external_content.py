"""Pictures of other sites in messages: fetched by the server alone, and only what is one."""

import asyncio
import re
from dataclasses import replace

import pytest
import pytest_asyncio

from server.previews import pictures
from server.previews.pictures import MAX_BYTES
from testkit.images import animation, picture
from testkit.services.web_server import answering, web_at

pytestmark = pytest.mark.asyncio

HERE, THERE = "127.0.0.1", "127.0.0.2"
PNG = picture()
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HTML = b"<!DOCTYPE html><script>alert(1)</script>"


@pytest_asyncio.fixture
async def web():
    async with web_at(HERE, answering(200, PNG, content_type="image/png")) as web:
        yield web


@pytest_asyncio.fixture
async def server(serving_with):
    async with serving_with(egress_allow=f"{HERE}/32") as server:
        yield server


async def source_of(client, url):
    """From where a message that links the address loads its picture; None if it shows none."""
    html = (await client.post("/messages/render", content=url))["rendered"]
    found = re.search(r'<img src="([^"]*)">', html)
    return None if found is None else found[1]


async def test_readers_of_the_message_get_the_picture_from_the_server(web, log_in, spectator, make):
    alice = await log_in()
    channel = await make.channel(subscribers=[alice.user])
    sent = await alice.post(
        "/messages", type="channel", to=channel.channel_id, topic="t", content=web.url("/a.png?b=c")
    )
    html = (await alice.get(f"/messages/{sent['id']}"))["message"]["content"]
    assert f'<div class="message_inline_image"><a href="{web.url("/a.png?b=c")}">' in html
    [source] = re.findall(r'<img src="(/external_content/[0-9a-f]{64}/[0-9a-f]+)">', html)
    assert web.requests == []

    await alice.fetch(source)
    answer = await (await spectator()).fetch(source)
    assert (answer.status, answer.content) == (200, PNG)
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert answer.headers["Cache-Control"] == "private, max-age=86400"
    known = {"If-None-Match": answer.headers["ETag"]}
    assert (await alice.fetch(source, headers=known)).status == 304
    head = await alice.fetch(source, method="HEAD")
    assert (head.status, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(PNG))

    [request] = web.requests
    assert request.target == "/a.png?b=c"
    assert {"cookie", "authorization", "referer"}.isdisjoint(request.headers)


async def test_what_the_server_has_not_signed_it_does_not_fetch(web, log_in):
    client = await log_in()
    source = await source_of(client, web.url("/a.png"))
    _, _, digest, encoded = source.split("/")
    other = web.url("/b.png").encode().hex()
    (await client.fetch(f"/external_content/{digest}/{other}")).refused("BAD_REQUEST", 404)
    for path in (
        f"/external_content/{'0' * 64}/{encoded}",
        f"/external_content/{digest}/{encoded[:-1]}",
        f"/external_content/{digest[:-1]}/{encoded}",
        "/external_content/x/y",
    ):
        (await client.fetch(path)).refused("BAD_REQUEST", 404)
    assert web.connections == 0


@pytest.mark.parametrize(
    ("content", "content_type", "shown_as"),
    [
        (PNG, "image/jpeg; charset=x", "image/png"),
        (PNG, "application/octet-stream", "image/png"),
        (PNG, "", "image/png"),
        (picture("JPEG"), "image/jpeg", "image/jpeg"),
        (picture("WEBP"), "image/webp", "image/webp"),
        (picture("AVIF"), "image/avif", "image/avif"),
        (picture("BMP"), "IMAGE/BMP", "image/bmp"),
        (animation(), "image/gif", "image/gif"),
        (SVG, "image/svg+xml", None),
        (SVG, "image/png", None),
        (b'<?xml version="1.0"?>' + SVG, "", None),
        (HTML, "image/png", None),
        (HTML, "text/html", None),
        (PNG, "text/html", None),
        (PNG, "image/svg+xml", None),
        (b"GIF89a<script>alert(1)</script>", "text/html", None),
        (b"", "image/png", None),
        (PNG[:7], "image/png", None),
    ],
)
async def test_it_is_what_it_begins_as_or_nothing(web, log_in, content, content_type, shown_as):
    client = await log_in()
    web.answers = [answering(200, content, content_type=content_type)]
    answer = await client.fetch(await source_of(client, web.url("/a.png")))
    if shown_as is None:
        answer.refused("BAD_REQUEST", 404)
    else:
        assert (answer.status, answer.content) == (200, content)
        assert answer.headers["Content-Type"] == shown_as
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_too_large_a_picture_is_none(web, log_in):
    client = await log_in()
    for extra, status in ((0, 200), (1, 404)):
        content = PNG + bytes(MAX_BYTES - len(PNG) + extra)
        web.answers = [answering(200, content, content_type="image/png")]
        answer = await client.fetch(await source_of(client, web.url(f"/{extra}.png")))
        assert answer.status == status


async def test_an_answer_that_never_ends_is_read_no_further(web, log_in):
    written = 0

    async def endless(_, writer):
        nonlocal written
        writer.write(b"HTTP/1.1 200 Yes\r\nContent-Type: image/png\r\n\r\n" + PNG)
        while not writer.is_closing():
            writer.write(bytes(256 * 1024))
            written += 256 * 1024
            await writer.drain()

    client = await log_in()
    web.answers = [endless]
    (await client.fetch(await source_of(client, web.url("/a.png")))).refused("BAD_REQUEST", 404)
    assert written < 4 * MAX_BYTES


async def test_a_slow_site_is_given_up_and_tried_again_later(web, log_in, monkeypatch):
    monkeypatch.setattr(pictures, "LIMITS", replace(pictures.LIMITS, seconds=0.3))
    held = asyncio.Event()

    async def slow(_, writer):
        writer.write(b"HTTP/1.1 200 Yes\r\nContent-Type: image/png\r\n\r\n" + PNG[:9])
        await held.wait()

    client = await log_in()
    web.answers = [slow]
    answer = await client.fetch(await source_of(client, web.url("/a.png")))
    answer.refused("BAD_REQUEST", 404)
    assert answer.headers["Cache-Control"] == "private, max-age=300"
    held.set()


async def test_redirects_lead_nowhere_private(web, log_in):
    client = await log_in()
    async with web_at(THERE, answering(200, PNG, content_type="image/png")) as private:
        for number, location in enumerate(
            (
                private.url("/a.png"),
                f"http://2130706434:{private.port}/a.png",
                f"http://[::ffff:{THERE}]:{private.port}/a.png",
                "http://169.254.169.254/latest/meta-data/",
                "file:///etc/passwd",
            )
        ):
            web.answers = [answering(302, Location=location)]
            source = await source_of(client, web.url(f"/{number}.png"))
            (await client.fetch(source)).refused("BAD_REQUEST", 404)
    assert private.connections == 0
    web.answers = [
        answering(301, Location="/b.png"),
        answering(200, PNG, content_type="image/png"),
    ]
    assert (await client.fetch(await source_of(client, web.url("/moved.png")))).content == PNG
    web.answers = [answering(302, Location="/again.png")]
    (await client.fetch(await source_of(client, web.url("/again.png")))).refused("BAD_REQUEST", 404)


async def test_where_the_server_does_not_go_it_shows_nothing(log_in):
    client = await log_in()
    for url in (
        f"http://{THERE}/a.png",
        "http://10.0.0.1/a.png",
        "http://[::1]/a.png",
        "http://name:password@x.example/a.png",
        "ftp://x.example/a.png",
        f"https://x.example/{'a' * 2048}.png",
        "https://x.example/a.svg",
        "https://x.example/a.mp4",
    ):
        assert await source_of(client, url) is None, url
    # Names are resolved only when the picture is requested.
    source = await source_of(client, "http://localhost:1/a.png")
    assert source is not None
    (await client.fetch(source)).refused("BAD_REQUEST", 404)


async def test_an_operator_may_have_none(serving_with, connect, make, web, log_in):
    source = await source_of(await log_in(), web.url("/a.png"))
    user = await make.user()
    settings = {"egress_allow": f"{HERE}/32", "image_proxy": False, "media_hosts": "x.example"}
    async with serving_with(**settings) as server:
        client = await connect(server, make.realm_id, user)
        assert await source_of(client, web.url("/a.png")) is None
        (await client.fetch(source)).refused("BAD_REQUEST", 404)
        assert await source_of(client, "https://x.example/a.png") == "https://x.example/a.png"
    assert web.connections == 0


async def test_an_organization_may_have_none(web, log_in, make):
    await make.change_settings(inline_image_preview=False)
    assert await source_of(await log_in(), web.url("/a.png")) is None
