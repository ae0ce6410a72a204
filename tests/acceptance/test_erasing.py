"""`parley user erase`: afterwards nothing that the user has said is anywhere."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql

from queue_processors import blob_removals, deferred_work, greetings
from server.actions.account_mail import mail_news
from server.actions.erasing import ERASING, erase_person
from server.actions.realm_exports import STEP, ExportArguments
from server.actions.stepped_work import take_step
from server.api.tus import CONTENT_TYPE
from server.domain.account_news import PasswordChanged
from server.domain.system_bots import NOTIFICATION_BOT, WELCOME_BOT
from server.jobs import BlobRemoval, DeferredWork, Greeting
from server.transactions import Tx
from storage import users
from storage.erasure import OWNED_TABLES, RETAINED_TABLES
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.clients.api_keys import new_key
from testkit.clients.commands import refusal, run
from testkit.clients.server import Server
from testkit.factories import Make
from testkit.images import picture

pytestmark = pytest.mark.asyncio

CANARY = "kanarienvogel"
SCHEMA = Path(__file__).parents[2] / "storage" / "schema.sql"


def places_of(url: str, word: str) -> list[str]:
    """Tables and columns in which the word stands, in bytes too."""
    found = []
    with psycopg.connect(url, autocommit=True) as database:
        columns = database.execute(
            """
            SELECT c.relname, a.attname, a.atttypid = 'bytea'::regtype
              FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
             WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
               AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
            """
        ).fetchall()
        for table, column, is_bytes in columns:
            value = "position(convert_to({word}, 'UTF8') IN {column}) > 0"
            if not is_bytes:
                value = "{column}::text ILIKE '%' || {word} || '%'"
            query = sql.SQL("SELECT EXISTS (SELECT FROM {table} WHERE " + value + ")").format(
                table=sql.Identifier(table), column=sql.Identifier(column), word=sql.Literal(word)
            )
            [there] = database.execute(query).fetchone() or [False]
            if there:
                found.append(f"{table}.{column}")
    return found


def files_with(root: Path, word: str) -> list[str]:
    return [
        str(path)
        for path in root.rglob("*")
        if path.is_file() and word.encode() in path.read_bytes()
    ]


async def remove_blobs(server: Server) -> None:
    """What a worker does of the jobs in the log."""
    async with server.app.database.connection() as connection:
        bodies = await connection.values(
            "SELECT convert_from(body, 'UTF8')::jsonb FROM event_log WHERE kind = 'job'"
        )
    for body in bodies:
        if body["queue"] == "blob_removals":
            job = BlobRemoval(realm_id=body["job"]["realm_id"], keys=tuple(body["job"]["keys"]))
            await blob_removals.handle(server.app, job)


@pytest_asyncio.fixture
async def people(server: Server, make: Make, connect: Any) -> dict[str, Any]:
    rows = {
        "alice": await make.user("Alice", role=100),
        "bob": await make.user("Bob"),
        "carol": await make.user(f"Carol {CANARY}", email=f"{CANARY}@example.com"),
    }
    channel = await make.channel("general", subscribers=list(rows.values()))
    for bot in (NOTIFICATION_BOT, WELCOME_BOT):
        await make.system_bot(bot)
    await make.change_settings(signup_announcements_stream_id=channel.channel_id)
    server.forget(make.realm_id)
    await make.channel("secret", subscribers=[rows["carol"], rows["bob"]], invite_only=True)
    return (
        {name: await connect(server, make.realm_id, row) for name, row in rows.items()}
        | {f"{name} id": row.user_id for name, row in rows.items()}
        | {"general": channel.channel_id, "realm id": make.realm_id}
    )


async def _mail(tx: Tx, row: UserRow) -> None:
    mail_news(tx, row, PasswordChanged())


async def fill(server: Server, people: dict[str, Any]) -> None:
    """Carol is greeted by name, and does all that she can."""
    greeting = Greeting(
        realm_id=people["realm id"], user_id=people["carol id"], inviter_id=people["bob id"]
    )
    await greetings.PROCESSOR.handle(server.app, greeting)
    services = server.app.realm_services(people["realm id"])
    async with services.read() as connection:
        [row] = await users.by_ids(connection, services.realm_id, [people["carol id"]])
    await services.write(lambda tx: _mail(tx, row))
    carol, bob = people["carol"], people["bob"]
    told = await bob.get("/messages", anchor="newest", num_before=9, num_after=0)
    named = [each["content"] for each in told["messages"] if CANARY in each["content"]]
    assert len(named) == 2, "where people join, and to who has invited her"
    to = {"type": "channel", "to": "general", "topic": "plans"}
    uploaded = await carol.upload("/user_uploads", file=(f"{CANARY}.txt", CANARY.encode() * 100))
    url = uploaded.succeeded()["url"]
    for number in range(5):
        await carol.post("/messages", content=f"{CANARY} {number} [f]({url})", **to)
    secret = await carol.post("/messages", content=CANARY, type="channel", to="secret", topic="s")
    await carol.patch(f"/messages/{secret['id']}", content=f"edited {CANARY}")
    await carol.post("/messages", content=CANARY, type="direct", to=[people["bob id"]])
    his = (await bob.post("/messages", content="what Bob says", **to))["id"]
    await carol.post(f"/messages/{his}/reactions", emoji_name="thumbs_up")
    await carol.post("/messages/flags", op="add", flag="starred", messages=[his])
    draft = {"type": "stream", "to": [people["general"]], "topic": "t", "content": CANARY}
    await carol.post("/drafts", drafts=[draft])
    await carol.post("/saved_snippets", title=CANARY, content=CANARY)
    await carol.post("/users/me/status", status_text=CANARY)
    await carol.post("/users/me/alert_words", alert_words=[CANARY])
    later = {**to, "to": people["general"], "scheduled_delivery_timestamp": 2_000_000_000}
    await carol.post("/scheduled_messages", content=CANARY, **later)
    await new_key(carol, "read", name=CANARY)
    await carol.patch("/settings", full_name=f"Deleted user {people['carol id']}")
    await carol.patch("/settings", full_name=f"Carola {CANARY}")
    await carol.patch("/settings", full_name="Caroline")
    (await carol.upload("/users/me/avatar", file=("me.png", picture()))).succeeded()
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "999", "Content-Type": CONTENT_TYPE}
    begun = await carol.send("POST", "/tus", body=CANARY.encode(), headers=headers)
    assert begun.status == 201


async def exported(server: Server, make: Make, alice: Client) -> None:
    """One export is there, and another is asked for."""
    first = (await alice.post("/export/realm"))["id"]
    await deferred_work.handle(
        server.app, DeferredWork.of(make.realm_id, STEP, ExportArguments(first))
    )
    await alice.post("/export/realm")
    there, waits = (await alice.get("/export/realm"))["exports"]
    assert (there["pending"], waits["pending"]) == (False, True)


async def test_nothing_that_she_has_said_is_anywhere(
    server: Server, make: Make, people: dict[str, Any], database_url: str, tmp_path: Path
):
    await fill(server, people)
    await exported(server, make, people["alice"])
    root = server.app.settings.data_directory
    assert len(places_of(database_url, CANARY)) > 10
    assert files_with(root, CANARY)
    bob = people["bob"]
    queue = await bob.register()

    said = await run(server, "user", "erase", "--email", f"{CANARY}@example.com", "--yes")
    assert "is erased" in said
    await remove_blobs(server)
    assert places_of(database_url, CANARY) == []
    assert files_with(root, CANARY) == []
    assert [blob.key async for blob in server.app.blobs.kept()] == []

    gone, given_up = (await people["alice"].get("/export/realm"))["exports"]
    assert gone["deleted_timestamp"] is not None
    assert given_up["failed_timestamp"] is not None

    server.forget(make.realm_id)
    page = await bob.get("/messages", anchor="newest", num_before=100, num_after=0)
    assert [each["content"] for each in page["messages"]] == ["<p>what Bob says</p>"]
    assert page["messages"][0]["reactions"] == []
    user = (await bob.get(f"/users/{people['carol id']}"))["user"]
    assert user["full_name"] == f"Deleted user {people['carol id']}"
    assert (user["is_active"], user["email"]) == (
        False,
        f"user{people['carol id']}@deleted.invalid",
    )
    events = await queue.poll()
    assert {"delete_message", "reaction", "realm_user"} <= {event["type"] for event in events}
    assert CANARY not in json.dumps(events)
    (await people["carol"].call("GET", "/users/me")).refused("INVALID_API_KEY", 401)


async def test_a_resumed_erasure_ends_with_the_same(
    server: Server, make: Make, people: dict[str, Any], database_url: str
):
    """The command dies after a few steps; a job of a worker does the rest, twice."""
    await fill(server, people)
    services = server.app.realm_services(make.realm_id)
    user_id = people["carol id"]
    work_id = await services.write(lambda tx: erase_person(tx, user_id, now=server.app.clock.now()))
    for _ in range(3):
        assert await services.write(
            lambda tx: take_step(tx, ERASING, work_id, 2, now=services.clock.now())
        )
    assert places_of(database_url, CANARY)
    job: DeferredWork = ERASING.job(make.realm_id, work_id)
    await asyncio.gather(
        deferred_work.handle(server.app, job), deferred_work.handle(server.app, job)
    )
    await deferred_work.handle(server.app, job)
    await remove_blobs(server)
    assert places_of(database_url, CANARY) == []


async def test_only_who_may_go_is_erased(server: Server, make: Make, people: dict[str, Any]):
    place = {
        "DATABASE_URL": server.app.settings.database_url or "",
        "PARLEY_DATA": str(server.app.settings.data_directory),
    }
    unknown = "No account has the address x@y.zz. An erased account has none any more."
    for email, why in ((people["alice"].email, "only organization owner"), ("x@y.zz", unknown)):
        said = await asyncio.to_thread(refusal, "user", "erase", "--email", email, "--yes", **place)
        assert why in said


async def test_each_table_that_names_people_is_spoken_of():
    named = {
        table
        for table, body in re.findall(
            r"^CREATE (?:UNLOGGED )?TABLE public\.(\w+) \((.*?)^\)",
            SCHEMA.read_text(),
            re.MULTILINE | re.DOTALL,
        )
        if re.search(
            r"^    (?:\w*user_id|(?:sender|owner|author|creator|bot|actor|inviter)_id) ",
            body,
            re.MULTILINE,
        )
    }
    assert named == {*OWNED_TABLES, *RETAINED_TABLES}
