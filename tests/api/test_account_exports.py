"""Exports of a user's own data: what they contain, and who gets them."""

import io
import json
import zipfile
from datetime import timedelta

import pytest
import pytest_asyncio

from queue_processors.blob_keeper import BlobKeeper
from queue_processors.deferred_work import handle
from server.actions import account_exports as actions
from server.actions.account_exports import AccountExportArguments
from server.actions.erasing import ERASING, erase_person
from server.actions.stepped_work import finish
from server.domain.access import OWNER
from server.domain.account_exports import MAX_IN_WINDOW, RETENTION
from server.domain.clock import SystemClock
from server.jobs import DeferredWork
from storage import account_exports
from storage.erasure import OWNED_TABLES
from storage.exports.account import LEFT_OUT, SECTIONS
from testkit.clock import StoppedClock
from testkit.sources import ROOT

EXPORTS = "/users/me/exports"


@pytest.fixture
def clock():
    return StoppedClock(SystemClock().now())


@pytest_asyncio.fixture
async def ready(server, make):
    """`await ready(client)`: the id of an export that has been written."""
    await make.notification_bot()

    async def export(client):
        export_id = (await client.post(EXPORTS))["id"]
        job = DeferredWork.of(make.realm_id, actions.STEP, AccountExportArguments(export_id))
        await handle(server.app, job)
        return export_id

    return export


def file_of(export_id):
    return f"/account_exports/{export_id}/account.zip"


async def opened(client, export_id):
    answer = await client.fetch(f"/account_exports/{export_id}/account.zip")
    assert answer.status == 200
    return zipfile.ZipFile(io.BytesIO(answer.content))


def rows(archive, name):
    return [json.loads(line) for line in archive.read(f"{name}.jsonl").splitlines()]


async def say(client, content, **to):
    return (await client.post("/messages", content=content, **to))["id"]


@pytest.mark.asyncio
async def test_it_contains_what_the_user_has_written_and_stored(make, alice, bob, ready):
    room = await make.channel("Küche", subscribers=[alice.user, bob.user])
    secret = await make.channel("secret", subscribers=[alice.user], invite_only=True)
    to_room = {"type": "channel", "to": "Küche", "topic": "Suppe"}
    url = (await alice.upload("/user_uploads", file=("a/b.txt", b"content"))).succeeded()["url"]
    own = await say(alice, f'a "quoted" \\ text\n[a]({url})', **to_room)
    await alice.patch(f"/messages/{own}", content="better")
    of_bob = await say(bob, "of Bob in the channel", **to_room)
    hidden = await say(alice, "hidden", type="channel", to="secret", topic="plan")
    await make.unsubscribe(secret, [alice.user])
    direct = await say(bob, "for Alice", type="direct", to=[alice.user.user_id])
    mine = await say(alice, "for Bob", type="direct", to=[bob.user.user_id])
    await say(bob, "of no one else", type="direct", to=[bob.user.user_id])
    await alice.post(f"/messages/{of_bob}/reactions", emoji_name="tada")
    await alice.post("/messages/flags", messages=[of_bob], op="add", flag="starred")
    await alice.post("/saved_snippets", title="Greeting", content="Servus")
    await alice.patch("/settings", color_scheme=2)

    archive = await opened(alice, await ready(alice))

    sent = {row["id"]: row for row in rows(archive, "sent_messages")}
    assert sent.keys() == {own, hidden, mine}
    assert (sent[own]["channel"], sent[own]["topic"]) == ("Küche", "Suppe")
    assert sent[own]["former_contents"][0]["content"].startswith('a "quoted" \\ text\n')
    assert (sent[hidden]["content"], sent[hidden]["channel"]) == ("hidden", None)
    assert [(r["id"], r["sender"], r["content"]) for r in rows(archive, "direct_messages")] == [
        (direct, bob.user.full_name, "for Alice")
    ]
    assert [row["message_id"] for row in rows(archive, "reactions")] == [of_bob]
    assert [row["id"] for row in rows(archive, "starred_messages")] == [of_bob]
    assert {"name": "color_scheme", "value": 2} in rows(archive, "settings")
    channels = {row["channel_id"]: row["channel"] for row in rows(archive, "subscriptions")}
    assert (channels[room.channel_id], channels[secret.channel_id]) == ("Küche", None)
    [file] = rows(archive, "attachments")
    name = file["name"].replace("/", "_")
    assert archive.read(f"files/{file['attachment_id']}/{name}") == b"content"
    actions_logged = {row["action"] for row in rows(archive, "audit_log")}
    assert {"user_setting_changed", "user_data_exported"} <= actions_logged
    manifest = json.loads(archive.read("manifest.json"))
    assert (manifest["format"], manifest["user_id"]) == (
        "parley-account-export-1",
        alice.user.user_id,
    )
    everything = b"".join(archive.read(each) for each in archive.namelist())
    assert b"of Bob in the channel" not in everything
    assert b"of no one else" not in everything
    assert (alice.api_key or "").encode() not in everything


