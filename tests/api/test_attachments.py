"""Files: uploaded, shared by messages, read by those messages' readers, and deleted."""

import asyncio
from datetime import timedelta
from urllib.parse import unquote

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from storage.blobs import CHUNK_BYTES
from testkit.clients.api import basic, multipart
from testkit.clients.commands import run
from testkit.clock import StoppedClock
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

UPLOADS = "/user_uploads"
TEXT = b"What is to be read.\n" * 10_000
MIB = 1024 * 1024
SHOWN_MESSAGES = 100
"""How many of the messages that hold a file its owner is told of."""


async def uploaded(client, name="notes.txt", content=TEXT):
    return (await client.upload(UPLOADS, file=(name, content))).succeeded()["url"]


async def sent(client, content, **fields):
    message = {"type": "channel", "to": "general", "topic": "files", **fields}
    return (await client.post("/messages", content=content, **message))["id"]


def link(url):
    return f"[a file]({url})"


async def status(client, url):
    return (await client.fetch(url)).status


@pytest_asyncio.fixture
async def carol(log_in):
    """She is in no channel."""
    return await log_in()


async def test_what_was_uploaded_comes_back(alice):
    answer = await alice.upload(UPLOADS, file=("notes.txt", TEXT))
    body = answer.succeeded()
    assert body["filename"] == "notes.txt"
    assert body["uri"] == body["url"]

    got = await alice.fetch(body["url"])
    assert (got.status, got.content) == (200, TEXT)
    assert got.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert got.headers["Content-Disposition"].startswith("inline;")
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert got.headers["Content-Security-Policy"].startswith("sandbox;")
    head = await alice.fetch(body["url"], method="HEAD")
    assert (head.status, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(TEXT))


async def test_it_is_the_uploaders_alone_until_a_message_holds_it(alice, bob, carol):
    url = await uploaded(alice)
    assert [await status(client, url) for client in (alice, bob, carol)] == [200, 404, 404]
    await sent(alice, f"[notes]({url})")
    assert [await status(client, url) for client in (alice, bob, carol)] == [200, 200, 200]
    # The channel is public: Carol may read it, though she is not subscribed.


async def test_access_follows_the_message(alice, bob, carol, make, log_in):
    guest = await log_in(role=GUEST)
    await make.channel("secret", subscribers=[alice.user], invite_only=True, shares_history=True)
    url = await uploaded(alice)
    message = await sent(alice, link(url), to="secret")
    clients = (alice, bob, carol, guest)
    assert [await status(client, url) for client in clients] == [200, 404, 404, 404]

    await alice.post(
        "/users/me/subscriptions",
        subscriptions=[{"name": "secret"}],
        principals=[guest.user.user_id],
    )
    assert [await status(client, url) for client in clients] == [200, 404, 404, 200]
    general = (await alice.get("/get_stream_id", stream="general"))["stream_id"]
    await alice.patch(f"/messages/{message}", stream_id=general)
    assert [await status(client, url) for client in clients] == [200, 200, 200, 404]
    await alice.delete(f"/messages/{message}")
    assert [await status(client, url) for client in clients] == [200, 404, 404, 404]


async def test_a_direct_message_shares_with_its_people(alice, bob, carol):
    url = await uploaded(alice)
    await sent(alice, f"[for you]({url})", type="direct", to=[bob.user.user_id], topic=None)
    assert [await status(client, url) for client in (alice, bob, carol)] == [200, 200, 404]


async def test_an_address_alone_shares_nothing(alice, bob, carol):
    url = await uploaded(alice)
    to_carol = {"type": "direct", "to": [carol.user.user_id], "topic": None}
    await sent(bob, link(url), **to_carol)
    assert [await status(client, url) for client in (bob, carol)] == [404, 404]

    message = await sent(alice, link(url), type="direct", to=[bob.user.user_id], topic=None)
    await sent(bob, link(url), **to_carol)
    assert [await status(client, url) for client in (bob, carol)] == [200, 200]
    own = await sent(bob, link(url), type="direct", to=[bob.user.user_id], topic=None)
    await bob.delete(f"/messages/{own}")
    assert message


async def test_who_could_read_it_once_cannot_share_it_any_more(alice, bob, make):
    await make.channel("secret", subscribers=[alice.user, bob.user], invite_only=True)
    url = await uploaded(alice)
    await sent(alice, link(url), to="secret")
    await bob.delete("/users/me/subscriptions", subscriptions=["secret"])
    await sent(bob, link(url), type="direct", to=[bob.user.user_id], topic=None)
    assert await status(bob, url) == 404


