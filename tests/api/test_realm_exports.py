"""Administrators take the organization's data along, as a file that a worker makes."""

import io
import json
import zipfile
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from queue_processors import thumbnails
from queue_processors.blob_keeper import BlobKeeper
from queue_processors.deferred_work import handle
from server.actions.realm_exports import RETENTION, STEP, ExportArguments, give_export_up
from server.api.tus import CONTENT_TYPE
from server.domain.access import ADMINISTRATOR, OWNER
from server.domain.clock import SystemClock
from server.jobs import DeferredWork, Thumbnails
from testkit.clock import StoppedClock
from testkit.images import animation

pytestmark = pytest.mark.asyncio


@pytest.fixture
def clock():
    return StoppedClock(SystemClock().now())


@pytest_asyncio.fixture
async def olga(log_in):
    return await log_in(role=OWNER)


@pytest_asyncio.fixture
async def bob(log_in):
    return await log_in()


async def made(server, make, export_id):
    """What a worker does of it."""
    await handle(server.app, DeferredWork.of(make.realm_id, STEP, ExportArguments(export_id)))


async def give_up(server, make, export_id):
    """What a worker does that cannot make it."""
    now = server.app.clock.now()
    await server.app.realm_services(make.realm_id).write(
        lambda tx: give_export_up(tx, export_id, now=now)
    )


async def listed(client):
    return (await client.get("/export/realm"))["exports"]


def rows(content, table):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [json.loads(line) for line in archive.read(f"{table}.jsonl").splitlines()]


def files(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.startswith("files/")]
        return {name: archive.read(name) for name in names}


async def test_a_file_is_asked_for_made_fetched_and_taken_away(server, make, olga, bob, spectator):
    channel = await make.channel("general", subscribers=[olga.user, bob.user])
    to = {"type": "channel", "to": channel.channel_id, "topic": "t"}
    await olga.post("/messages", content="for all to read", **to)
    await olga.post("/messages", content="between us", type="direct", to=[bob.user.user_id])
    queue, other = await olga.register(), await bob.register(event_types=["realm_export"])

    export_id = (await olga.post("/export/realm"))["id"]
    [waiting] = await listed(olga)
    assert (waiting["pending"], waiting["export_url"], waiting["export_type"]) == (
        True,
        None,
        "public",
    )
    (await olga.call("POST", "/export/realm")).refused()
    (await olga.call("DELETE", f"/export/realm/{export_id}")).refused()
    for _ in range(2):
        await made(server, make, export_id)

    [there] = await listed(olga)
    assert (there["id"], there["pending"], there["acting_user_id"]) == (
        export_id,
        False,
        olga.user.user_id,
    )
    assert [e["exports"][0]["pending"] for e in await queue.poll() if e["type"] == "realm_export"]
    path = urlsplit(there["export_url"]).path
    got = await (await spectator()).fetch(path)
    assert got.headers["Content-Disposition"].startswith("attachment")
    assert [row["content"] for row in rows(got.content, "messages")] == ["for all to read"]

    await olga.delete(f"/export/realm/{export_id}")
    (await olga.call("DELETE", f"/export/realm/{export_id}")).refused()
    (await olga.call("DELETE", "/export/realm/0")).refused()
    [gone] = await listed(olga)
    assert (gone["export_url"], gone["deleted_timestamp"] is None) == (None, False)
    assert (await olga.fetch(path)).status == 404
    told = [event for event in await queue.poll() if event["type"] == "realm_export"]
    assert told[-1]["exports"] == [gone]
    await bob.post("/messages", content="x", **to)
    del other


async def test_who_allows_it_has_their_own_in_it(server, make, olga, bob):
    await make.channel("general", subscribers=[olga.user, bob.user])
    queue = await olga.register()
    await bob.patch("/settings", allow_private_data_export=True)
    event = await queue.until("realm_export_consent")
    assert (event["user_id"], event["consented"]) == (bob.user.user_id, True)
    consents = (await olga.get("/export/realm/consents"))["export_consents"]
    assert {each["user_id"]: each["consented"] for each in consents} == {
        olga.user.user_id: False,
        bob.user.user_id: True,
    }
    await olga.post("/messages", content="between us", type="direct", to=[bob.user.user_id])
    await olga.post("/messages", content="to myself", type="direct", to=[olga.user.user_id])
    export_id = (await olga.post("/export/realm", export_type="full_with_consent"))["id"]
    await made(server, make, export_id)
    [there] = await listed(olga)
    assert there["export_type"] == "full_with_consent"
    content = (await olga.fetch(urlsplit(there["export_url"]).path)).content
    assert [row["content"] for row in rows(content, "messages")] == ["between us"]
    assert {row["api_key"] for row in rows(content, "users")} == {None}