@pytest.mark.asyncio
async def test_it_is_the_users_alone_and_expires(server, clock, alice, bob, log_in, ready):
    export_id = await ready(alice)
    [listed] = (await alice.get(EXPORTS))["exports"]
    assert (listed["state"], listed["url"]) == ("ready", file_of(export_id))
    [told] = [
        message["content"]
        for message in (await alice.get("/messages", anchor="newest", num_before=9, num_after=0))[
            "messages"
        ]
    ]
    assert "is ready" in told
    for client in (bob, await log_in(role=OWNER)):
        assert (await client.get(EXPORTS))["exports"] == []
        (await client.fetch(file_of(export_id))).refused("BAD_REQUEST", 404)
        (await client.call("DELETE", f"{EXPORTS}/{export_id}")).refused()
    clock.advance(RETENTION + timedelta(minutes=1))
    await BlobKeeper.of(server.app).tidy()
    assert (await alice.get(EXPORTS))["exports"] == []
    (await alice.fetch(file_of(export_id))).refused("BAD_REQUEST", 404)
    files = server.app.settings.files
    assert not [path for path in files.rglob("*") if path.is_file()]


@pytest.mark.asyncio
async def test_one_at_a_time_and_some_a_day(clock, alice, ready):
    pending = (await alice.post(EXPORTS))["id"]
    (await alice.call("POST", EXPORTS)).refused()
    await alice.delete(f"{EXPORTS}/{pending}")
    (await alice.call("DELETE", f"{EXPORTS}/{pending}")).refused()
    for _ in range(MAX_IN_WINDOW - 1):
        await ready(alice)
    (await alice.call("POST", EXPORTS)).refused()
    clock.advance(timedelta(days=1, minutes=1))
    await ready(alice)


@pytest.mark.asyncio
async def test_it_goes_with_an_erasure(server, make, alice, bob, ready):
    """Of the user who is erased, and of those who have got messages from that user."""
    await ready(alice)
    theirs = await ready(bob)
    services, now = server.app.realm_services(make.realm_id), server.app.clock.now()
    work_id = await services.write(lambda tx: erase_person(tx, alice.user.user_id, now=now))
    await finish(services, ERASING, work_id)
    row = await account_exports.by_id(make.connection, make.realm_id, theirs)
    assert row
    assert row.deleted_at is not None
    assert (await bob.get(EXPORTS))["exports"] == []


def test_each_table_of_a_user_is_shown_or_left_out_for_a_reason():
    shown = {table for section in SECTIONS for table in section.tables}
    assert {*OWNED_TABLES} - shown == {*LEFT_OUT}
    documented = (ROOT / "docs" / "compliance.md").read_text()
    for section in SECTIONS:
        assert f"| `{section.name}.jsonl` | {section.about} |" in documented
    names = [section.name for section in SECTIONS]
    assert len(names) == len(set(names))