async def test_edits_share_and_take_back(alice, bob):
    url, other = await uploaded(alice), await uploaded(alice, "other.txt")
    message = await sent(alice, "nothing yet")
    done = await alice.patch(f"/messages/{message}", content=f"[a]({url}) [b]({other})")
    assert done["detached_uploads"] == []
    assert [await status(bob, each) for each in (url, other)] == [200, 200]
    done = await alice.patch(f"/messages/{message}", content=f"[a]({url})")
    assert [f"/user_uploads/{each['path_id']}" for each in done["detached_uploads"]] == [other]
    assert [await status(bob, each) for each in (url, other)] == [200, 404]
    again = await sent(alice, link(url))
    done = await alice.patch(f"/messages/{message}", content="nothing again")
    assert done["detached_uploads"] == []
    assert await status(bob, url) == 200
    await alice.delete(f"/messages/{again}")
    assert await status(bob, url) == 404


async def test_only_the_owner_is_told(alice, bob):
    queue = await alice.register(event_types=["attachment"])
    others = await bob.register(event_types=["attachment"])
    url = await uploaded(alice)
    added = await queue.until("attachment", "add")
    [listed] = (await alice.get("/attachments"))["attachments"]
    assert added["attachment"] == listed
    assert listed["name"] == "notes.txt"
    assert f"/user_uploads/{listed['path_id']}" == url
    assert (listed["size"], added["upload_space_used"]) == (len(TEXT), len(TEXT))

    message = await sent(alice, link(url))
    told = (await queue.until("attachment", "update"))["attachment"]
    assert [each["id"] for each in told["messages"]] == [message]
    assert (await alice.get("/attachments"))["attachments"] == [told]
    await alice.delete(f"/messages/{message}")
    assert (await queue.until("attachment", "update"))["attachment"]["messages"] == []

    await alice.delete(f"/attachments/{listed['id']}")
    gone = await queue.until("attachment", "remove")
    assert gone["attachment"] == {"id": listed["id"]}
    assert gone["upload_space_used"] == 0
    assert (await alice.get("/attachments")) | {"attachments": [], "upload_space_used": 0} == (
        await alice.get("/attachments")
    )
    assert await others.poll(dont_block=True) == []
    assert await status(alice, url) == 404


async def test_very_many_messages_may_hold_it(alice, bob):
    url = await uploaded(alice)
    to_self = {"type": "direct", "to": [alice.user.user_id], "topic": None}
    await sent(alice, link(url), type="direct", to=[bob.user.user_id], topic=None)
    queue = await alice.register(event_types=["attachment"])
    ids = [await sent(alice, link(url), **to_self) for _ in range(SHOWN_MESSAGES + 1)]
    events = [await queue.until("attachment", "update") for _ in ids]
    [listed] = (await alice.get("/attachments"))["attachments"]
    assert [each["id"] for each in listed["messages"]] == ids[1:]
    assert events[-1]["attachment"] == listed
    assert await status(bob, url) == 200, "the oldest of them shows it to him"


async def test_one_deletes_only_what_is_ones_own(alice, bob):
    url = await uploaded(alice)
    await sent(alice, link(url))
    [listed] = (await alice.get("/attachments"))["attachments"]
    (await bob.call("DELETE", f"/attachments/{listed['id']}")).refused()
    assert (await bob.get("/attachments"))["attachments"] == []
    await alice.delete(f"/attachments/{listed['id']}")
    (await alice.call("DELETE", f"/attachments/{listed['id']}")).refused()
    assert [await status(client, url) for client in (alice, bob)] == [404, 404]
    assert await sent(alice, link(url))


async def test_exactly_one_file(alice):
    two = {"a": ("a.txt", b"a"), "b": ("b.txt", b"b")}
    (await alice.upload(UPLOADS, **two)).refused()
    (await alice.upload(UPLOADS, fields={"file": "just text"})).refused()
    (await alice.call("POST", UPLOADS)).refused()
    (await alice.upload(UPLOADS, file=("empty.txt", b""))).succeeded()


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, MIB])
async def test_any_size_comes_back(alice, size):
    content = bytes(number % 251 for number in range(size))
    url = await uploaded(alice, "data.bin", content)
    got = await alice.fetch(url)
    assert got.content == content
    assert got.headers["Content-Type"] == "application/octet-stream"
    assert got.headers["Content-Disposition"].startswith("attachment;")


