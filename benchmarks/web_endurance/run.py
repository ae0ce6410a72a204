"""The run: people who write, what goes wrong meanwhile, and what is compared each minute."""

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.server import Server, load_average
from benchmarks.web_endurance.person import Person, go, open_tab, sign_in
from benchmarks.web_endurance.verdict import Ledger, settled, shown_problems, whole_feed
from benchmarks.world import World
from testkit.clients.chromium import chromium

WRITERS = ("Ada", "Grace")
PASSWORD = "a password for the endurance run"
MINUTE = 60
RELOADS_EVERY = 2
SLEEPS_EVERY = 3
MAX_AWAY_SECONDS = 4
"""How long the server stays away after a kill, at most."""
MAX_FLAPS = 6
MAX_FLAP_SECONDS = 3
MAX_ASLEEP_SECONDS = 50
"""Longer than tabs of one browser wait for a leader that is silent."""
HEAP_BUDGET_MIB = 60
HEAP_FROM_MINUTE = 5


@dataclass(frozen=True)
class Plan:
    minutes: int
    seed: int


@dataclass
class Course:
    """A run under way."""

    server: Server
    people: list[Person]
    ledger: Ledger
    chance: random.Random
    happened: Counter[str] = field(default_factory=Counter)
    heaps: list[list[float]] = field(default_factory=list)
    """MiB of each tab, by minute."""

    @property
    def writers(self) -> list[Person]:
        return [each for each in self.people if each.name in WRITERS]

    async def trouble(self, minute: int) -> None:
        """Cause the faults of one minute, each at a moment of its own."""
        one, other = self.chance.sample(self.people, 2)
        troubles = [self._kill(), self._flap(one)]
        if minute % RELOADS_EVERY == 0:
            troubles.append(self._reload(one))
        if minute % SLEEPS_EVERY == 0:
            troubles.append(self._sleep(other))
        await asyncio.gather(*troubles)

    async def _kill(self) -> None:
        await asyncio.sleep(self.chance.uniform(5, 40))
        self.server.kill()
        await asyncio.sleep(self.chance.uniform(0, MAX_AWAY_SECONDS))
        await asyncio.to_thread(self.server.start)
        self.happened["kills"] += 1

    async def _flap(self, person: Person) -> None:
        await asyncio.sleep(self.chance.uniform(0, 30))
        for _ in range(self.chance.randint(1, MAX_FLAPS)):
            await person.set_offline(is_offline=True)
            await asyncio.sleep(self.chance.uniform(0.1, MAX_FLAP_SECONDS))
            await person.set_offline(is_offline=False)
            await asyncio.sleep(self.chance.uniform(0.1, MAX_FLAP_SECONDS))
            self.happened["losses of the network"] += 1

    async def _reload(self, person: Person) -> None:
        await asyncio.sleep(self.chance.uniform(0, 45))
        async with person.hands:
            await person.reload()
        self.happened["reloads"] += 1

    async def _sleep(self, person: Person) -> None:
        await asyncio.sleep(self.chance.uniform(0, 10))
        async with person.hands:
            seconds = self.chance.uniform(5, MAX_ASLEEP_SECONDS)
            await person.sleep(seconds, is_told=self.chance.random() < 0.5)
        self.happened["sleeps of a tab"] += 1

    async def look(self, minute: int) -> list[str]:
        """Let all come to rest, and compare; what is wrong."""
        rest = await settled(self.people, self.ledger)
        problems = rest.problems
        for person, stand in zip(self.people, rest.stands, strict=True):
            problems += shown_problems(person, stand.shown, self.ledger)
        problems += self.ledger.problems(self.people)
        self.heaps.append([await each.heap_mib() for each in self.people])
        heaps = ", ".join(f"{each:.1f}" for each in self.heaps[-1])
        shown = ", ".join(str(len(each.shown)) for each in rest.stands)
        print(
            f"minute {minute}: {len(self.ledger.messages)} messages,"
            f" at rest after {rest.seconds:.1f} s, shown {shown}, heap MiB {heaps},"
            f" load {load_average():.1f}",
            flush=True,
        )
        for each in rest.waited_for:
            print(f"  waited for {each}", flush=True)
        return [f"minute {minute}: {each}" for each in problems]


def fill(server: Server) -> tuple[World, int]:
    """Make two people, and a channel for them."""
    with server.database() as database:
        world = worlds.fill(database, people=2)
        worlds.give_password(database, PASSWORD)
        return world, worlds.channel(database, world, "endurance", 2)


async def endure(server: Server, world: World, channel_id: int, plan: Plan) -> list[str]:
    """Run the plan; everything that was wrong."""
    url = f"http://localhost:{server.port}"
    place = f"#narrow/channel/{channel_id}-endurance/topic/talk"
    async with chromium() as browser:
        ada, grace = [await open_tab(await browser.new_context(), name) for name in WRITERS]
        for number, person in enumerate((ada, grace), 1):
            await sign_in(person, url, world.email(number), PASSWORD)
        people = [ada, grace, await open_tab(ada.page.context, "Reader")]
        for person in people:
            await go(person, f"{url}/{place}")
        ledger = Ledger(Client(server.port, world.email(1), worlds.API_KEY), channel_id)
        course = Course(server, people, ledger, random.Random(plan.seed))
        problems = await _minutes(course, plan)
        for person in people:
            problems += await whole_feed(person, ledger)
            problems += [f"{person.name}: script error: {each}" for each in person.complaints]
    _print_figures(course)
    return problems + _growth(course)


async def _minutes(course: Course, plan: Plan) -> list[str]:
    problems: list[str] = []
    for minute in range(1, plan.minutes + 1):
        ends = time.monotonic() + MINUTE
        writers = [asyncio.create_task(each.write_on()) for each in course.writers]
        await course.trouble(minute)
        await asyncio.sleep(max(0.0, ends - time.monotonic()))
        await _stop(writers, course.writers)
        course.ledger.client.close()  # the server that it was connected to is gone
        problems += await course.look(minute)
        if problems:
            return problems
    return problems


async def _stop(writers: list[asyncio.Task[None]], people: list[Person]) -> None:
    """End the writers between two messages."""
    for writer, person in zip(writers, people, strict=True):
        async with person.hands:
            if writer.done():
                writer.result()
            writer.cancel()
    await asyncio.gather(*writers, return_exceptions=True)


def _print_figures(course: Course) -> None:
    for person in course.writers:
        print(f"{person.name} sent {person.sent} messages")
    print(", ".join(f"{count} {name}" for name, count in sorted(course.happened.items())))


def _growth(course: Course) -> list[str]:
    """Heaps that are larger than the budget: what is kept must have a bound."""
    if len(course.heaps) < HEAP_FROM_MINUTE:
        return []
    first, last = course.heaps[HEAP_FROM_MINUTE - 1], course.heaps[-1]
    for person, before, after in zip(course.people, first, last, strict=True):
        print(f"heap of {person.name}: {before:.1f} MiB in minute 5, {after:.1f} MiB at the end")
    return [
        f"heap of {person.name}: {after:.1f} MiB"
        for person, after in zip(course.people, last, strict=True)
        if after > HEAP_BUDGET_MIB
    ]
