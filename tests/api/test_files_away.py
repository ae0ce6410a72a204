"""While the bucket with the files is away, requests that need it fail, and may be retried."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from queue_processors import deferred_work, thumbnails
from server.actions import account_exports
from server.actions.account_exports import AccountExportArguments
from server.actions.realm_exports import STEP, ExportArguments
from server.api.endpoint import FileUpload, StreamedContent
from server.api.routes import ROUTES
from server.api.tus import CONTENT_TYPE
from server.domain.access import OWNER
from server.domain.account_exports import path_of
from server.jobs import DeferredWork, Thumbnails
from storage.ids import AttachmentId
from testkit.clients.api import Answer, Client, multipart
from testkit.images import picture

pytestmark = pytest.mark.asyncio

TUS = {"Tus-Resumable": "1.0.0", "Content-Type": CONTENT_TYPE}
PATIENCE_SECONDS = 60.0
"""Longer than any such request waits."""


@dataclass
class Shelf:
    """What was kept before the bucket was away."""

    olga: Client
    places: dict[str, str] = field(default_factory=dict)

    async def upload(self, path: str, method: str = "POST", **fields: str) -> Answer:
        content_type, body = multipart(fields, {"file": ("a.png", picture())})
        headers = {"Content-Type": content_type}
        return await self.olga.send(method, path, body=body, headers=headers)

    async def fetch(self, name: str) -> Answer:
        return await self.olga.fetch(self.places[name])

    async def tus(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.olga.send(method, path, body=body, headers=TUS | sent)


@pytest_asyncio.fixture
async def server(serving_with, cuttable_bucket):
    async with serving_with(**cuttable_bucket.settings) as server:
        yield server


@pytest_asyncio.fixture
async def shelf(server, log_in, make):
    olga = await log_in(role=OWNER)
    shelf = Shelf(olga)
    url = (await shelf.upload("/user_uploads")).succeeded()["url"]
    [attachment_id] = await make.connection.values("SELECT attachment_id FROM attachments")
    job = Thumbnails(realm_id=make.realm_id, attachment_id=AttachmentId(attachment_id))
    await thumbnails.handle(server.app, job)
    export_id = (await olga.post("/export/realm"))["id"]
    await deferred_work.handle(
        server.app, DeferredWork.of(make.realm_id, STEP, ExportArguments(export_id))
    )
    [export] = (await olga.get("/export/realm"))["exports"]
    own_id = (await olga.post("/users/me/exports"))["id"]
    own = AccountExportArguments(own_id)
    await deferred_work.handle(
        server.app, DeferredWork.of(make.realm_id, account_exports.STEP, own)
    )
    small = url.replace("user_uploads", "user_uploads/thumbnail") + "/840x560.webp"
    bot = await olga.post("/bots", full_name="Robot", short_name="robot")
    begun = await shelf.tus("POST", "/tus", Upload_Length="10")
    avatar = (await shelf.upload("/users/me/avatar")).succeeded()["avatar_url"]
    shelf.places = {
        "file": url,
        "download": url.replace("user_uploads", "user_uploads/download"),
        "link": (await olga.get(url))["url"],
        "small": small,
        "avatar": avatar,
        "own data": path_of(own_id),
        "export": urlsplit(export["export_url"]).path,
        "bot": f"/bots/{bot['user_id']}",
        "tus": begun.headers["Location"].removeprefix("/api/v1"),
    }
    return shelf


ASKED: dict[str, Callable[[Shelf], Awaitable[Answer]]] = {
    "POST /user_uploads": lambda s: s.upload("/user_uploads"),
    "GET /user_uploads/{realm_id}/{filename}": lambda s: s.fetch("file"),
    "GET /user_uploads/download/{realm_id}/{filename}": lambda s: s.fetch("download"),
    "GET /user_uploads/temporary/{token}/{filename}": lambda s: s.fetch("link"),
    "GET /user_uploads/thumbnail/{realm_id}/{filename}/{format}": lambda s: s.fetch("small"),
    "GET /user_avatars/{realm_id}/{filename}": lambda s: s.fetch("avatar"),
    "GET /exports/{folder}/{secret}/{filename}": lambda s: s.fetch("export"),
    "GET /account_exports/{export_id}/{filename}": lambda s: s.fetch("own data"),
    "POST /users/me/avatar": lambda s: s.upload("/users/me/avatar"),
    "POST /bots": lambda s: s.upload("/bots", full_name="Other", short_name="other"),
    "PATCH /bots/{bot_id}": lambda s: s.upload(s.places["bot"], "PATCH"),
    "POST /realm/emoji/{emoji_name}": lambda s: s.upload("/realm/emoji/parley"),
    "POST /realm/icon": lambda s: s.upload("/realm/icon"),
    "POST /realm/logo": lambda s: s.upload("/realm/logo", night="false"),
    "POST /tus": lambda s: s.tus("POST", "/tus", b"bytes", Upload_Length="5"),
    "PATCH /tus/{upload}": lambda s: s.tus("PATCH", s.places["tus"], b"bytes", Upload_Offset="0"),
}
"""All that keeps content, or reads it."""
NO_CONTENT = {
    "GET /avatar/{user_id}",
    "GET /avatar/{user_id}/medium",
    "GET /avatar/{email}",
    "GET /avatar/{email}/medium",
    "GET /user_avatars/identicon/{filename}",
    "GET /static/generated/emoji/images/emoji/unicode/zulip.png",
    "GET /static/images/loading/loader-black.svg",
    *(f"{method} /scim/v2/{{filename}}" for method in ("GET", "POST", "PUT", "PATCH", "DELETE")),
    "GET /external_content/{digest}/{url}",
}
"""Addresses of files that are elsewhere, or made when they are asked for."""


async def test_all_are_asked():
    with_files = {
        f"{route.method} {route.path}"
        for route in ROUTES
        if route.at_root or isinstance(route.body, FileUpload | StreamedContent)
    }
    assert with_files == {*ASKED} | NO_CONTENT


async def test_who_needs_a_file_hears_that_it_is_away(shelf, cuttable_bucket):
    cuttable_bucket.proxy.refuse()
    async with asyncio.timeout(PATIENCE_SECONDS):
        answers = await asyncio.gather(*(ask(shelf) for ask in ASKED.values()))
    for name, answer in zip(ASKED, answers, strict=True):
        assert (name, answer.status) == (name, 503)
        answer.refused("FILES_NOT_READY", 503)
        assert answer.headers["Retry-After"] == "10"
    assert len((await shelf.olga.get("/attachments"))["attachments"]) == 1
    assert len((await shelf.olga.get("/bots"))["bots"]) == 1
    await cuttable_bucket.proxy.allow()
    for name, ask in ASKED.items():
        answer = await ask(shelf)
        assert (name, answer.status < 300) == (name, True), answer.content


async def begun(shelf: Shelf) -> str:
    """The first half of an upload."""
    answer = await shelf.tus("POST", "/tus", b"12345", Upload_Length="10")
    assert answer.status == 201
    return answer.headers["Location"].removeprefix("/api/v1")


async def test_an_upload_goes_on_once_it_is_back(shelf, cuttable_bucket):
    path = await begun(shelf)
    cuttable_bucket.proxy.refuse()
    (await shelf.tus("PATCH", path, b"67890", Upload_Offset="5")).refused("FILES_NOT_READY", 503)
    await cuttable_bucket.proxy.allow()
    assert (await shelf.tus("HEAD", path)).headers["Upload-Offset"] == "5"
    done = await shelf.tus("PATCH", path, b"67890", Upload_Offset="5")
    assert (await shelf.olga.fetch(done.succeeded()["url"])).content == b"1234567890"


async def test_a_failed_assembly_is_repeated_by_the_next_request(shelf, cuttable_bucket, make):
    path = await begun(shelf)
    # All is there, and nothing else is to come.
    await make.connection.execute("UPDATE resumable_uploads SET size = 5 WHERE received = 5")
    cuttable_bucket.proxy.refuse()
    assert (await shelf.tus("HEAD", path)).status == 503
    await cuttable_bucket.proxy.allow()
    assert (await shelf.tus("HEAD", path)).headers["Upload-Offset"] == "5"
    newest = (await shelf.olga.get("/attachments"))["attachments"][0]
    assert (await shelf.olga.fetch(f"/user_uploads/{newest['path_id']}")).content == b"12345"


async def test_what_is_given_up_is_gone_though_its_content_is_out_of_reach(shelf, cuttable_bucket):
    path = await begun(shelf)
    cuttable_bucket.proxy.refuse()
    assert (await shelf.tus("DELETE", path)).status == 204
    assert (await shelf.tus("HEAD", path)).status == 404


async def test_a_missing_bucket_is_no_missing_file(serving_with, cuttable_bucket, connect, make):
    settings: dict[str, Any] = cuttable_bucket.settings | {"s3_bucket": "another"}
    async with serving_with(**settings) as server:
        olga = await connect(server, make.realm_id, await make.user(role=OWNER))
        answer = await Shelf(olga).upload("/user_uploads")
        answer.refused("FILES_NOT_READY", 503)
