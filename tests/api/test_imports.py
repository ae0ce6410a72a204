"""Owners bring the history of other programs: they send the file, look, and start the import."""

import io
import random
import tarfile
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from queue_processors import imports
from queue_processors.blob_keeper import BlobKeeper
from queue_processors.deferred_work import handle
from queue_processors.import_process import TEMPORARY, UNKNOWN, Errand, perform
from queue_processors.imports import run
from queue_processors.processor import RetryLaterError
from server.actions.imports import ABANDONED, CRASHED, MAX_CRASHES, MAX_REQUESTS, RETENTION
from server.api.tus import CONTENT_TYPE
from server.domain.access import ADMINISTRATOR, OWNER
from server.domain.clock import SystemClock
from server.i18n import _
from server.imports import profiles
from server.imports.recognition import CUT
from server.imports.report import ImportReport
from server.jobs import BlobRemoval, DeferredWork, Imports
from storage import import_requests
from storage import imports as storage_imports
from storage.ids import Position
from storage.imports import ImportRow
from testkit.clock import StoppedClock
from testkit.factories import new_realm
from testkit.slack_exports import channel, message, person, write_export
from tests.api.test_tus import metadata

pytestmark = pytest.mark.asyncio

DAY = "2024-03-01"


@pytest.fixture
def clock():
    return StoppedClock(SystemClock().now())


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    """To start a process takes longer than most imports of these tests."""

    async def perform_here(errand):
        await perform(errand)
        return 0

    monkeypatch.setattr(imports, "run", perform_here)


@pytest_asyncio.fixture
async def olga(log_in):
    return await log_in(role=OWNER)


@pytest.fixture
def export(tmp_path: Path) -> bytes:
    users = [person("U1", "Ada", is_owner=True, is_primary_owner=True), person("U2", "Bob")]
    path = write_export(
        tmp_path / "slack.zip",
        users=users,
        channels=[channel("C1", "plans", ["U1", "U2"], creator="U1")],
        messages={
            f"plans/{DAY}": [
                message("U1", "the plan", "1709280001.000100"),
                message("U2", "is *fine*", "1709280002.000100"),
            ]
        },
    )
    return path.read_bytes()


async def sent(client, content, name="slack.zip", **fields):
    """The answer to a whole upload, in one request."""
    headers = {
        "Tus-Resumable": "1.0.0",
        "Upload-Length": str(len(content)),
        "Upload-Metadata": metadata(filename=name, **{"purpose": "import", **fields}),
        "Content-Type": CONTENT_TYPE,
    }
    return await client.send("POST", "/tus", body=content, headers=headers)


async def requested(client, content, name="slack.zip"):
    """The id of an import whose file has come."""
    answer = await sent(client, content, name)
    assert answer.status == 201, answer.content
    return int(answer.body["url"].removeprefix("/api/v1/imports/"))


async def one(client, import_id):
    return (await client.get(f"/imports/{import_id}"))["import"]


async def worked(server, make, import_id):
    """What a worker does with the job."""
    await imports.handle(server.app, Imports(realm_id=make.realm_id, request_id=import_id))


async def jobs(make, queue):
    return await make.connection.values(
        """
        SELECT convert_from(body, 'UTF8')::jsonb -> 'job' FROM event_log
         WHERE kind = 'job' AND convert_from(body, 'UTF8')::jsonb ->> 'queue' = %(queue)s
        """,
        queue=queue,
    )


