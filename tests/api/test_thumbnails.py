"""Small pictures of uploaded ones: made by a worker, shown in messages, read by who may."""

import pytest

from queue_processors import blob_removals, thumbnails
from queue_processors.registry import PROCESSORS
from server.jobs import BlobRemoval, Thumbnails
from server.messaging.job_broker import OutgoingJob
from testkit.images import animation, bomb, opened, picture

pytestmark = pytest.mark.asyncio

WEBP = "/840x560.webp"
MOVING = "/840x560-anim.webp"


class Kept:
    """Takes jobs, and keeps them."""

    def __init__(self):
        self.jobs = []

    async def publish(self, *jobs: OutgoingJob) -> None:
        self.jobs += jobs


class Work:
    """Does what the log asks of the processor."""

    def __init__(self, server, make):
        self.server, self.make = server, make

    async def asked(self, queue):
        return await self.make.connection.values(
            """
            SELECT convert_from(body, 'UTF8')::jsonb -> 'job' FROM event_log
             WHERE kind = 'job' AND convert_from(body, 'UTF8')::jsonb ->> 'queue' = %(queue)s
             ORDER BY position
            """,
            queue=queue,
        )

    async def __call__(self):
        jobs = await self.asked(Thumbnails.queue)
        for job in jobs:
            await thumbnails.handle(self.server.app, Thumbnails(**job))
        return len(jobs)


@pytest.fixture
def work(server, make):
    return Work(server, make)


async def uploaded(client, name="photo.png", content=None):
    content = content or picture(size=(1680, 1000))
    return (await client.upload("/user_uploads", file=(name, content))).succeeded()["url"]


def small(url, end=WEBP):
    return url.replace("/user_uploads/", "/user_uploads/thumbnail/") + end


async def has_thumbnail(client, url):
    _, _, realm_id, name = url.split("/", 3)
    return (await client.get(f"/thumbnail/status/{realm_id}/{name}"))["has_thumbnail"]


async def sent(client, url):
    to = {"type": "channel", "to": "general", "topic": "pictures"}
    return (await client.post("/messages", **to, content=f"[photo]({url})"))["id"]


async def html(client, message):
    return (await client.get(f"/messages/{message}"))["message"]["content"]


async def test_a_message_waits_for_its_picture_and_then_shows_it(alice, bob, work):
    url = await uploaded(alice)
    queue = await bob.register(event_types=["message", "update_message"], apply_markdown=True)
    message = await sent(alice, url)
    waiting = (await queue.until("message"))["message"]["content"]
    assert 'class="image-loading-placeholder" data-original-content-type="image/png"' in waiting
    assert 'src="/static/images/loading/loader-black.svg"' in waiting
    assert (await bob.fetch("/static/images/loading/loader-black.svg")).headers[
        "Content-Type"
    ] == "image/svg+xml"
    assert (await bob.fetch(small(url))).status == 404

    assert await work() == 1
    told = await queue.until("update_message")
    assert told["rendering_only"]
    shown = told["rendered_content"]
    assert shown == await html(bob, message)
    facts = 'data-original-content-type="image/png" data-original-dimensions="1680x1000"'
    assert f"<img {facts} src=" in shown
    assert f'src="{small(url)}"' in shown
    assert f'<a href="{url}"' in shown
    got = await bob.fetch(small(url))
    assert got.headers["Content-Type"] == "image/webp"
    assert opened(got.content).size == (840, 500)
    again = await sent(alice, url)
    assert f'src="{small(url)}"' in await html(bob, again), "it is there by now"


async def test_a_picture_in_the_text_waits_too(alice, bob, work):
    url = await uploaded(alice)
    to = {"type": "channel", "to": "general", "topic": "pictures"}
    text = f'see ![a "plan"]({url}) here'
    queue = await bob.register(event_types=["message", "update_message"], apply_markdown=True)
    await alice.post("/messages", **to, content=text)
    waiting = (await queue.until("message"))["message"]["content"]
    kind = 'data-original-content-type="image/png"'
    start = f'<p>see <img alt="a &quot;plan&quot;" class="inline-image{{}}" {kind}'
    assert waiting.startswith(start.format(" image-loading-placeholder"))
    assert (
        f'data-original-src="{url}" src="/static/images/loading/loader-black.svg"> here' in waiting
    )
    assert not await has_thumbnail(bob, url)

    await work()
    shown = (await queue.until("update_message"))["rendered_content"]
    size = 'data-original-dimensions="1680x1000"'
    place = f'data-original-src="{url}" src="{small(url)}"> here</p>'
    assert shown == f"{start.format('')} {size} {place}"
    assert await has_thumbnail(bob, url)


async def test_a_lie_in_the_text_becomes_a_link(alice, work):
    url = await uploaded(alice, "lie.png", b"no picture at all")
    to = {"type": "channel", "to": "general", "topic": "pictures"}
    message = (await alice.post("/messages", **to, content=f"![my <lie>]({url})"))["id"]
    await work()
    assert await html(alice, message) == f'<p><a href="{url}">my &lt;lie&gt;</a></p>'
    assert not await has_thumbnail(alice, url)


