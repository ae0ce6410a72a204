"""Uploads that are cut off and go on, as tus has them."""

import asyncio
from base64 import b64encode
from contextlib import suppress
from datetime import timedelta
from io import BytesIO

import pytest
from tusclient.client import TusClient
from tusclient.exceptions import TusCommunicationError, TusUploadFailed

from queue_processors.blob_keeper import MIN_ORPHAN_AGE, BlobKeeper
from server.api.resumable import MAX_UNFINISHED, PART_BYTES, UPLOAD_TIMEOUT
from server.api.tus import CONTENT_TYPE
from server.domain.attachments import MIB
from testkit.clients.api import basic, multipart
from testkit.clients.page_client import PASSWORD
from testkit.clients.server import serve
from testkit.clock import StoppedClock
from testkit.factories import new_realm
from testkit.images import picture
from testkit.oracles import openapi

pytestmark = pytest.mark.asyncio

TUS = "/tus"
CONTENT = bytes(number % 251 for number in range(300_000))
SIZE = len(CONTENT)


def metadata(**fields):
    return ",".join(f"{name} {b64encode(text.encode()).decode()}" for name, text in fields.items())


async def ask(client, method, path, body=None, **headers):
    sent = {"Tus-Resumable": "1.0.0"} | {
        name.replace("_", "-"): str(value) for name, value in headers.items()
    }
    if body is not None:
        sent["Content-Type"] = CONTENT_TYPE
    answer = await client.send(method, path, body=body, headers=sent)
    if answer.content:
        openapi.validate(method, path, answer.status, answer.body)
    return answer


async def begun(client, size=SIZE, name="film.mp4", **more):
    answer = await ask(
        client,
        "POST",
        TUS,
        upload_length=size,
        upload_metadata=metadata(filename=name, filetype="video/mp4"),
        **more,
    )
    assert answer.status == 201, answer.content
    return answer.headers["Location"].removeprefix("/api/v1")


async def go_on(client, path, at, content):
    return await ask(client, "PATCH", path, content, upload_offset=at)


async def offset(client, path):
    answer = await ask(client, "HEAD", path)
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "no-store"
    return int(answer.headers["Upload-Offset"])


def kept(server):
    root = server.app.settings.data_directory / "files"
    return [path for path in root.rglob("*") if path.is_file()]


async def test_a_server_says_what_it_can(alice, spectator):
    anonymous = await spectator()
    answer = await anonymous.send("OPTIONS", "/tus")
    assert answer.status == 204
    assert answer.headers["Tus-Version"] == "1.0.0"
    assert answer.headers["Tus-Max-Size"] == str(25 * MIB)
    assert {"creation", "termination", "expiration"} <= {
        *answer.headers["Tus-Extension"].split(",")
    }
    refused = await alice.send("POST", "/tus", headers={"Upload-Length": "1"})
    assert (refused.status, refused.headers["Tus-Version"]) == (412, "1.0.0")
    assert (await ask(anonymous, "POST", TUS, upload_length=1)).status == 401


async def test_what_comes_in_pieces_is_whole_at_the_end(alice, bob, server):
    queue = await alice.register(event_types=["attachment"])
    path = await begun(alice)
    at = 0
    for size in (1, 100_000, 0, 150_000):
        answer = await go_on(alice, path, at, CONTENT[at : at + size])
        at += size
        assert (answer.status, answer.content) == (204, b"")
        assert answer.headers["Upload-Offset"] == str(at)
        assert await offset(alice, path) == at
    last = await go_on(alice, path, at, CONTENT[at:])
    body = last.succeeded()
    assert body["filename"] == "film.mp4"
    got = await alice.fetch(body["url"])
    assert (got.content, got.headers["Content-Type"]) == (CONTENT, "video/mp4")
    added = (await queue.until("attachment", "add"))["attachment"]
    assert (added["size"], f"/user_uploads/{added['path_id']}") == (len(CONTENT), body["url"])
    assert await offset(alice, path) == len(CONTENT)
    assert (await go_on(alice, path, len(CONTENT), b"")).succeeded()["url"] == body["url"]
    assert len((await alice.get("/attachments"))["attachments"]) == 1
    assert len(kept(server)) == 1, "the parts are gone"
    assert (await bob.fetch(body["url"])).status == 404


