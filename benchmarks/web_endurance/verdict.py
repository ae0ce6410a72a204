"""Compares what pages show with the server's history."""

import asyncio
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.client import Client
from benchmarks.web_endurance.person import Person, Stand

SETTLING_SECONDS = 90
"""Longer than the longest wait between two attempts of the client."""
LOOK_SECONDS = 0.5
PAGE = 1_000
ROLLING_SECONDS = 20
"""How long a page of history may take to come."""

TAG = re.compile(r"<[^>]+>")

Messages = list[tuple[int, str]]


@dataclass
class Ledger:
    """All messages that the server has, read as they come."""

    client: Client
    channel_id: int
    messages: Messages = field(default_factory=list)

    async def read_on(self) -> None:
        """Read what is new since the last time."""
        while True:
            anchor = self.messages[-1][0] if self.messages else "oldest"
            answer = json.loads(
                await self.client.get(
                    "/messages",
                    anchor=str(anchor),
                    include_anchor=not self.messages,
                    num_before=0,
                    num_after=PAGE,
                    narrow=[{"operator": "channel", "operand": self.channel_id}],
                )
            )
            self.messages += [
                (each["id"], TAG.sub("", each["content"]).strip()) for each in answer["messages"]
            ]
            if answer["found_newest"]:
                return

    @property
    def newest(self) -> int:
        return self.messages[-1][0] if self.messages else 0

    def problems(self, people: Sequence[Person]) -> list[str]:
        """Messages that the server does not have once, and in the order in which they were sent."""
        found = []
        for person in people:
            texts = [text for _, text in self.messages if text.startswith(f"{person.name} ")]
            wanted = [person.text(number) for number in range(1, person.sent + 1)]
            if texts != wanted:
                found.append(f"history of {person.name}: {difference(wanted, texts)}")
        return found


def difference(wanted: Sequence[object], found: Sequence[object]) -> str:
    """A short description of items that are missing, doubled or out of order."""
    seen = set(found)
    missing = [each for each in wanted if each not in seen]
    extra = len(found) - len(seen)
    first = next(
        (n for n, pair in enumerate(zip(wanted, found, strict=False)) if pair[0] != pair[1]),
        min(len(wanted), len(found)),
    )
    around = f"from position {first}: {list(found[first : first + 4])}"
    wished = f"rather than {list(wanted[first : first + 4])}"
    return f"{len(missing)} missing {missing[:5]}, {extra} doubled; {around} {wished}"


@dataclass
class Rest:
    """The state of all pages at rest."""

    stands: list[Stand]
    problems: list[str]
    """Problems that were left at the end of the wait."""
    seconds: float
    waited_for: list[str]
    """The last problems before there were none."""


async def settled(people: Sequence[Person], ledger: Ledger) -> Rest:
    """Wait until every page shows the newest message and nothing is under way."""
    started = time.monotonic()
    waited_for: list[str] = []
    while True:
        await ledger.read_on()
        stands = [await each.stand() for each in people]
        problems = [
            f"{person.name}: {problem}"
            for person, stand in zip(people, stands, strict=True)
            for problem in _unsettled(stand, ledger)
        ]
        seconds = time.monotonic() - started
        if not problems or seconds > SETTLING_SECONDS:
            return Rest(stands, problems, seconds, waited_for)
        waited_for = problems
        for person in people:
            # A feed that was loaded again shows the first unread message.
            await person.to_newest()
        await asyncio.sleep(LOOK_SECONDS)


def _unsettled(stand: Stand, ledger: Ledger) -> list[str]:
    found = []
    if stand.pending or stand.stored:
        found.append(f"{stand.pending} messages pending, {stand.stored} stored")
    if stand.connection:
        found.append(f"connection: {stand.connection}")
    if stand.newest != ledger.newest:
        found.append(f"newest message shown is {stand.newest}, not {ledger.newest}")
    return found


def shown_problems(person: Person, shown: Messages, ledger: Ledger) -> list[str]:
    """How what a page shows differs from the same stretch of the history."""
    if not shown:
        return [f"{person.name}: nothing is shown"] if ledger.messages else []
    wanted = [each for each in ledger.messages if shown[0][0] <= each[0] <= shown[-1][0]]
    if shown == wanted:
        return []
    return [f"feed of {person.name}: {difference(wanted, shown)}"]


async def whole_feed(person: Person, ledger: Ledger) -> list[str]:
    """Scroll through all of a feed, from its end to its beginning, and compare it."""
    problems: list[str] = []
    reached = ledger.newest + 1
    moved = time.monotonic()
    while True:
        shown, is_start = await person.roll_back()
        problems += shown_problems(person, shown, ledger)
        if problems or (is_start and shown[0] == ledger.messages[0]):
            return problems
        if shown[0][0] < reached:
            reached, moved = shown[0][0], time.monotonic()
        elif time.monotonic() - moved > ROLLING_SECONDS:
            return [f"{person.name}: does not scroll beyond message {reached}"]
        await asyncio.sleep(0.05)
