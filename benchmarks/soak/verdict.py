"""Judge the samples of a soak: what grows, and what is larger than its data explains."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

MIB = 1024 * 1024
FEWEST_POINTS = 8
"""A slope of fewer points says nothing."""
LIMITS = {"memory": 0.15 * MIB, "count": 0.05, "jobs": 10.0}
"""Rises a minute: nine MiB, three descriptors, threads or connections, 600 jobs an hour."""
LEAST_RISE = {"memory": 4 * MIB, "count": 3.0, "jobs": 200.0}
"""A rise from the first third to the last that is less than this is noise."""
SIZE_FACTOR = 2.5
"""A table or index may be so many times as large as when it is built anew."""
SIZE_FLOOR = 4 * MIB
"""What is smaller is not judged."""
DEAD_FACTOR = 3.0
"""Dead rows may be so many times what starts an autovacuum."""
DEAD_FLOOR = 5_000
DEAD_SAMPLES = 4
"""Dead rows may be above it for fewer samples than this between two autovacuums."""


@dataclass(slots=True)
class Series:
    """A figure over time."""

    name: str
    kind: str
    """`memory` in bytes, `count` of what a process holds, or `jobs`."""
    minutes: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, minute: float, value: float) -> None:
        self.minutes.append(minute)
        self.values.append(value)

    def since(self, minute: float) -> "Series":
        """The series without its beginning."""
        pairs = [(m, v) for m, v in zip(self.minutes, self.values, strict=True) if m >= minute]
        return Series(self.name, self.kind, [m for m, _ in pairs], [v for _, v in pairs])

    @property
    def slope(self) -> float:
        """A minute's rise: the median of the slopes between all pairs (Theil and Sen)."""
        points = zip(self.minutes, self.values, strict=True)
        slopes = [(w - v) / (n - m) for (m, v), (n, w) in combinations(points, 2) if n > m]
        return statistics.median(slopes) if slopes else 0.0

    @property
    def rise(self) -> float:
        """From the median of the first third to that of the last."""
        third = max(len(self.values) // 3, 1)
        return statistics.median(self.values[-third:]) - statistics.median(self.values[:third])


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or an index, as it is and as it is when built anew."""

    name: str
    size: int
    rebuilt: int
    rows: int
    most_rows: int
    """Of its table, at any time: space of deleted rows is kept for new ones."""

    @property
    def explained(self) -> float:
        """The size that its data explains."""
        return self.rebuilt * max(1.0, self.most_rows / max(self.rows, 1))


@dataclass(frozen=True, slots=True)
class DeadRows:
    """A table's dead rows at one time, and the number that starts an autovacuum."""

    dead: int
    trigger: float
    vacuumed_at: str | None = None
    """When an autovacuum was last through: what is dead after that is newly dead."""


def growing(series: Sequence[Series], warm_up: float) -> Iterator[str]:
    """Series that still rise after their first minutes."""
    for each in series:
        begin = each.minutes[0] if each.minutes else 0.0
        rest = each.since(begin + warm_up)
        if len(rest.values) < FEWEST_POINTS:
            continue
        if rest.slope > LIMITS[each.kind] and rest.rise >= LEAST_RISE[each.kind]:
            yield f"{each.name} grows: {shown(rest)}"


def shown(series: Series) -> str:
    """A series in a line: first, last, slope."""
    if series.kind == "memory":
        return (
            f"{series.values[0] / MIB:.1f} to {series.values[-1] / MIB:.1f} MiB in"
            f" {len(series.values)} samples, {series.slope * 60 / MIB:+.1f} MiB an hour"
        )
    return (
        f"{series.values[0]:.0f} to {series.values[-1]:.0f} in {len(series.values)} samples,"
        f" {series.slope * 60:+.1f} an hour"
    )


def oversized(relations: Sequence[Relation]) -> Iterator[str]:
    """Tables and indexes that are larger than their data explains."""
    for each in relations:
        if each.size >= SIZE_FLOOR and each.size > SIZE_FACTOR * each.explained:
            yield (
                f"{each.name} has {each.size / MIB:.1f} MiB, and {each.rebuilt / MIB:.1f} MiB when"
                f" built anew ({each.rows:,} rows, {each.most_rows:,} at most)"
            )


def unvacuumed(tables: Mapping[str, Sequence[DeadRows]]) -> Iterator[str]:
    """Tables with far more dead rows than start an autovacuum, for several samples."""
    for name, samples in tables.items():
        run = longest = 0
        vacuumed_at: str | None = None
        for each in samples:
            is_behind = each.dead > max(DEAD_FACTOR * each.trigger, DEAD_FLOOR)
            if each.vacuumed_at != vacuumed_at:
                run, vacuumed_at = 0, each.vacuumed_at
            run = run + 1 if is_behind else 0
            longest = max(longest, run)
        if longest >= DEAD_SAMPLES:
            most = max(each.dead for each in samples)
            yield f"{name} had up to {most:,} dead rows, too many for {longest} samples"