async def test_content_may_come_with_the_beginning(alice):
    answer = await ask(
        alice, "POST", TUS, CONTENT, upload_length=len(CONTENT), upload_metadata=metadata(name="a")
    )
    assert answer.status == 201
    assert (await alice.fetch(answer.body["url"])).content == CONTENT
    empty = await ask(alice, "POST", TUS, upload_length=0)
    assert (empty.status, empty.body["filename"]) == (201, "uploaded-file")


async def test_what_does_not_fit_is_refused_and_changes_nothing(alice, bob):
    path = await begun(alice, 10)
    (await go_on(alice, path, 0, b"12345"))
    for at in (0, 4, 6):
        assert (await go_on(alice, path, at, b"x")).status == 409
    assert (await go_on(alice, path, 5, b"too much")).status == 400
    assert (await ask(alice, "PATCH", path, b"x", upload_offset="-1")).status == 400
    other = {"Tus-Resumable": "1.0.0", "Upload-Offset": "5", "Content-Type": "text/plain"}
    assert (await alice.send("PATCH", path, body=b"x", headers=other)).status == 415
    for client, where in ((bob, path), (alice, "/tus/none"), (alice, "/tus/..%2f..")):
        for method in ("HEAD", "DELETE"):
            assert (await ask(client, method, where)).status == 404
        assert (await go_on(client, where, 5, b"x")).status == 404
    assert await offset(alice, path) == 5
    for bad in ("", "x", "-1", "1" * 30):
        assert (await ask(alice, "POST", TUS, upload_length=bad)).status == 400
    wrong = await ask(alice, "POST", TUS, upload_length=1, upload_metadata="filename %%%")
    assert wrong.status == 400


@pytest.mark.parametrize(
    ("given", "kept_as"),
    [
        ("../../../etc/passwd", "passwd"),
        ("..\\..\\windows.ini", "windows.ini"),
        ("a\0b\r\nSet-Cookie: x=1.txt", "abSet-Cookie: x=1.txt"),
        ("x" * 300 + ".txt", "x" * 146 + ".txt"),
        ("", "uploaded-file"),
    ],
)
async def test_names_lead_nowhere_and_bring_nothing(alice, server, given, kept_as):
    answer = await ask(
        alice, "POST", TUS, b"x", upload_length=1, upload_metadata=metadata(filename=given)
    )
    assert (answer.status, answer.body["filename"]) == (201, kept_as)
    got = await alice.fetch(answer.body["url"])
    assert (got.content, "Set-Cookie" in got.headers) == (b"x", False)
    assert [len(path.name) for path in kept(server)] == [22]


@pytest.mark.parametrize(
    ("garbage", "status"),
    [("filename 2Q==", 400), ("filename !", 400), ("filename", 201), (",,,", 201), (" ", 201)],
)
async def test_metadata_that_say_nothing_are_refused_or_passed_over(alice, garbage, status):
    answer = await ask(alice, "POST", TUS, b"x", upload_length=1, upload_metadata=garbage)
    assert answer.status == status


@pytest.mark.parametrize("method", ["POST", "HEAD", "PATCH", "DELETE"])
async def test_who_speaks_no_version_or_another_is_told_ours(alice, method):
    path = TUS if method == "POST" else await begun(alice)
    for headers in ({}, {"Tus-Resumable": "0.2.2"}, {"Tus-Resumable": ""}):
        answer = await alice.send(method, path, headers=headers)
        assert (answer.status, answer.headers["Tus-Version"]) == (412, "1.0.0")
        assert answer.headers["Tus-Resumable"] == "1.0.0"