async def test_unfinished_uploads_are_not_exported(server, make, olga, bob):
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "9", "Content-Type": CONTENT_TYPE}
    begun = await bob.send("POST", "/tus", body=b"canary", headers=headers)
    assert begun.status == 201
    (await bob.upload("/user_uploads", file=("a.txt", b"canary"))).succeeded()
    for kind, count in (("public", 0), ("full_with_consent", 1)):
        if count:
            await bob.patch("/settings", allow_private_data_export=True)
        export_id = (await olga.post("/export/realm", export_type=kind))["id"]
        await made(server, make, export_id)
        there = (await listed(olga))[-1]
        content = (await olga.fetch(urlsplit(there["export_url"]).path)).content
        assert list(files(content).values()) == [b"canary"] * count


async def test_small_pictures_go_along_with_what_they_are_of(server, make, olga, bob):
    await make.channel("general", subscribers=[olga.user, bob.user])
    uploaded = await bob.upload("/user_uploads", file=("a.gif", animation()))
    to = {"type": "channel", "to": "general", "topic": "t"}
    await bob.post("/messages", **to, content=f"[a]({uploaded.succeeded()['url']})")
    [attachment_id] = await make.connection.values("SELECT attachment_id FROM attachments")
    job = Thumbnails(realm_id=make.realm_id, attachment_id=attachment_id)
    await thumbnails.handle(server.app, job)
    export_id = (await olga.post("/export/realm"))["id"]
    await made(server, make, export_id)
    [there] = await listed(olga)
    content = (await olga.fetch(urlsplit(there["export_url"]).path)).content
    ends = sorted(name.rpartition("/")[2][22:] for name in files(content))
    assert ends == ["", "-anim.webp", ".webp"]


async def test_only_administrators_and_only_what_there_is(log_in, olga, bob):
    admin = await log_in(role=ADMINISTRATOR)
    assert await listed(admin) == []
    guess = await admin.fetch("/exports/00/0123456789012345678901/organization.zip")
    assert guess.status == 404
    for method, path in (
        ("GET", "/export/realm"),
        ("POST", "/export/realm"),
        ("GET", "/export/realm/consents"),
        ("DELETE", "/export/realm/1"),
    ):
        (await bob.call(method, path)).refused()
    for kind in (0, 3, "", "everything"):
        answer = await olga.call("POST", "/export/realm", export_type=kind)
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "export_type"
    everything = await olga.call("POST", "/export/realm", export_type="full_without_consent")
    assert "consent" in everything.refused()["msg"]


@pytest.mark.parametrize(("asked", "name"), [(1, "public"), (2, "full_with_consent")])
async def test_kinds_have_names_and_may_be_asked_for_by_number(
    server, make, olga, asked, name
):  # 449
    for kind in (asked, name):
        queue = await olga.register(event_types=["realm_export"])
        export_id = (await olga.post("/export/realm", export_type=kind))["id"]
        [export] = [each for each in await listed(olga) if each["pending"]]
        assert (export["id"], export["export_type"]) == (export_id, name)
        assert (await queue.until("realm_export"))["exports"][-1] == export
        assert export["export_from_prior_server"] is False
        await give_up(server, make, export_id)


async def test_exports_of_another_server_are_only_listed(make, olga):  # 499, 506
    queue = await olga.register(event_types=["realm_export"])
    export_id = await make.connection.value(
        "INSERT INTO realm_exports"
        " (realm_id, export_type, acting_user_id, requested_at, from_prior_server)"
        " VALUES (%(realm_id)s, 2, %(user_id)s, now() - interval '1 year', true)"
        " RETURNING export_id",
        realm_id=make.realm_id,
        user_id=olga.user.user_id,
    )
    [there] = await listed(olga)
    expected = {"export_from_prior_server": True, "pending": False, "export_url": None}
    assert {name: there[name] for name in expected} == expected
    answer = await olga.call("DELETE", f"/export/realm/{export_id}")
    assert answer.refused()["msg"] == "Export already deleted"
    await olga.post("/export/realm")
    assert (await queue.until("realm_export"))["exports"][0] == there


async def test_it_ends_with_who_asked_for_it_and_after_a_week(server, make, olga, clock, log_in):
    admin = await log_in(role=ADMINISTRATOR)
    export_id = (await admin.post("/export/realm", export_type=1))["id"]
    await made(server, make, export_id)
    path = urlsplit((await listed(olga))[0]["export_url"]).path
    assert (await olga.fetch(path)).status == 200
    await olga.patch(f"/users/{admin.user.user_id}", role=400)
    assert (await olga.fetch(path)).status == 404
    await olga.patch(f"/users/{admin.user.user_id}", role=200)
    assert (await olga.fetch(path)).status == 404, "a former administrator knew it"
    path = urlsplit((await listed(olga))[0]["export_url"]).path
    assert (await olga.fetch(path)).status == 200

    keeper = BlobKeeper.of(server.app)
    await keeper.tidy()
    assert (await olga.fetch(path)).status == 200
    clock.advance(RETENTION + timedelta(hours=1))
    await keeper.tidy()
    assert (await olga.fetch(path)).status == 404
    [gone] = await listed(olga)
    assert gone["deleted_timestamp"] is not None