async def test_a_body_in_chunks_is_taken_and_one_that_stops_leaves_nothing(alice, server):
    content_type, body = multipart({}, {"file": ("a.txt", b"content")})
    head = "\r\n".join(
        [
            "POST /api/v1/user_uploads HTTP/1.1",
            f"Host: {alice.host}",
            f"Authorization: {basic(alice.email, alice.api_key)}",
            f"Content-Type: {content_type}",
            "Transfer-Encoding: chunked",
            "Connection: close",
        ]
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"{head}\r\n\r\n".encode())
    for at in range(0, len(body), 10):
        piece = body[at : at + 10]
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    writer.write(b"0\r\n\r\n")
    assert b'"result":"success"' in await reader.read()
    writer.close()

    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"{head}\r\n\r\n{len(body):x}\r\n".encode() + body[:-20])
    incoming = server.app.settings.data_directory / "files" / "incoming"
    async with asyncio.timeout(60):
        while not list(incoming.iterdir()):  # noqa: ASYNC110 - a folder has no callback
            await asyncio.sleep(0)
        writer.close()
        while list(incoming.iterdir()):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)


async def test_what_is_too_large_is_refused_and_leaves_nothing(serving_with, connect, make):
    async with serving_with(max_file_upload_mib=1) as server:
        client = await connect(server, make.realm_id, await make.user())
        root = server.app.settings.data_directory
        for size in (MIB + 1, 3 * MIB):
            refused = (await client.upload(UPLOADS, file=("big.bin", bytes(size)))).refused()
            assert "1 MiB" in refused["msg"]
        assert [path for path in root.rglob("*") if path.is_file()] == []
        (await client.upload(UPLOADS, file=("fits.bin", bytes(MIB)))).succeeded()
        assert (await client.register(fetch_event_types=["realm"])).state[
            "max_file_upload_size_mib"
        ] == 1


async def test_a_quota_is_kept(alice, make, server):
    realm = (await server.app.realm_caches.of(make.realm_id).realm()).subdomain
    quota = ("realm", "quota", "--realm", realm)
    assert (await run(server, *quota, "--mib", "1")).endswith("may upload up to 1 MiB.\n")
    assert (await run(server, *quota, "--mib", "1")).endswith("up to 1 MiB, as before.\n")
    assert (await alice.register(fetch_event_types=["realm"])).state["realm_upload_quota_mib"] == 1
    await uploaded(alice, "most.bin", bytes(MIB - 100))
    full = await alice.upload(UPLOADS, file=("more.bin", bytes(101)))
    full.refused("REALM_UPLOAD_QUOTA")
    await uploaded(alice, "rest.bin", bytes(100))
    used = await alice.get("/attachments")
    assert used["upload_space_used"] == MIB
    await alice.delete(f"/attachments/{used['attachments'][0]['id']}")
    await uploaded(alice, "again.bin", bytes(100))
    await run(server, *quota, "--none")
    await uploaded(alice, "large.bin", bytes(MIB))


async def test_strangers_are_refused_before_they_send(spectator, server):
    anonymous = await spectator()
    (await anonymous.upload(UPLOADS, file=("a.bin", bytes(3 * MIB)))).refused("UNAUTHORIZED", 401)
    assert not (server.app.settings.data_directory / "files").exists()


async def test_ranges_and_what_is_known_already(alice):
    url = await uploaded(alice, "film.mp4", bytes(range(256)))
    whole = await alice.fetch(url)
    assert whole.headers["Accept-Ranges"] == "bytes"
    etag = whole.headers["ETag"]
    for asked, given, where in (
        ("bytes=0-9", bytes(range(10)), "bytes 0-9/256"),
        ("bytes=250-", bytes(range(250, 256)), "bytes 250-255/256"),
        ("bytes=-6", bytes(range(250, 256)), "bytes 250-255/256"),
        ("bytes=250-999", bytes(range(250, 256)), "bytes 250-255/256"),
    ):
        part = await alice.fetch(url, headers={"Range": asked, "If-Range": etag})
        assert (part.status, part.content) == (206, given)
        assert part.headers["Content-Range"] == where
    for asked in ("bytes=5-1", "bytes=0-1,5-6", "lines=1-2", "bytes=-"):
        assert (await alice.fetch(url, headers={"Range": asked})).status == 200
    changed = await alice.fetch(url, headers={"Range": "bytes=0-9", "If-Range": '"old"'})
    assert (changed.status, len(changed.content)) == (200, 256)
    beyond = await alice.fetch(url, headers={"Range": "bytes=256-"})
    assert (beyond.status, beyond.headers["Content-Range"]) == (416, "bytes */256")
    known = await alice.fetch(url, headers={"If-None-Match": f'"x", W/{etag}'})
    assert (known.status, known.content) == (304, b"")