@pytest.mark.parametrize("path", [TUS, "/user_uploads", "/users/me/avatar"])
async def test_a_session_uploads_nothing_without_its_token(visitor, ada, server, path):
    browser = await visitor()
    await browser.sign_in(ada.email, PASSWORD)
    kind, body = multipart({}, {"file": ("a.png", picture())})
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(len(body)), "Content-Type": kind}
    if path == TUS:
        headers["Content-Type"] = CONTENT_TYPE
    place = f"/api/v1{path}"
    answer = await browser.send("POST", place, body=body, headers=headers)
    answer.refused("CSRF_FAILED", 403)
    assert kept(server) == []
    headers["X-CSRFToken"] = browser.cookies["csrftoken"]
    assert (await browser.send("POST", place, body=body, headers=headers)).status in (200, 201)


async def test_limits_hold_from_the_beginning(serving_with, connect, make):
    async with serving_with(max_file_upload_mib=1) as server:
        alice, bob = [await connect(server, make.realm_id, await make.user()) for _ in range(2)]
        assert (await ask(alice, "POST", TUS, upload_length=MIB + 1)).status == 413
        await make.change_settings(upload_quota_mib=1)
        server.forget(make.realm_id)
        first, second = await begun(alice, MIB), await begun(bob, MIB)
        beyond = await ask(alice, "POST", TUS, upload_length=1)
        beyond.refused("REALM_UPLOAD_QUOTA")
        (await go_on(alice, first, 0, bytes(MIB))).succeeded()
        (await go_on(bob, second, 0, bytes(MIB))).refused("REALM_UPLOAD_QUOTA")
        assert (await ask(bob, "HEAD", second)).status == 404
        assert len(kept(server)) == 1
        full = await ask(alice, "POST", TUS, upload_length=1)
        full.refused("REALM_UPLOAD_QUOTA")
        await make.change_settings(upload_quota_mib=None)
        server.forget(make.realm_id)
        for _ in range(MAX_UNFINISHED):
            await begun(alice, 1)
        assert (await ask(alice, "POST", TUS, upload_length=1)).status == 400


async def test_it_may_be_given_up(alice, server):
    upload = (await begun(alice)).rpartition("/")[2]
    headers = {"Tus-Resumable": "1.0.0", "Upload-Offset": "0", "Content-Type": CONTENT_TYPE}
    sent = await alice.send("PATCH", f"/tus/{upload}", body=b"begun", headers=headers)
    assert (sent.status, len(kept(server))) == (204, 1)
    assert (await alice.send("HEAD", f"/tus/{upload}", headers=headers)).status == 200
    assert (await alice.send("DELETE", f"/tus/{upload}", headers=headers)).status == 204
    assert kept(server) == []
    assert (await alice.send("HEAD", f"/tus/{upload}", headers=headers)).status == 404


async def test_what_waits_too_long_goes(serving_with, connect, make):
    clock = StoppedClock()
    async with serving_with(clock=clock) as server:
        alice = await connect(server, make.realm_id, await make.user())
        path = await begun(alice)
        answer = await go_on(alice, path, 0, CONTENT[:100])
        assert answer.headers["Upload-Expires"].endswith(" GMT")
        clock.advance(UPLOAD_TIMEOUT - timedelta(minutes=1))
        keeper = BlobKeeper.of(server.app)
        await keeper.tidy()
        assert await offset(alice, path) == 100
        await go_on(alice, path, 100, CONTENT[100:200])
        clock.advance(UPLOAD_TIMEOUT - timedelta(minutes=1))
        assert await offset(alice, path) == 200
        clock.advance(timedelta(minutes=2) + MIN_ORPHAN_AGE)
        assert (await ask(alice, "HEAD", path)).status == 404
        await make.change_settings(upload_quota_mib=1)
        server.forget(make.realm_id)
        await begun(alice, MIB)  # what has waited too long counts no more
        await keeper.tidy()
        rows = await make.connection.values("SELECT 1 FROM upload_parts")
        assert rows == []


