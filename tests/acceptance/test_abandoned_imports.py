"""`parley realm abandon-import`: an import that cannot be continued gives way to others."""

import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

from testkit.clients.api import LogIn
from testkit.clients.commands import refusal, run
from testkit.clients.server import Server
from testkit.factories import Make
from testkit.slack_exports import write_large_export
from tests.acceptance.offices import (
    Office,
    an_export,
    environment_of,
    history_of,
    in_process,
    killed_in,
    open_office,
    reached,
    say,
    texts,
    unread_ids,
)

pytestmark = pytest.mark.asyncio

IMPORTS = "SELECT phase, ended_at IS NOT NULL FROM imports WHERE realm_id = %(realm_id)s"
LEFT = """
    SELECT (SELECT count(*) FROM import_keys
             WHERE realm_id = %(realm_id)s AND kind <> 'person'),
           (SELECT count(*) FROM stepped_work WHERE realm_id = %(realm_id)s)"""


@pytest_asyncio.fixture
async def office(server: Server, make: Make, log_in: LogIn) -> Office:
    return await open_office(server, make, log_in)


async def abandon(office: Office) -> str:
    return await run(office.server, "realm", "abandon-import", "--realm", office.subdomain, "--yes")


async def test_what_has_come_stays_and_another_file_can_come(office: Office, tmp_path: Path):
    file = write_large_export(tmp_path / "large.zip", messages=3_000, days=4, channels=3, people=20)
    live = await say(office.ada, "live")
    await killed_in(office, file, "messages", 400)
    file.unlink()
    other = an_export(tmp_path / "other.zip")
    assert "abandon it" in await office.refused(other)

    [(done,)] = await office.rows("SELECT done FROM imports WHERE realm_id = %(realm_id)s")
    said = await abandon(office)
    names = await office.rows(
        "SELECT name FROM channels WHERE realm_id = %(realm_id)s AND name <> 'general'"
    )
    assert len(names) >= 3
    assert all(name in said for (name,) in names)
    assert f"Abandoned after {done:,} of 3,000 messages." in said
    assert await office.rows(IMPORTS) == [("abandoned", True)]
    assert await office.rows(LEFT) == [(0, 0)]
    count = "SELECT count(*) FROM messages WHERE realm_id = %(realm_id)s"
    assert await office.rows(count) == [(done + 1,)]

    # Clients know which channels have messages, and nothing is unread.
    state = await office.ada.post("/register")
    assert unread_ids(state["unread_msgs"]) <= {live}
    known = await office.ada.get("/streams")
    assert all(each["first_message_id"] for each in known["streams"])
    entries = (await office.ada.get("/realm/audit_log"))["entries"]
    [entry] = [each for each in entries if each["action"] == "realm_import_abandoned"]
    assert (entry["actor_id"], entry["after"]["messages_done"]) == (None, done)

    await office.add(other)
    assert texts(await history_of(office.ada, ["channel", "plans"])) == ["the plan"]
    assert [each["id"] for each in await history_of(office.ada)] == [live]


async def test_an_import_can_be_abandoned_in_each_part_and_begun_anew(
    office: Office, tmp_path: Path
):
    file = write_large_export(tmp_path / "large.zip", messages=500, days=2, channels=9, people=60)
    for phase in ("people", "channels", "conversations"):
        await killed_in(office, file, phase, 1)
        assert "Abandoned after 0 of 500 messages." in await abandon(office)
        assert await office.rows(LEFT) == [(0, 0)]

    await office.add(file)
    assert await office.rows(IMPORTS + " ORDER BY import_id") == [
        *[("abandoned", True)] * 3,
        ("ended", True),
    ]
    # People are matched with the accounts that they got, and all messages come.
    assert await office.rows(
        "SELECT count(*), count(DISTINCT email) FROM users WHERE realm_id = %(realm_id)s"
    ) == [(62, 62)]
    assert await office.rows("SELECT count(*) FROM messages WHERE realm_id = %(realm_id)s") == [
        (500,)
    ]


async def test_a_process_that_runs_the_import_stops(office: Office, tmp_path: Path):
    file = write_large_export(tmp_path / "large.zip", messages=6_000, days=4, channels=3, people=20)
    process = await in_process(office, file)
    await reached(office, process, "messages", 200)
    said = await abandon(office)
    async with asyncio.timeout(60):
        assert await process.wait() == 1
    [(count,)] = await office.rows("SELECT count(*) FROM messages WHERE realm_id = %(realm_id)s")
    assert 200 <= count < 6_000
    assert f"Abandoned after {count:,} of 6,000 messages." in said


async def test_an_import_into_a_new_organization_is_complete_then(office: Office, tmp_path: Path):
    file = write_large_export(tmp_path / "large.zip", messages=4_000, days=4, channels=3, people=20)
    place = ("--realm", "newcomers")
    await killed_in(office, file, "messages", 1_000, place)
    said = await run(office.server, "realm", "abandon-import", *place, "--yes")
    assert "of 4,000 messages" in said
    refused = await asyncio.to_thread(
        refusal, "import", file, *place, **environment_of(office.server)
    )
    assert "There is an organization" in refused
    await run(office.server, "import", an_export(tmp_path / "o.zip"), *place, "--into-existing")


async def test_without_an_unfinished_import_there_is_nothing_to_abandon(
    office: Office, tmp_path: Path
):
    await office.add(an_export(tmp_path / "slack.zip"))
    said = await asyncio.to_thread(
        refusal,
        *("realm", "abandon-import", "--realm", office.subdomain, "--yes"),
        **environment_of(office.server),
    )
    assert "no import that has not ended" in said