async def test_a_process_looks_into_a_file_and_then_imports_it(
    server, make, olga, export, monkeypatch
):
    monkeypatch.setattr(imports, "run", run)
    import_id = await requested(olga, export)
    assert (await one(olga, import_id))["state"] == "reading"
    assert [job["request_id"] for job in await jobs(make, "imports")] == [import_id]

    await worked(server, make, import_id)
    ready = await one(olga, import_id)
    assert (ready["state"], ready["source"], ready["file_name"]) == ("ready", "Slack", "slack.zip")
    own_id = (await olga.get("/users/me"))["user_id"]
    assert (ready["size"], ready["acting_user_id"]) == (len(export), own_id)
    assert ready["contents"]["imported"]["messages"] == 2
    assert (ready["messages_done"], ready["messages_total"]) == (0, 2)
    assert "plans" not in [each["name"] for each in (await olga.get("/streams"))["streams"]]

    await olga.post(f"/imports/{import_id}/start", topic="from before")
    assert (await one(olga, import_id))["phase"] == "preparing"
    await worked(server, make, import_id)
    done = await one(olga, import_id)
    assert (done["state"], done["messages_done"], done["problem"]) == ("done", 2, "")
    assert done["ended_at"] is not None
    assert done["contents"]["imported"]["messages"] == 2

    [plans] = [e for e in (await olga.get("/streams"))["streams"] if e["name"] == "plans"]
    topics = (await olga.get(f"/users/me/{plans['stream_id']}/topics"))["topics"]
    assert [each["name"] for each in topics] == ["from before"]
    page = {"anchor": "newest", "num_before": 5, "num_after": 0}
    narrow = [{"operator": "channel", "operand": plans["stream_id"]}]
    found = (await olga.get("/messages", narrow=narrow, **page))["messages"]
    assert [each["content"] for each in found] == [
        "<p>the plan</p>",
        "<p>is <strong>fine</strong></p>",
    ]
    [removal] = await jobs(make, BlobRemoval.queue)
    assert len(removal["keys"]) == 1
    log = (await olga.get("/realm/audit_log"))["entries"]
    names = {each["action"]: each["subject_type"] for each in log}
    assert names["realm_import_requested"] == names["realm_import_started"] == "realm_import"


async def test_a_file_that_came_before_is_refused_with_a_sentence(server, make, olga, export):
    ids = [await requested(olga, export) for _ in range(2)]
    for import_id in ids:
        await worked(server, make, import_id)
        await olga.post(f"/imports/{import_id}/start")
        await worked(server, make, import_id)
    failed = await one(olga, ids[1])
    assert failed["state"] == "failed"
    assert "nothing comes twice" in failed["problem"]


async def test_a_job_that_comes_again_changes_nothing(server, make, olga, export):
    import_id = await requested(olga, export)
    for _time in range(2):
        await worked(server, make, import_id)
        assert (await one(olga, import_id))["state"] == "ready"
    await olga.delete(f"/imports/{import_id}")
    await worked(server, make, import_id)
    assert (await olga.get("/imports"))["imports"] == []


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        (b"PK\x03\x04 and no more", "slack.zip", CUT),
        (b"", "nothing.zip", UNKNOWN),
        (b"hello", "\u0639\u0631\u0628\u064a.jsonl", UNKNOWN),
    ],
)
async def test_what_is_no_export_fails_with_a_sentence(server, make, olga, content, name, problem):
    import_id = await requested(olga, content, name)
    await worked(server, make, import_id)
    failed = await one(olga, import_id)
    assert (failed["state"], failed["problem"], failed["file_name"]) == ("failed", problem, name)
    assert failed["contents"] is None
    refusal = await olga.call("POST", f"/imports/{import_id}/start")
    assert refusal.status == 400
    await olga.delete(f"/imports/{import_id}")


async def test_a_damaged_export_fails_before_anything_is_changed(server, make, olga, tmp_path):
    path = write_export(
        tmp_path / "bad.zip",
        users=[person("U1", "Ada", is_owner=True)],
        channels=[channel("C1", "plans", ["U1"])],
        messages={},
        files={f"plans/{DAY}.json": b"[{"},
    )
    import_id = await requested(olga, path.read_bytes())
    await worked(server, make, import_id)
    failed = await one(olga, import_id)
    assert failed["state"] == "failed"
    assert f"plans/{DAY}.json" in failed["problem"]


@pytest.mark.parametrize(
    ("language", "problem"),
    [
        ("en", "a {b}.tar.gz is damaged, or not all of it is there: download it again."),
        ("de", "a {b}.tar.gz ist beschädigt oder nicht vollständig: Lade die Datei noch einmal"),
    ],
)
async def test_the_reason_is_in_the_language_of_the_reader(server, make, olga, language, problem):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        member = tarfile.TarInfo("picture.png")
        member.size = 100_000
        archive.addfile(member, io.BytesIO(random.Random(1).randbytes(member.size)))
    import_id = await requested(olga, content.getvalue()[:50_000], "a {b}.tar.gz")
    await olga.patch("/settings", default_language=language)
    await worked(server, make, import_id)
    failed = await one(olga, import_id)
    assert failed["problem"].startswith(problem)
    assert failed["contents"] is None


