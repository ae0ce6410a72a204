"""Inject faults one after another under load, and check that the system recovers."""

import asyncio
import os
import random
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

import psycopg

from testkit.faults import pushes
from testkit.faults.clients import Pace
from testkit.faults.history import Evidence
from testkit.faults.http import InFlight
from testkit.faults.mail import MailServer, Mood
from testkit.faults.postgres import FAST, IMMEDIATE, PrivatePostgres
from testkit.faults.processes import Servers, Workers, ended
from testkit.faults.proxy import CuttingProxy
from testkit.faults.rabbitmq import PrivateRabbit

ENOUGH_IN_FLIGHT = 20
"""Writes, and polls, that have to be in flight for a fault to count."""
VOLLEY_SECONDS = 4.0
"""How long a fault waits for enough to be in flight; then it happens all the same."""
DEEPEST_MOMENT_SECONDS = 0.05
"""Up to so much later than the first moment at which enough is in flight."""
AFTER_SECONDS = 0.3
"""So long the volley goes on once the fault has begun."""
DRAIN_SECONDS = 25.0
"""A process that is told to end does so within its own deadline, and a little."""
RECOVERY_SECONDS = 45.0
"""A healthy server answers sends again within this time after any fault."""

WEIGHTS: Mapping[str, int] = MappingProxyType(
    {
        "kill a server process": 24,
        "kill all server processes": 4,
        "kill the process that commits for all": 8,
        "stop a server process for a while": 14,
        "stop the process that commits for all for a while": 10,
        "drain a server process": 10,
        "kill a worker": 8,
        "kill all workers": 3,
        "stop a worker for a while": 4,
        "drain a worker": 3,
        "let the mail server refuse": 3,
        "let the mail server forget to answer": 3,
        "let the bouncer refuse": 3,
        "let the bouncer forget to answer": 3,
        "kill the bouncer": 3,
        "cut replies to clients": 14,
        "cut connections to Postgres": 12,
        "cut connections to Postgres, and deliver late": 8,
        "end backends of Postgres": 6,
        "kill a backend of Postgres": 5,
        "restart Postgres": 3,
        "restart Postgres at once": 3,
        "kill Postgres": 2,
        "kill RabbitMQ and start it again": 2,
        "stop RabbitMQ for a while": 3,
    }
)


@dataclass(slots=True)
class Tally:
    """How often each fault happened, and how often with enough in flight."""

    all: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)

    def note(self, fault: str, in_flight: InFlight) -> None:
        self.all[fault] += 1
        if min(in_flight.write, in_flight.poll) >= ENOUGH_IN_FLIGHT:
            self.counted[fault] += 1


