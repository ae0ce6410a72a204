"""The cost of an operation: processor time, which holds on a busy machine, and latency."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from benchmarks.client import Client
from benchmarks.figures import Figures, percentile

TEXT: Final = "A message of an ordinary length."
WARM_UP: Final = 20
ENOUGH_FOR_P99: Final = 200

Measured = Iterator[tuple[int, Figures]]
"""The figures at each size of an axis."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A request of a user."""

    name: str
    request: bytes
    times: int = 150


class Serving(Protocol):
    """A server under measurement, and its database."""

    def cpu_seconds(self) -> float: ...

    def database_cpu_seconds(self) -> float: ...


async def costs(server: Serving, client: Client, operations: Sequence[Operation]) -> Figures:
    """Milliseconds of each: of the server, of the database, and until its answer (p50, p99)."""
    figures: Figures = {}
    for one in operations:
        for _ in range(WARM_UP):
            await client.timed(one.request)
        cpu, database = server.cpu_seconds(), server.database_cpu_seconds()
        taken = [await client.timed(one.request) for _ in range(one.times)]
        each = 1000 / one.times
        figures[f"{one.name}, server CPU ms"] = (server.cpu_seconds() - cpu) * each
        spent = server.database_cpu_seconds() - database
        figures[f"{one.name}, database CPU ms"] = max(0.0, spent) * each
        figures[f"{one.name}, p50 ms"] = percentile(taken, 0.5) * 1000
        if one.times >= ENOUGH_FOR_P99:
            figures[f"{one.name}, p99 ms"] = percentile(taken, 0.99) * 1000
    return figures