@pytest.mark.parametrize("name", ["a.png", "a.wav", "a.mp4", "a"])
async def test_files_that_the_author_may_not_read_are_links(alice, bob, name):
    to = {"type": "channel", "to": "general", "topic": "pictures"}
    theirs, gone = await uploaded(alice, name, b"it"), f"/user_uploads/1/00/{'x' * 22}/{name}"
    for url in (theirs, gone, f"/user_uploads/{name}"):
        for text, shown in (
            (f"![<a>]({url}?x)", f'<a href="{url}?x">&lt;a&gt;</a>'),
            (f"[a]({url})", f'<a href="{url}">a</a>'),
        ):
            message = (await bob.post("/messages", **to, content=f"{text}\nb"))["id"]
            for found in (
                await html(alice, message),
                (await bob.post("/messages/render", content=f"{text}\nb"))["rendered"],
            ):
                assert found == f"<p>{shown}<br>\nb</p>"
    own = (await alice.post("/messages", **to, content=f"![a]({theirs})"))["id"]
    is_link = await html(bob, own) == f'<p><a href="{theirs}">a</a></p>'
    assert is_link == (name == "a")


async def test_what_browsers_cannot_display_has_a_large_thumbnail(alice, work):
    url = await uploaded(alice, "scan.tiff", picture("TIFF", size=(3000, 2000)))
    common = await uploaded(alice)
    await work()
    message = await html(alice, await sent(alice, url))
    assert 'data-transcoded-image="1920x1080.webp"' in message
    assert opened((await alice.fetch(small(url, "/1920x1080.webp"))).content).size == (1620, 1080)
    assert opened((await alice.fetch(small(url))).content).size == (840, 560)
    assert "transcoded" not in await html(alice, await sent(alice, common))
    nearest = await alice.fetch(small(common, "/1920x1080.webp"))
    assert opened(nearest.content).size == (840, 500)


async def test_it_is_seen_by_those_who_see_the_original(alice, bob, work, spectator):
    url = await uploaded(alice)
    await work()
    assert (await alice.fetch(small(url))).status == 200
    assert (await bob.fetch(small(url))).status == 404
    assert (await (await spectator()).fetch(small(url))).status == 401
    message = await sent(alice, url)
    assert (await bob.fetch(small(url))).status == 200
    _, _, realm_id, name = url.split("/", 3)
    for end, status in (("840x560.webp", 200), ("1x1.webp", 404)):
        got = await bob.fetch(f"/user_uploads/thumbnail/{realm_id}/{name}/{end}")
        assert got.status == status
    await alice.delete(f"/messages/{message}")
    assert (await bob.fetch(small(url))).status == 404


async def test_what_moves_moves_in_small_too(alice, work):
    url = await uploaded(alice, "film.gif", animation(size=(90, 60)))
    still = await uploaded(alice)
    await work()
    message = await html(alice, await sent(alice, url))
    assert 'data-animated="true"' in message
    assert f'src="{small(url, MOVING)}"' in message
    assert getattr(opened((await alice.fetch(small(url, MOVING))).content), "n_frames", 1) == 3
    assert getattr(opened((await alice.fetch(small(url))).content), "n_frames", 1) == 1
    assert (await alice.fetch(small(still, MOVING))).content == (
        await alice.fetch(small(still))
    ).content


@pytest.mark.parametrize("content", [b"no picture at all", bomb(60_000, 60_000)])
async def test_what_cannot_be_shown_stays_a_file(alice, work, content):
    url = await uploaded(alice, "lie.png", content)
    message = await sent(alice, url)
    await work()
    for shown in (message, await sent(alice, url)):
        assert "<img" not in await html(alice, shown)
        assert f'<a href="{url}">photo</a>' in await html(alice, shown)
    assert (await alice.fetch(small(url))).status == 404
    text = await uploaded(alice, "a.txt", b"text")
    assert await work() == 1
    assert (await alice.fetch(small(text))).status == 404


async def test_doing_it_again_changes_nothing(alice, work, make):
    url = await uploaded(alice)
    await sent(alice, url)
    await work()
    before = await make.position()
    await work()
    await make.connection.execute("UPDATE attachments SET width = NULL")
    await work()
    assert await make.position() == before
    assert (await alice.fetch(small(url))).status == 200


async def test_a_message_that_was_on_its_way_meanwhile_is_not_forgotten(
    alice, work, server, make, database
):
    url = await uploaded(alice)
    message = await sent(alice, url)
    # The pictures were made before the message was there, and after it had been written.
    [job] = await work.asked(Thumbnails.queue)
    await make.connection.execute(
        "UPDATE attachments SET width = 1680, height = 1000 WHERE attachment_id = %(id)s",
        id=job["attachment_id"],
    )
    kept = Kept()
    await thumbnails.ask_for_thumbnails(database, kept, make.realm_id, [message])
    assert len(kept.jobs) == 1
    await work()
    assert f'src="{small(url)}"' in await html(alice, message)
    await thumbnails.ask_for_thumbnails(database, kept, make.realm_id, [message])
    assert len(kept.jobs) == 1
    assert any(Thumbnails is processor.job for processor in PROCESSORS)


async def test_an_edit_asks_for_what_it_waits_for(alice, work, make):
    url = await uploaded(alice)
    to = {"type": "direct", "to": [alice.user.user_id]}
    message = (await alice.post("/messages", **to, content="nothing yet"))["id"]
    await alice.patch(f"/messages/{message}", content=f"[photo]({url})")
    assert "image-loading-placeholder" in await html(alice, message)
    assert await work() == 2
    assert f'src="{small(url)}"' in await html(alice, message)


async def test_small_ones_go_with_the_original(alice, work, server):
    url = await uploaded(alice)
    await work()
    root = server.app.settings.data_directory / "files"
    assert len([path for path in root.rglob("*") if path.is_file()]) == 2
    [listed] = (await alice.get("/attachments"))["attachments"]
    await alice.delete(f"/attachments/{listed['id']}")
    for job in await work.asked(BlobRemoval.queue):
        await blob_removals.handle(server.app, BlobRemoval(**job))
    assert [path for path in root.rglob("*") if path.is_file()] == []
    assert (await alice.fetch(small(url))).status == 404