@dataclass(eq=False)
class Nemesis:
    """The faults, and what they are done to."""

    servers: Servers
    workers: Workers
    mail: MailServer
    bouncer: pushes.BouncerServer
    postgres: PrivatePostgres
    rabbit: PrivateRabbit | None
    client_proxy: CuttingProxy
    database_proxy: CuttingProxy
    pace: Pace
    in_flight: InFlight
    evidence: Evidence
    rng: random.Random
    tally: Tally = field(default_factory=Tally)
    _rabbit_again: asyncio.Task[None] | None = None

    def faults(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """All faults by name; those of a broker only where there is one."""
        found: dict[str, Callable[[], Awaitable[None]]] = {
            "kill a server process": lambda: self._kill(self.servers),
            "kill the process that commits for all": self._kill_committing,
            "kill all server processes": lambda: self._kill_all(self.servers),
            "stop a server process for a while": lambda: self._pause(self.servers),
            "stop the process that commits for all for a while": self._pause_committing,
            "drain a server process": lambda: self._drain(self.servers),
            "kill a worker": lambda: self._kill(self.workers),
            "kill all workers": lambda: self._kill_all(self.workers),
            "stop a worker for a while": lambda: self._pause(self.workers),
            "drain a worker": lambda: self._drain(self.workers),
            "let the mail server refuse": lambda: self._upset_mail("refuses"),
            "let the mail server forget to answer": lambda: self._upset_mail("forgets"),
            "let the bouncer refuse": lambda: self._upset_bouncer("refuses"),
            "let the bouncer forget to answer": lambda: self._upset_bouncer("forgets"),
            "kill the bouncer": self._kill_bouncer,
            "cut replies to clients": self._cut_replies,
            "cut connections to Postgres": self._cut_database,
            "cut connections to Postgres, and deliver late": self._delay_database,
            "end backends of Postgres": self._end_backends,
            "kill a backend of Postgres": self._kill_backend,
            "restart Postgres": lambda: self._restart_postgres(FAST),
            "restart Postgres at once": lambda: self._restart_postgres(IMMEDIATE),
            "kill Postgres": lambda: self._restart_postgres(signal.SIGKILL),
        }
        if self.rabbit is not None:
            found["kill RabbitMQ and start it again"] = self._kill_rabbit
            found["stop RabbitMQ for a while"] = self._pause_rabbit
        return found

    def shuffled(self, count: int) -> list[str]:
        """`count` faults in random order, each kind about as often as its weight says."""
        names = list(self.faults())
        weights = [WEIGHTS[name] for name in names]
        once = names if count >= len(names) else []
        chosen = once + self.rng.choices(names, weights, k=count - len(once))
        self.rng.shuffle(chosen)
        return chosen

    async def run(self, plan: Sequence[str], seconds: float, pause_seconds: float) -> None:
        """Do what is planned, for so long at most; the pause between two is about that."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        for name in plan:
            if loop.time() > deadline:
                break
            await asyncio.sleep(pause_seconds * self.rng.uniform(0.5, 1.5))
            await self._do(name)
            await self.recovered()
        if self._rabbit_again is not None:
            await self._rabbit_again

    async def recovered(self) -> None:
        """Wait until sends are accepted again. Not in time: a violation."""
        try:
            async with asyncio.timeout(RECOVERY_SECONDS):
                await self.sends_accepted()
        except TimeoutError:
            self.evidence.violation(f"no send was accepted for {RECOVERY_SECONDS:.0f} s")

    async def sends_accepted(self) -> None:
        """Wait until a few more sends are accepted than have been so far."""
        wanted = self.evidence.accepted + 5
        while self.evidence.accepted < wanted:  # noqa: ASYNC110 - clients need not know of this
            await asyncio.sleep(0.02)

    async def _do(self, name: str) -> None:
        async with self._volley():
            self.tally.note(name, self.in_flight)
            try:
                await self.faults()[name]()
            except psycopg.OperationalError:
                self.tally.all[f"{name}: in vain"] += 1

    @asynccontextmanager
    async def _volley(self) -> AsyncIterator[None]:
        """Have all send at once; the block runs at a random moment when enough is in flight."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + VOLLEY_SECONDS
        self.pace.volley.set()
        await asyncio.sleep(self.rng.uniform(0, DEEPEST_MOMENT_SECONDS))
        while loop.time() < deadline and not self._enough():  # noqa: ASYNC110 - as precisely as can be
            await asyncio.sleep(0.001)
        ending = loop.call_later(AFTER_SECONDS, self.pace.volley.clear)
        try:
            yield
        finally:
            ending.cancel()
            if not self.pace.stopping.is_set():
                self.pace.volley.clear()

    def _enough(self) -> bool:
        return min(self.in_flight.write, self.in_flight.poll) >= ENOUGH_IN_FLIGHT

    async def _kill(self, processes: Workers) -> None:
        self.rng.choice(processes.victims()).kill()

    async def _kill_all(self, processes: Workers) -> None:
        for process in processes.victims():
            process.kill()

    async def _kill_committing(self) -> None:
        process = self.servers.committing()
        if process is not None:
            process.kill()

    async def _pause_committing(self) -> None:
        process = self.servers.committing()
        if process is not None:
            await self._stop_for_a_while(process)

    async def _pause(self, processes: Workers) -> None:
        await self._stop_for_a_while(self.rng.choice(processes.victims()))

    async def _stop_for_a_while(self, process: subprocess.Popen[bytes]) -> None:
        """SIGSTOP, and SIGCONT later, when others have gone on without it."""
        os.kill(process.pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(self.rng.choice((0.1, 0.3, 1.0, 2.5)))
        finally:
            os.kill(process.pid, signal.SIGCONT)

    async def _drain(self, processes: Workers) -> None:
        """SIGTERM: it finishes what is in hand, and goes; it has to go well."""
        process = self.rng.choice(processes.victims())
        process.terminate()
        if not await ended(process, DRAIN_SECONDS):
            self.evidence.violation(f"no end of a process {DRAIN_SECONDS:.0f} s after SIGTERM")
            process.kill()
        elif process.returncode not in (0, -signal.SIGTERM):  # that is how one ends that starts
            self.evidence.violation(f"a process drained with status {process.returncode}")

    async def _upset_mail(self, mood: Mood) -> None:
        self.mail.mood = mood
        await asyncio.sleep(self.rng.choice((0.5, 2.0, 4.0)))
        self.mail.mood = "takes"

    async def _upset_bouncer(self, mood: pushes.Mood) -> None:
        self.bouncer.mood = mood
        await asyncio.sleep(self.rng.choice((0.5, 2.0, 4.0)))
        self.bouncer.mood = "takes"

    async def _kill_bouncer(self) -> None:
        self.bouncer.kill()
        await asyncio.sleep(self.rng.choice((0.5, 2.0, 4.0)))
        await self.bouncer.start()

    async def _cut_replies(self) -> None:
        self.client_proxy.cut_soon(self.rng, share=0.7, bytes_ahead=900)
        await asyncio.sleep(0.5)
        self.client_proxy.forgive()

    async def _cut_database(self) -> None:
        self.database_proxy.cut_soon(self.rng, share=0.6, bytes_ahead=1_500)
        await asyncio.sleep(0.5)
        self.database_proxy.forgive()

    async def _delay_database(self) -> None:
        """Deliver statements of servers late: they have given up waiting and tried again."""
        self.database_proxy.strand_soon(self.rng, share=0.5)
        await asyncio.sleep(self.rng.choice((0.05, 0.2, 1.0)))
        self.database_proxy.forgive()
        self.database_proxy.deliver_stranded()

    async def _end_backends(self) -> None:
        self.postgres.terminate_backends(self.rng)

    async def _kill_backend(self) -> None:
        self.postgres.kill_backend(self.rng)

    async def _restart_postgres(self, number: int) -> None:
        await self.postgres.stop(number)
        await asyncio.sleep(self.rng.choice((0.0, 0.0, 0.5)))
        await self.postgres.start()

    async def _kill_rabbit(self) -> None:
        """It takes seconds to start: meanwhile other faults happen."""
        assert self.rabbit is not None
        if self._rabbit_again is None or self._rabbit_again.done():
            self.rabbit.kill()
            self._rabbit_again = asyncio.create_task(self.rabbit.start())

    async def _pause_rabbit(self) -> None:
        assert self.rabbit is not None
        self.rabbit.pause()
        await asyncio.sleep(self.rng.choice((0.2, 1.0)))
        self.rabbit.resume()