# -- links for a minute


async def test_a_temporary_link_needs_no_credentials_and_ends(serving_with, connect, make):
    clock = StoppedClock()
    async with serving_with(clock=clock) as server:
        alice = await connect(server, make.realm_id, await make.user())
        anonymous = await connect(server, make.realm_id)
        url = await uploaded(alice)
        (await alice.call("GET", "/user_uploads/1/x")).refused(status=404)
        short = (await alice.get(url))["url"]
        assert short.startswith("/user_uploads/temporary/")
        assert (await anonymous.fetch(short)).content == TEXT
        assert (await anonymous.fetch(url)).status == 401
        token = short.split("/")[3]
        for forged in (token[:-2] + ("AA" if token[-2:] != "AA" else "BB"), token[2:], "x"):
            assert (await anonymous.fetch(f"/user_uploads/temporary/{forged}/a.txt")).status == 400
        clock.advance(timedelta(seconds=61))
        assert (await anonymous.fetch(short)).status == 400


async def test_a_temporary_link_is_worth_what_its_owner_may(alice, bob, make, connect, server):
    url = await uploaded(alice)
    message = await sent(alice, link(url))
    short = (await bob.get(url))["url"]
    elsewhere = await connect(server, (await new_realm(make.connection)).realm_id)
    assert (await elsewhere.fetch(short)).status == 400
    assert await status(bob, short) == 200
    await alice.delete(f"/messages/{message}")
    assert await status(bob, short) == 404


async def test_spectators_read_what_is_public_to_the_web(serving_with, connect, make):
    await make.change_settings(enable_spectator_access=True)
    async with serving_with(web_public_channels=True) as server:
        user = await make.user()
        await make.channel("web", subscribers=[user], is_web_public=True)
        await make.channel("general", subscribers=[user])
        alice, anonymous = (
            await connect(server, make.realm_id, user),
            await connect(server, make.realm_id),
        )
        shown, hidden = await uploaded(alice), await uploaded(alice)
        await sent(alice, link(shown), to="web")
        await sent(alice, link(hidden))
        assert (await anonymous.fetch(shown)).content == TEXT
        short = (await anonymous.get(shown))["url"]
        assert (await anonymous.fetch(short)).content == TEXT
        assert await status(anonymous, hidden) == 404
        (await anonymous.call("GET", hidden)).refused(status=404)


# -- what should not be


async def test_another_organizations_file_does_not_exist(alice, make, connect, server):
    elsewhere = await new_realm(make.connection)
    stranger = await connect(server, elsewhere.realm_id, await elsewhere.user())
    url = await uploaded(stranger)
    await elsewhere.notification_bot()
    await sent(alice, f"[mine]({url})")
    assert await status(alice, url) == 404
    (await alice.call("GET", url)).refused(status=404)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\plan.txt", "plan.txt"),
        ("..", "uploaded-file"),
        (".htaccess", "htaccess"),
        ("a\u202etxt.exe", "atxt.exe"),
        ("Ärger 100% (neu).pdf", "Ärger 100% (neu).pdf"),
        ("名前.png", "名前.png"),
        ("x" * 300 + ".txt", "x" * 146 + ".txt"),
        ("a\x00b.txt", "ab.txt"),
    ],
)
async def test_names_cannot_lead_elsewhere(alice, server, given, kept):
    content_type, body = multipart({}, {"file": ("NAME", b"content")})
    body = body.replace(b"NAME", given.encode().replace(b"\\", b"\\\\"))
    answer = await alice.send("POST", UPLOADS, body=body, headers={"Content-Type": content_type})
    assert answer.succeeded()["filename"] == kept
    url = answer.body["url"]
    assert ".." not in url
    assert (await alice.fetch(url)).content == b"content"
    root = server.app.settings.data_directory
    names = {path.name for path in root.rglob("*") if path.is_file()}
    assert all(len(name) == 22 for name in names)


