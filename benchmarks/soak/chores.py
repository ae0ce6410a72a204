"""What an organization beside the clients of a fault run does on and on."""

import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import psycopg

from benchmarks.soak.commands import output
from testkit.faults.clients import Surroundings
from testkit.faults.http import Client, InFlight, NoAnswerError
from testkit.faults.nemesis import Nemesis
from testkit.slack_exports import write_large_export

ROOT_DOMAIN: Final = "soak.test"
SUBDOMAIN: Final = "chores"
OWNER: Final = "owner@example.com"
PATIENCE: Final = 20.0
IMPORTED_MESSAGES: Final = 3_000
EXPORTS_KEPT: Final = 2

Chore = Callable[[], Awaitable[None]]


class Chores:
    """An organization with an owner, a bot and a channel. Counts what was done, and what failed."""

    def __init__(self, seed: int, say: Callable[[str], None]) -> None:
        self._rng = random.Random(f"{seed} chores")
        self._say = say
        self._done: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()

    async def run(self, around: Surroundings, nemesis: Nemesis) -> None:
        """Do everything until cancelled."""
        with tempfile.TemporaryDirectory(prefix="parley-soak-") as name:
            await self._found(around, nemesis, Path(name))
            chores: dict[Chore, float] = {
                self._webhook: 1.0,
                self._conversation: 1.0,
                self._registration: 2.0,
                self._own_export: 300.0,
                self._realm_export: 180.0,
                self._import: 120.0,
            }
            async with asyncio.TaskGroup() as group:
                for chore, seconds in chores.items():
                    group.create_task(self._on_and_on(chore, seconds))

    def lines(self) -> Iterator[str]:
        """What was done, for people."""
        for name, count in sorted(self._done.items()):
            yield f"{count:7} {name}"
        for name, count in sorted(self._failed.items()):
            yield f"{count:7} failed: {name}"

    async def _found(self, around: Surroundings, nemesis: Nemesis, directory: Path) -> None:
        self._environment = dict(nemesis.servers.environment)
        self._directory = directory
        created = await output(
            self._environment,
            *("realm", "create", "--name", "Chores", "--subdomain", SUBDOMAIN),
            *("--owner-email", OWNER, "--owner-name", "Owner"),
        )
        assert created.status == 0, created.text
        url = nemesis.postgres.url()
        [(key,)] = await asyncio.to_thread(_rows, url, "api_key FROM users WHERE email = %s", OWNER)
        host = f"{SUBDOMAIN}.{ROOT_DOMAIN}"
        self._owner = Client(around.ports, OWNER, key, InFlight(), self._rng, host)
        bot = await self._ask("POST", "/bots", full_name="Hook", short_name="hook", bot_type=2)
        bot_key = (await self._ask("GET", f"/bots/{bot['user_id']}/api_key"))["api_key"]
        self._hook = Client(around.ports, "", "", InFlight(), self._rng, host)
        self._hook_path = f"/external/slack_incoming?api_key={bot_key}&stream=chores"
        await self._ask("POST", "/users/me/subscriptions", subscriptions=[{"name": "chores"}])

    async def _on_and_on(self, chore: Chore, seconds: float) -> None:
        name = chore.__name__.lstrip("_").replace("_", " ")
        while True:
            await asyncio.sleep(self._rng.uniform(0.5, 1.5) * seconds)
            try:
                await chore()
            except (NoAnswerError, _RefusedError) as error:
                self._failed[f"{name}: {str(error)[:100]}"] += 1
            else:
                self._done[name] += 1

    async def _ask(self, method: str, path: str, **fields: Any) -> dict[str, Any]:
        return await _answer(self._owner, method, path, fields)

    async def _webhook(self) -> None:
        await _answer(self._hook, "POST", self._hook_path, {"payload": {"text": "*Built* in 3 s"}})

    async def _conversation(self) -> None:
        """Send, change, move, react, star, and mostly delete."""
        topic = f"topic {self._rng.randrange(50)}"
        fields = {"type": "channel", "to": "chores", "topic": topic, "content": "A **word**."}
        path = f"/messages/{(await self._ask('POST', '/messages', **fields))['id']}"
        await self._ask("PATCH", path, content="Another *word*.")
        await self._ask("PATCH", path, topic=f"{topic} moved")
        await self._ask("POST", f"{path}/reactions", emoji_name="tada")
        if self._rng.random() < 0.7:
            await self._ask("DELETE", path)

    async def _registration(self) -> None:
        queue = await self._ask("POST", "/register")
        await self._ask("DELETE", "/events", queue_id=queue["queue_id"])

    async def _own_export(self) -> None:
        made = (await self._ask("GET", "/users/me/exports"))["exports"]
        for each in made:
            if each["state"] != "pending":
                await self._ask("DELETE", f"/users/me/exports/{each['id']}")
        await self._ask("POST", "/users/me/exports")

    async def _realm_export(self) -> None:
        file = self._directory / f"export-{self._rng.randrange(EXPORTS_KEPT)}.tar.gz"
        file.unlink(missing_ok=True)
        await self._command("export", str(file), "--realm", SUBDOMAIN)

    async def _import(self) -> None:
        file = self._directory / "slack.zip"
        number = self._done["import"] + self._failed.total()
        write_large_export(
            file, messages=IMPORTED_MESSAGES, channels=2, people=20, prefix=f"x{number}-"
        )
        await self._command("import", str(file), "--realm", SUBDOMAIN, "--into-existing")

    async def _command(self, *arguments: str) -> None:
        done = await output(self._environment, *arguments)
        if done.status:
            raise _RefusedError(done.text.strip().splitlines()[-1])


class _RefusedError(Exception):
    """The request or command was refused."""


async def _answer(client: Client, method: str, path: str, fields: dict[str, Any]) -> dict[str, Any]:
    answer = await client.request(method, path, fields, kind="other", patience=PATIENCE)
    if answer.status != 200:
        raise _RefusedError(f"{path.partition('?')[0]}: {answer.status} {answer.body.get('msg')}")
    return answer.body


def _rows(url: str, query: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as database:
        return database.execute(f"SELECT {query}", values).fetchall()