async def cut_off(server, client, path, at, content, announced):
    """Send less than was announced, and be gone."""
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = "\r\n".join(
        [
            f"PATCH /api/v1{path} HTTP/1.1",
            f"Host: {client.host}",
            f"Authorization: {basic(client.email, client.api_key)}",
            "Tus-Resumable: 1.0.0",
            f"Content-Type: {CONTENT_TYPE}",
            f"Upload-Offset: {at}",
            f"Content-Length: {announced}",
        ]
    )
    writer.write(f"{head}\r\n\r\n".encode() + content)
    await writer.drain()
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def test_what_had_come_when_the_line_broke_is_there(alice, server):
    path = await begun(alice)
    await cut_off(server, alice, path, 0, CONTENT[:100_000], len(CONTENT))
    async with asyncio.timeout(60):
        while not (at := await offset(alice, path)):  # noqa: ASYNC110 - there is no callback
            await asyncio.sleep(0)
    assert at <= 100_000
    body = (await go_on(alice, path, at, CONTENT[at:])).succeeded()
    assert (await alice.fetch(body["url"])).content == CONTENT


async def test_two_who_send_the_same_do_not_spoil_it(alice):
    path = await begun(alice)
    answers = await asyncio.gather(*(go_on(alice, path, 0, CONTENT) for _ in range(4)))
    statuses = sorted(answer.status for answer in answers)
    assert statuses[0] == 200
    assert set(statuses[1:]) <= {200, 409}
    assert len((await alice.get("/attachments"))["attachments"]) == 1


async def test_an_unfinished_assembly_is_completed_when_read(alice, make, server):
    path = await begun(alice, 100)
    await go_on(alice, path, 0, CONTENT[:99])
    # The server ended between the last part and the answer.
    await make.connection.execute("UPDATE resumable_uploads SET size = 99")
    assert await offset(alice, path) == 99
    [listed] = (await alice.get("/attachments"))["attachments"]
    assert (await alice.fetch(f"/user_uploads/{listed['path_id']}")).content == CONTENT[:99]


async def test_another_organization_has_none_of_it(alice, make, connect, server):
    path = await begun(alice)
    elsewhere = await new_realm(make.connection)
    stranger = await connect(server, elsewhere.realm_id, await elsewhere.user())
    assert (await ask(stranger, "HEAD", path)).status == 404


# -- a client of others


LARGE = bytes(range(251)) * (3 * PART_BYTES // 251)


def client_of(server, host, client):
    headers = {"Authorization": basic(client.email, client.api_key), "Host": host}
    return TusClient(f"http://127.0.0.1:{server.port}/api/v1/tus", headers=headers)


async def test_a_client_goes_on_after_the_server_was_another(database_url, make, connect, tmp_path):
    file = BytesIO(LARGE)
    data = tmp_path / "data"
    async with serve(database_url, data=data) as server:
        alice = await connect(server, make.realm_id, await make.user())
        uploader = client_of(server, alice.host, alice).uploader(
            file_stream=file, chunk_size=5 * MIB, metadata={"filename": "large.bin"}
        )
        await asyncio.to_thread(uploader.upload, stop_at=12 * MIB)
        path = uploader.url.partition("/api/v1")[2]
    async with serve(database_url, data=data) as server:
        alice = await connect(server, make.realm_id, alice.user)
        with pytest.raises((TusCommunicationError, TusUploadFailed)):
            await asyncio.to_thread(uploader.upload_chunk)
        again = await asyncio.to_thread(
            client_of(server, alice.host, alice).uploader,
            file_stream=file,
            url=f"{server.url}/api/v1{path}",
            chunk_size=5 * MIB,
        )
        assert again.offset == 12 * MIB
        await asyncio.to_thread(again.upload)
        [listed] = (await alice.get("/attachments"))["attachments"]
        assert (listed["name"], listed["size"]) == ("large.bin", len(LARGE))
        got = await alice.fetch(f"/user_uploads/{listed['path_id']}")
        assert got.content == LARGE