async def test_names_cannot_bring_headers(alice):
    name = 'a"\r\nSet-Cookie: x=1\r\n\r\n<script>.html'
    content_type, body = multipart({}, {"file": ("NAME", b"<script>alert(1)</script>")})
    quoted = name.replace('"', "%22").replace("\r\n", "%0D%0A").encode()
    for raw in (quoted, name.replace('"', '\\"').replace("\r\n", "\\r\\n").encode()):
        answer = await alice.send(
            "POST", UPLOADS, body=body.replace(b"NAME", raw), headers={"Content-Type": content_type}
        )
        got = await alice.fetch(answer.succeeded()["url"])
        assert "Set-Cookie" not in got.headers
        disposition = got.headers["Content-Disposition"]
        assert disposition.startswith('attachment; filename="')
        assert disposition.count('"') == 2
        assert unquote(disposition.rpartition("''")[2]) == answer.body["filename"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("page.html", b"<script>alert(1)</script>"),
        ("page.HTM", b"<script>alert(1)</script>"),
        ("picture.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        ("picture.svgz", b"\x1f\x8b"),
        ("feed.xml", b"<x xmlns:h='http://www.w3.org/1999/xhtml'><h:script/></x>"),
        ("code.js", b"alert(1)"),
        ("gif.gif.html", b"GIF89a<script>alert(1)</script>"),
        ("nothing", b"<html>"),
    ],
)
async def test_what_could_run_is_only_kept(alice, name, content):
    url = await uploaded(alice, name, content)
    got = await alice.fetch(url)
    assert got.headers["Content-Type"] == "application/octet-stream"
    assert got.headers["Content-Disposition"].startswith("attachment;")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("doc.pdf", "application/pdf"),
        ("page.PDF", "application/pdf"),
        ("song.mp3", "audio/mpeg"),
        ("film.webm", "video/webm"),
        ("photo.heic", "image/heic"),
        ("scan.tiff", "image/tiff"),
    ],
)
async def test_documents_and_media_are_shown_in_place_and_run_nothing(alice, name, kind):
    url = await uploaded(alice, name, b"<script>alert(1)</script>")
    for headers in ({}, {"Range": "bytes=0-3"}):
        got = await alice.fetch(url, headers=headers)
        assert got.headers["Content-Type"] == kind
        assert got.headers["Content-Disposition"].startswith("inline;")
        assert got.headers["X-Content-Type-Options"] == "nosniff"
        policy = got.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert ("sandbox" in policy) is (kind != "application/pdf")


async def test_two_things_at_once_are_what_their_name_says_and_no_more(alice):
    url = await uploaded(alice, "both.gif", b"GIF89a/*<script>alert(1)</script>*/=1")
    got = await alice.fetch(url)
    assert got.headers["Content-Type"] == "image/gif"
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in got.headers["Content-Security-Policy"]
    _, _, realm_id, filename = url.split("/", 3)
    kept = await alice.fetch(f"/user_uploads/download/{realm_id}/{filename}")
    assert kept.headers["Content-Disposition"].startswith("attachment;")


@pytest.mark.parametrize(
    "path",
    [
        "/user_uploads/1/../../../etc/passwd",
        "/user_uploads/1/%2e%2e/%2e%2e/etc/passwd",
        "/user_uploads/../secret",
        "/user_uploads/1/ab/%00",
        "/user_uploads//etc/passwd",
    ],
)
async def test_no_path_leads_out(alice, path):
    answer = await alice.send("GET", path, prefix="")
    assert answer.status in {400, 404}


async def test_a_body_that_is_no_form_is_refused(alice):
    for content_type, body in (
        ("multipart/form-data", b"--x\r\n"),
        ("multipart/form-data; boundary=x", b"nothing of the kind"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\ncut',
        ),
        ("multipart/form-data; boundary=x", b"--x\r\n" + b"A: b\r\n" * 100),
    ):
        answer = await alice.send(
            "POST", UPLOADS, body=body, headers={"Content-Type": content_type}
        )
        answer.refused()
    (await alice.send("POST", UPLOADS, body=b"x", headers={"Content-Type": "text/x"})).refused()


async def test_files_may_be_in_a_bucket(serving_with, connect, make, bucket):
    settings = {
        "s3_bucket": bucket.name,
        "s3_endpoint": bucket.endpoint,
        "s3_access_key": bucket.access_key,
        "s3_secret_key": bucket.secret_key,
    }
    async with serving_with(**settings) as server:
        alice = await connect(server, make.realm_id, await make.user())
        url = await uploaded(alice)
        assert (await alice.fetch(url)).content == TEXT
        part = await alice.fetch(url, headers={"Range": "bytes=5-9"})
        assert (part.status, part.content) == (206, TEXT[5:10])
        root = server.app.settings.data_directory / "files"
        assert [path for path in root.rglob("*") if path.is_file()] == []
        [blob] = [blob async for blob in server.app.blobs.kept()]
        await server.app.blobs.delete(blob.key)
        assert (await alice.fetch(url)).status == 404
