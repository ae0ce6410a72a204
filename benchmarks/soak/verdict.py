"""What the samples of a long run say: what grows, and which space no row explains."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

LONG_SECONDS: Final = 15 * 60.0
"""A process is judged if it has lived for so long after its first minutes."""
WARM_UP_SECONDS: Final = 5 * 60.0
GROWTH: Final[Mapping[str, tuple[float, float]]] = {
    "MiB": (1.10, 8.0),
    "file descriptors": (1.25, 10.0),
    "threads": (1.25, 4.0),
}
"""The last third of a process's life may be so many times its first, or so much more."""
MAX_CONNECTIONS: Final = 30
"""To Postgres, of one process (docs/operations.md)."""
LARGE_MIB: Final = 16.0
MAX_UNUSED: Final = 0.6
"""The share of a large relation that may be free or dead."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One process at one moment."""

    seconds: float
    """Since the run began."""
    process: str
    """Its kind and number."""
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or index at the end."""

    name: str
    mib: float
    unused: float
    """The share of it that is free, dead, or not filled."""


def problems(samples: Sequence[Sample], relations: Sequence[Relation]) -> Iterator[str]:
    """Name all that grows, or is larger than its rows explain."""
    for process in dict.fromkeys(each.process for each in samples):
        yield from _growth(process, [each for each in samples if each.process == process])
    for relation in relations:
        if relation.mib >= LARGE_MIB and relation.unused > MAX_UNUSED:
            yield f"{relation.name}: {relation.unused:.0%} of {relation.mib:.0f} MiB hold nothing"


def _growth(process: str, samples: Sequence[Sample]) -> Iterator[str]:
    warm = [each for each in samples if each.seconds - samples[0].seconds >= WARM_UP_SECONDS]
    if not warm or warm[-1].seconds - warm[0].seconds < LONG_SECONDS:
        return
    third = max(1, len(warm) // 3)
    for name, (times, more) in GROWTH.items():
        first = median(each.figures[name] for each in warm[:third])
        last = median(each.figures[name] for each in warm[-third:])
        if last > max(first * times, first + more):
            yield f"{process}: {name} from {first:.0f} to {last:.0f}"
    most = max(each.figures["Postgres connections"] for each in warm)
    if most > MAX_CONNECTIONS:
        yield f"{process}: {most:.0f} connections to Postgres"