async def test_only_owners_import(make, log_in, olga, export):
    import_id = await requested(olga, export)
    for client in (await log_in(role=ADMINISTRATOR), await log_in()):
        answer = await sent(client, export)
        assert answer.status == 400
        assert answer.body["msg"] == "Must be an organization owner"
        for method, path in (
            ("GET", "/imports"),
            ("GET", f"/imports/{import_id}"),
            ("POST", f"/imports/{import_id}/start"),
            ("DELETE", f"/imports/{import_id}"),
            ("POST", "/imports/abandon?import_id=1"),
            ("POST", "/imports/invitations"),
        ):
            assert (await client.call(method, path)).status == 400
    assert (await one(olga, import_id))["state"] == "reading"


async def begun(make, olga, source="Slack", fingerprint=b"lost"):
    """An import that has not ended, as a killed command leaves it."""
    report = ImportReport({"people": 3})
    report.remark("what an older release had to say")
    report.remark(profiles.INVALID, "Ada", count=2)
    report.remark(_(profiles.FULL, limit=7), "Height")
    report = ImportReport.of(report.without_examples().as_json())
    report.add(report)
    row = ImportRow(
        import_id=0,
        source=source,
        options={"owner_id": (await olga.get("/users/me"))["user_id"], "topic": "t"},
        phase="people",
        done=3,
        total=50,
        first_position=Position(0),
        report=report.as_json(),
        ended_at=None,
    )
    now = SystemClock().now()
    return await storage_imports.insert(
        make.connection, make.realm_id, row, fingerprint=fingerprint, now=now
    )


async def test_an_import_is_abandoned_if_its_file_is_lost(server, make, olga, log_in, export):
    assert (await olga.get("/imports"))["unfinished"] is None
    lost = await begun(make, olga)
    import_id = await requested(olga, export)
    await worked(server, make, import_id)
    await olga.post(f"/imports/{import_id}/start")
    await worked(server, make, import_id)
    failed = await one(olga, import_id)
    assert failed["state"] == "failed"
    assert "abandon it" in failed["problem"]

    unfinished = (await olga.get("/imports"))["unfinished"]
    assert (unfinished["import_id"], unfinished["source"]) == (lost, "Slack")
    assert (unfinished["messages_done"], unfinished["messages_total"]) == (0, 50)
    admin = await log_in(role=ADMINISTRATOR)
    assert (await admin.call("POST", "/imports/abandon", import_id=lost)).status == 400
    assert (await olga.call("POST", "/imports/abandon", import_id=lost + 1)).status == 404
    contents = unfinished["contents"]
    assert [each["reason"] for each in contents["remarks"]] == [
        each["text"] for each in contents["remarks"]
    ]
    german = await log_in(await make.user(role=OWNER, settings={"default_language": "de"}))
    answer = await german.post("/imports/abandon", import_id=lost)
    in_german = answer["abandoned"]["contents"]
    assert in_german["imported"] == {"people": 6}
    assert in_german["labels"] == {"people": "Personen"}
    assert [each["reason"] for each in in_german["remarks"]] == [
        each["reason"] for each in contents["remarks"]
    ]
    assert [(each["count"], each["text"]) for each in in_german["remarks"]] == [
        (2, "what an older release had to say"),
        (4, "Werte von Profilfeldern sind ungültig und wurden ausgelassen"),
        (2, "Profilfelder wurden ausgelassen: Es gibt höchstens 7"),
    ]
    assert answer["channel_ids"] == []
    assert (await olga.call("POST", "/imports/abandon", import_id=lost)).status == 404
    assert (await olga.get("/imports"))["unfinished"] is None
    [work] = await jobs(make, DeferredWork.queue)
    await handle(server.app, msgspec.json.decode(msgspec.json.encode(work), type=DeferredWork))

    again = await requested(olga, export)
    await worked(server, make, again)
    await olga.post(f"/imports/{again}/start")
    await worked(server, make, again)
    assert (await one(olga, again))["state"] == "done"
    actions = [each["action"] for each in (await olga.get("/realm/audit_log"))["entries"]]
    assert "realm_import_abandoned" in actions


async def test_a_running_request_ends_with_its_import(server, make, olga, export):
    import_id = await requested(olga, export)
    await worked(server, make, import_id)
    await olga.post(f"/imports/{import_id}/start")
    request = await import_requests.by_id(make.connection, make.realm_id, import_id)
    assert request is not None
    assert request.fingerprint is not None
    unfinished = await begun(make, olga, fingerprint=request.fingerprint)
    await olga.post("/imports/abandon", import_id=unfinished)
    ended = await one(olga, import_id)
    assert (ended["state"], ended["problem"]) == ("failed", ABANDONED)
    await worked(server, make, import_id)
    assert (await one(olga, import_id))["state"] == "failed"
    await olga.delete(f"/imports/{import_id}")


