"""Imports into new organizations, some of them killed and abandoned, others left to retention."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.types.json import Jsonb

from benchmarks.soak.samples import command
from testkit.slack_exports import write_large_export

MESSAGES = 1_500
SHORTEST_SECONDS = 1.0
LONGEST_SECONDS = 4.0
"""How long an import lives that is killed."""
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
            await self._killed(arguments)
            await self._until_it_works(
                "abandoned", "realm", "abandon-import", "--realm", realm, "--yes"
            )
        elif chance < 0.5:
            await self._killed(arguments)
            await self._until_it_works("continued", *arguments)
        elif await self._until_it_works("imported", *arguments) and chance < 0.8:
            await asyncio.to_thread(self._let_expire, realm)

    async def _killed(self, arguments: tuple[str, ...]) -> None:
        process = await asyncio.create_subprocess_exec(
            self.parley,
            *arguments,
            env=dict(self.environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await asyncio.sleep(self.rng.uniform(SHORTEST_SECONDS, LONGEST_SECONDS))
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
        self.counts["imports killed"] += 1

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
