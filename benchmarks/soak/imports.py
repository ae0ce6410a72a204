"""Imports into new organizations, some of them killed and abandoned, others left to retention."""

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.types.json import Jsonb

from benchmarks.soak.samples import command
from testkit.slack_exports import write_large_export

MESSAGES = 6_000
LONGEST_SECONDS = 30.0
"""An import that has brought no message by then is killed all the same."""
LOOK_SECONDS = 0.05
MOST_LOOKS = 10
HAS_MESSAGES = """
    SELECT EXISTS (SELECT FROM messages JOIN realms USING (realm_id) WHERE subdomain = %s)"""
RETENTION_DAYS = 30
"""The messages of the export are years old."""
ATTEMPTS = 5


@dataclass(eq=False)
class Imports:
    """One import after another."""

    parley: str
    environment: Mapping[str, str]
    database_url: str
    directory: Path
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    """What commands printed that failed."""
    _number: int = 0

    async def run(self, seconds: float) -> None:
        """Import again and again, with pauses of about that length, until cancelled."""
        file = write_large_export(
            self.directory / "slack.zip", messages=MESSAGES, days=15, channels=8, people=40
        )
        while True:
            await self._import(file)
            await asyncio.sleep(seconds * self.rng.uniform(0.5, 1.5))

    async def _import(self, file: Path) -> None:
        self._number += 1
        realm = f"soak{self._number}"
        arguments = (
            *("import", str(file), "--realm", realm, "--name", f"Soak {self._number}"),
            *("--owner", "u00000@example.com"),
        )
        chance = self.rng.random()
        if chance < 0.3:
            if await self._killed(realm, arguments):
                abandoning = ("realm", "abandon-import", "--realm", realm, "--yes")
                await self._until_it_works("abandoned", *abandoning)
        elif chance < 0.5:
            if await self._killed(realm, arguments):
                await self._until_it_works("continued", *arguments)
        elif await self._until_it_works("imported", *arguments) and chance < 0.8:
            await asyncio.to_thread(self._let_expire, realm)

    async def _killed(self, realm: str, arguments: tuple[str, ...]) -> bool:
        """Start an import, and kill it while its messages come; whether it had not ended."""
        process = await asyncio.create_subprocess_exec(
            self.parley,
            *arguments,
            env=dict(self.environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_SECONDS):
                    while process.returncode is None:
                        if await self._has_messages(realm):
                            break
                        await asyncio.sleep(LOOK_SECONDS)
            await asyncio.sleep(self.rng.randrange(MOST_LOOKS) * LOOK_SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
        was_killed = process.returncode == -signal.SIGKILL
        self.counts["imports killed" if was_killed else "imports that ended too early"] += 1
        return was_killed

    async def _has_messages(self, realm: str) -> bool:
        try:
            database = await psycopg.AsyncConnection.connect(self.database_url, connect_timeout=5)
            async with database:
                return await (await database.execute(HAS_MESSAGES, [realm])).fetchone() == (True,)
        except psycopg.OperationalError:  # a fault
            return False

    async def _until_it_works(self, outcome: str, *arguments: str) -> bool:
        """Repeat a command that a fault has ended, as a person would."""
        for _ in range(ATTEMPTS):
            status, output = await command(self.environment, self.parley, *arguments)
            if status == 0:
                self.counts[f"imports {outcome}"] += 1
                return True
            last = (output.strip().splitlines() or ["(nothing)"])[-1]
            self.failures[f"{arguments[0]}: {last[:200]}"] += 1
            await asyncio.sleep(2.0)
        return False

    def _let_expire(self, realm: str) -> None:
        """Set how long messages are kept; workers look when they start, and every hour."""
        with psycopg.connect(self.database_url, autocommit=True) as database:
            database.execute(
                "UPDATE realms SET settings = settings || %s WHERE subdomain = %s",
                [Jsonb({"message_retention_days": RETENTION_DAYS}), realm],
            )
        self.counts["organizations with messages that expire"] += 1