async def test_imports_of_another_organization_are_not_there(server, make, connect, olga, export):
    import_id = await requested(olga, export)
    other = await new_realm(make.connection, subdomain="elsewhere")
    stranger = await connect(server, other.realm_id, await other.user(role=OWNER))
    assert (await stranger.get("/imports"))["imports"] == []
    for method, path in (
        ("GET", f"/imports/{import_id}"),
        ("POST", f"/imports/{import_id}/start"),
        ("DELETE", f"/imports/{import_id}"),
    ):
        assert (await stranger.call(method, path)).status == 404


async def test_one_import_runs_at_a_time_and_is_not_deleted(server, make, olga, export):
    first, second = await requested(olga, export), await requested(olga, export + b"\0")
    early = await olga.call("POST", f"/imports/{first}/start")
    assert early.body["msg"] == "Only an import that is ready can be started."
    for each in (first, second):
        await worked(server, make, each)
    await olga.post(f"/imports/{first}/start")
    for path in (f"/imports/{first}/start", f"/imports/{second}/start"):
        assert (await olga.call("POST", path)).status == 400
    assert (await olga.call("DELETE", f"/imports/{first}")).status == 400
    await olga.delete(f"/imports/{second}")
    assert [each["id"] for each in (await olga.get("/imports"))["imports"]] == [first]


async def test_there_is_a_limit_of_imports(make, olga):
    for number in range(MAX_REQUESTS):
        await requested(olga, bytes([number]))
    refusal = await sent(olga, b"one more")
    assert refusal.status == 400
    assert str(MAX_REQUESTS) in refusal.body["msg"]


async def test_purposes_are_known_ones(olga):
    refusal = await sent(olga, b"x", purpose="profit")
    assert (refusal.status, refusal.body["code"]) == (400, "BAD_REQUEST")


async def test_a_worker_that_must_hand_over_leaves_the_rest_to_another_job(
    server, make, olga, export
):
    import_id = await requested(olga, export)
    errand = Errand(server.app.settings, make.realm_id, import_id)
    assert await run(errand, seconds=0.01) is None
    assert (await one(olga, import_id))["state"] == "reading"
    assert await run(errand) == 0
    assert (await one(olga, import_id))["state"] == "ready"


@pytest.mark.parametrize("code", [1, -9])
async def test_crashes_are_counted(server, make, olga, export, monkeypatch, code):
    async def crash(errand):
        return code

    monkeypatch.setattr(imports, "run", crash)
    import_id = await requested(olga, export)
    for number in range(MAX_CRASHES):
        assert (await one(olga, import_id))["state"] == "reading"
        await worked(server, make, import_id)
        assert len(await jobs(make, "imports")) == min(number + 2, MAX_CRASHES)
    failed = await one(olga, import_id)
    assert (failed["state"], failed["problem"]) == ("failed", CRASHED)


async def test_what_passes_is_tried_again(server, make, olga, export, monkeypatch):
    async def no_database(errand):
        return TEMPORARY

    monkeypatch.setattr(imports, "run", no_database)
    import_id = await requested(olga, export)
    with pytest.raises(RetryLaterError):
        await worked(server, make, import_id)
    assert (await one(olga, import_id))["state"] == "reading"


async def test_a_time_slice_that_ends_enqueues_the_next(server, make, olga, export, monkeypatch):
    async def stopped(errand):
        return None

    monkeypatch.setattr(imports, "run", stopped)
    import_id = await requested(olga, export)
    await worked(server, make, import_id)
    assert len(await jobs(make, "imports")) == 2


async def test_without_email_no_one_is_invited(olga):
    refusal = await olga.call("POST", "/imports/invitations")
    assert refusal.body["msg"] == "This server sends no email."


async def test_what_no_one_starts_expires_with_its_file(server, make, clock, olga, export):
    import_id = await requested(olga, export)
    await worked(server, make, import_id)
    keeper = BlobKeeper.of(server.app)
    clock.advance(RETENTION - timedelta(minutes=1))
    await keeper.tidy()
    assert (await one(olga, import_id))["state"] == "ready"
    clock.advance(timedelta(minutes=2))
    await keeper.tidy()
    assert (await olga.get("/imports"))["imports"] == []
