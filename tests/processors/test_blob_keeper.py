"""Unused files are removed, and used ones stay."""

import asyncio
import os
from datetime import timedelta
from functools import partial
from urllib.parse import quote

import pytest
import pytest_asyncio

from queue_processors import blob_removals
from queue_processors.blob_keeper import MIN_ORPHAN_AGE, BlobKeeper
from server.actions.attachments import ORPHAN_RETENTION, delete_orphan
from server.domain.access import ADMINISTRATOR, OWNER
from server.domain.clock import SystemClock
from server.jobs import BlobRemoval
from server.messaging.background import running
from storage import attachments
from storage.blobs import new_key
from testkit.clock import StoppedClock
from testkit.database import until_blocked_on_lock
from testkit.images import picture

pytestmark = pytest.mark.asyncio
SOON = timedelta(minutes=1)


@pytest.fixture
def clock():
    return StoppedClock(SystemClock().now())


@pytest_asyncio.fixture
async def alice(log_in):
    return await log_in(role=OWNER)


@pytest_asyncio.fixture
async def keeper(server):
    return BlobKeeper.of(server.app)


def kept(server):
    root = server.app.settings.files
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


async def uploaded(alice):
    return (await alice.upload("/user_uploads", file=("a.txt", b"content"))).succeeded()["url"]


async def listed(alice):
    found = (await alice.get("/attachments"))["attachments"]
    return {f"/user_uploads/{each['path_id']}" for each in found}


async def test_what_was_never_in_a_message_goes_after_its_time(server, alice, keeper, clock):
    url = await uploaded(alice)
    clock.advance(ORPHAN_RETENTION - SOON)
    await keeper.tidy()
    assert await listed(alice) == {url}
    queue = await alice.register(event_types=["attachment"])
    clock.advance(2 * SOON)
    await keeper.tidy()
    assert await listed(alice) == set()
    assert (await queue.until("attachment", "remove"))["upload_space_used"] == 0


async def test_used_files_stay(server, alice, keeper, clock):
    urls = [await uploaded(alice) for _ in range(4)]
    to = {"type": "direct", "to": [alice.user.user_id]}
    message = (await alice.post("/messages", **to, content=f"[a]({urls[0]})"))["id"]
    later = int((clock.now() + 3 * ORPHAN_RETENTION).timestamp())
    await alice.post(
        "/scheduled_messages",
        **to,
        content=f"[a]({urls[1]})",
        scheduled_delivery_timestamp=later,
    )
    draft = {"type": "", "to": [], "topic": "", "content": f"[a]({urls[2]})"}
    await alice.post("/drafts", drafts=[draft])
    await alice.post("/saved_snippets", title="file", content=f"[a]({urls[3]})")
    clock.advance(ORPHAN_RETENTION + SOON)
    await keeper.tidy()
    assert await listed(alice) == set(urls)

    await alice.delete(f"/messages/{message}")
    await keeper.tidy()
    assert urls[0] in await listed(alice), "its days are counted from when it was let go"
    clock.advance(ORPHAN_RETENTION + SOON)
    await keeper.tidy()
    assert await listed(alice) == set(urls[1:])


async def test_an_address_with_escapes_is_an_address_too(server, alice, keeper, clock):
    answer = await alice.upload("/user_uploads", file=("Müll.txt", b"content"))
    url = answer.succeeded()["url"]
    escaped = quote(url)
    assert escaped != url
    draft = {"type": "", "to": [], "topic": "", "content": f"[a]({escaped})"}
    await alice.post("/drafts", drafts=[draft])
    clock.advance(ORPHAN_RETENTION + SOON)
    await keeper.tidy()
    assert await listed(alice) == {url}


async def test_a_message_that_comes_while_it_is_about_to_go_keeps_it(
    server, alice, clock, make, database
):
    url = await uploaded(alice)
    clock.advance(ORPHAN_RETENTION + SOON)
    before = clock.now() - ORPHAN_RETENTION
    [row] = await attachments.orphans(make.connection, make.realm_id, before=before, limit=9)
    services = server.app.realm_services(make.realm_id)
    async with database.transaction() as sending:
        await sending.execute(
            "SELECT FROM realm_clock WHERE realm_id = %(realm_id)s FOR UPDATE",
            realm_id=make.realm_id,
        )
        deleting = asyncio.create_task(
            services.write(partial(delete_orphan, row=row, before=before))
        )
        await until_blocked_on_lock(make.connection)
        await sending.execute(
            "INSERT INTO attachment_messages VALUES (%(realm_id)s, 1, %(attachment_id)s)",
            realm_id=make.realm_id,
            attachment_id=row.attachment_id,
        )
    verdict = await deleting
    assert verdict is not None
    assert verdict.result is False
    assert await listed(alice) == {url}


async def test_it_tidies_soon_after_the_start(server, alice, clock):
    queue = await alice.register(event_types=["attachment"])
    await uploaded(alice)
    clock.advance(ORPHAN_RETENTION + SOON)
    async with running(BlobKeeper.of(server.app, first_look_seconds=0.0).run()):
        await queue.until("attachment", "remove")
        async with asyncio.timeout(60):
            while kept(server):  # noqa: ASYNC110 - a folder has no callback
                await asyncio.sleep(0)


async def test_content_that_no_row_knows_goes_after_a_day(server, alice, keeper, clock, make):
    url = await uploaded(alice)
    known = "uploads/" + url.removeprefix("/user_uploads/").rpartition("/")[0]
    stray = await server.app.blobs.receive()
    await stray.write(b"stray")
    await stray.keep(new_key("uploads", make.realm_id))
    cut_off = await server.app.blobs.receive()
    await cut_off.write(b"cut off")
    assert len(kept(server)) == 3
    await keeper.tidy()
    assert len(kept(server)) == 3
    old = (clock.now() - MIN_ORPHAN_AGE - SOON).timestamp()
    root = server.app.settings.files
    for name in kept(server):
        os.utime(root / name, (old, old))
    await keeper.tidy()
    assert kept(server) == {known}
    assert (await alice.fetch(url)).content == b"content"
    await cut_off.discard()


async def test_pictures_of_the_organization_are_kept_in_all_sizes(
    server, log_in, keeper, clock, make
):
    boss = await log_in(role=ADMINISTRATOR)
    await boss.upload("/realm/icon", file=("icon.png", picture()))
    await boss.upload("/realm/logo", fields={"night": "false"}, file=("logo.png", picture()))
    known = kept(server)
    assert len(known) == 4
    stray = await server.app.blobs.receive()
    await stray.write(b"stray")
    await stray.keep(f"{new_key('icon', make.realm_id)}-large.png")
    old = (clock.now() - MIN_ORPHAN_AGE - SOON).timestamp()
    for name in kept(server):
        os.utime(server.app.settings.files / name, (old, old))
    await keeper.tidy()
    assert kept(server) == known
    await boss.delete("/realm/icon")
    await keeper.tidy()
    assert {name.split("/")[0] for name in kept(server)} == {"logo"}


async def test_content_is_removed_once_its_row_is_gone_however_often(server, alice, make):
    await uploaded(alice)
    [key] = kept(server)
    job = BlobRemoval(realm_id=make.realm_id, keys=(key,))
    for _ in range(2):
        await blob_removals.handle(server.app, job)
        assert kept(server) == set()
