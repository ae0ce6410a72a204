"""An organization in use that imports into it are tested with, and files for them."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.domain.access import OWNER
from storage.ids import RealmId
from testkit.clients.api import Client, LogIn
from testkit.clients.commands import refusal, run
from testkit.clients.server import ROOT_DOMAIN, Server
from testkit.factories import Make
from testkit.slack_exports import channel, message, person, write_export

PATIENCE_SECONDS = 180.0
"""How long a test waits for what has to happen, on a machine with other work."""
DAY = "2024-03-01"
START = 1709280000
"""Of the messages in the file, in 2024; those that are there are of the server's clock."""


def at(second: int) -> str:
    return f"{START + second}.000100"


USERS = [
    person("U1", "Ada of Slack", is_primary_owner=True, is_owner=True),
    person("U2", "Bob"),
    person("U3", "Carol", is_admin=True),
    person("U4", "Gone", deleted=True),
    person("U5", "Dana", profile={"email": None}),
    person("U6", "Robot", is_bot=True, profile={"email": None, "bot_id": "B6"}),
]


TADA = {"name": "tada", "users": ["U2"]}


def an_export(path: Path) -> Path:
    return write_export(
        path,
        users=USERS,
        channels=[
            channel("C1", "General", ["U1", "U2", "U3", "U4"], is_general=True, creator="U1"),
            channel("C2", "plans", ["U1", "U3"]),
            channel("C3", "Old", ["U2"], is_archived=True),
        ],
        groups=[channel("G1", "secret", ["U2", "U3"])],
        dms=[{"id": "D1", "members": ["U1", "U2"]}, {"id": "D2", "members": ["U2", "U3"]}],
        messages={
            f"General/{DAY}": [
                message("U1", "Root about rabbits", at(1), thread_ts=at(1)),
                message("U2", "Answer for <@U1>", at(3), thread_ts=at(1)),
                message(
                    "U4", "loose rabbits", at(2), reactions=[{"name": "tada", "users": ["U2"]}]
                ),
            ],
            f"plans/{DAY}": [message("U3", "the plan", at(4))],
            f"Old/{DAY}": [message("U2", "old words", at(5))],
            f"secret/{DAY}": [message("U2", "secret words", at(6))],
            f"D1/{DAY}": [message("U1", "directly to Bob", at(7))],
            f"D2/{DAY}": [
                message("U3", "Carol to Bob", at(8)),
                message("U2", "Bob to Carol", at(9)),
            ],
        },
    )


@dataclass
class Office:
    """A realm in use; some of its people are in the file."""

    server: Server
    realm_id: RealmId
    subdomain: str
    ada: Client
    """An owner."""
    bob: Client

    async def add(self, file: Path, *arguments: str) -> str:
        return await run(self.server, "import", file, *self.place, *arguments)

    async def refused(self, file: Path, *arguments: str) -> str:
        return await asyncio.to_thread(
            refusal, "import", file, *self.place, *arguments, **environment_of(self.server)
        )

    @property
    def place(self) -> tuple[str, ...]:
        return ("--realm", self.subdomain, "--into-existing")

    async def client(self, email: str) -> Client:
        row = await self.user(email)
        host = await self.server.host_of(self.realm_id)
        return Client(self.server, host, email, row["api_key"])

    async def user(self, email: str) -> dict[str, Any]:
        [row] = await self.rows(
            "SELECT user_id, api_key, is_active, role, full_name FROM users"
            " WHERE realm_id = %(realm_id)s AND email = %(email)s",
            email=email,
        )
        names = ("user_id", "api_key", "is_active", "role", "full_name")
        return dict(zip(names, row, strict=True))

    async def rows(self, sql: Any, **values: Any) -> list[tuple[Any, ...]]:
        async with self.server.app.database.connection() as connection:
            return await connection.tuples(sql, realm_id=self.realm_id, **values)


def environment_of(server: Server) -> dict[str, str]:
    return {
        "DATABASE_URL": server.app.settings.database_url or "",
        "PARLEY_DATA": str(server.app.settings.data_directory),
        "PARLEY_ROOT_DOMAIN": ROOT_DOMAIN,
    }


async def open_office(server: Server, make: Make, log_in: LogIn) -> Office:
    """Ada, an owner, and Bob, in a channel."""
    ada = await make.user("Ada", email="U1@Example.com", role=OWNER)
    bob = await make.user("Bob B.", email="u2@example.com")
    await make.channel("general", subscribers=[ada, bob])
    async with server.app.database.connection() as connection:
        subdomain = await connection.value(
            "SELECT subdomain FROM realms WHERE realm_id = %(r)s", r=make.realm_id
        )
    return Office(server, make.realm_id, subdomain, await log_in(ada), await log_in(bob))


async def say(client: Client, content: str, topic: str = "work", to: str = "general") -> int:
    sent = await client.post("/messages", type="channel", to=to, topic=topic, content=content)
    return int(sent["id"])


async def history_of(client: Client, *terms: list[Any], **params: Any) -> list[dict[str, Any]]:
    fields = {"anchor": "newest", "num_before": 1000, "num_after": 0} | params
    page = await client.get("/messages", narrow=list(terms), apply_markdown=False, **fields)
    return list(page["messages"])


def id_of(client: Client) -> int:
    assert client.user is not None
    return client.user.user_id


def unread_ids(unread: dict[str, Any]) -> set[int]:
    kinds = ("streams", "pms", "huddles")
    return {i for kind in kinds for each in unread[kind] for i in each["unread_message_ids"]}


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [each["content"] for each in messages]


async def in_process(
    office: Office, file: Path, place: Sequence[str] | None = None
) -> asyncio.subprocess.Process:
    """Begin the import in a process of its own."""
    environment = {**os.environ, **environment_of(office.server)}  # noqa: TID251
    program = "from scripts.cli.main import main; main()"
    arguments = [sys.executable, "-c", program, "import", str(file), *(place or office.place)]
    return await asyncio.create_subprocess_exec(*arguments, env=environment)


async def reached(
    office: Office, process: asyncio.subprocess.Process, phase: str, least: int
) -> None:
    """Wait until the import that the process runs is in this phase."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            assert process.returncode is None
            found = await office.rows(
                """
                SELECT phase, done FROM imports WHERE ended_at IS NULL
                 ORDER BY realm_id = %(realm_id)s DESC
                """
            )
            if found and found[0][0] == phase and found[0][1] >= least:
                break
            await asyncio.sleep(0.01)


async def killed_in(
    office: Office, file: Path, phase: str, least: int, place: Sequence[str] | None = None
) -> None:
    """Run the import in a process of its own, and kill it in this phase."""
    process = await in_process(office, file, place)
    await reached(office, process, phase, least)
    process.send_signal(signal.SIGKILL)
    await process.wait()


async def events_until(queue: Any, message_id: int) -> list[dict[str, Any]]:
    """Events up to the message, or, for who does not get it, those that are there."""
    events: list[dict[str, Any]] = []
    for _ in range(50):
        new = await queue.poll(dont_block=True)
        events += [each for each in new if each["type"] != "heartbeat"]
        if not new or any(e.get("message", {}).get("id") == message_id for e in events):
            break
    return events


def of_type(events: list[dict[str, Any]], kind: str, op: str) -> list[dict[str, Any]]:
    return [each for each in events if (each["type"], each.get("op")) == (kind, op)]


def names_in(event: dict[str, Any]) -> set[str]:
    return {each["name"] for each in event["streams"]}


def subscriptions(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    added = of_type(events, "subscription", "add")
    return [each for event in added for each in event["subscriptions"]]
