"""The verdict of `python -m benchmarks.soak` on made-up samples."""

import random

import pytest

from benchmarks.soak.verdict import MIB, DeadRows, Relation, Series, growing, oversized, unvacuumed


def series_of(kind: str, *values: float) -> Series:
    found = Series("server 1", kind)
    for minute, value in enumerate(values):
        found.add(minute, value)
    return found


def test_what_rises_after_the_warm_up_grows():
    rng = random.Random(1)
    leaking = [(100 + 0.4 * n + rng.uniform(-2, 2)) * MIB for n in range(40)]
    warming = [(100 + min(n, 10) * 5 + rng.uniform(-2, 2)) * MIB for n in range(40)]
    assert list(growing([series_of("memory", *warming)], 10)) == []
    [problem] = growing([series_of("memory", *leaking)], 10)
    assert problem.startswith("server 1 grows: ")

    level = [60.0 + n % 5 for n in range(40)]
    assert list(growing([series_of("count", *level)], 10)) == []
    assert list(growing([series_of("count", *[60.0 + n // 5 for n in range(40)])], 10))


@pytest.mark.parametrize(
    ("size", "rebuilt", "rows", "most_rows", "is_explained"),
    [
        (20, 10, 1_000, 1_000, True),
        (40, 10, 1_000, 1_000, False),
        (40, 10, 1_000, 4_000, True),  # rows were deleted, and leave their space to new ones
        (3, 0, 0, 0, True),
    ],
)
def test_a_size_is_compared_with_that_of_a_rebuilt_table(
    size: int, rebuilt: int, rows: int, most_rows: int, *, is_explained: bool
):
    relation = Relation("messages", size * MIB, rebuilt * MIB, rows, most_rows)
    assert (list(oversized([relation])) == []) is is_explained


def test_dead_rows_are_a_problem_when_they_stay():
    few, many = DeadRows(100, 3_000), DeadRows(20_000, 3_000)
    assert list(unvacuumed({"users": [few, many, many, few, many]})) == []
    assert list(unvacuumed({"users": [few, many, many, many, many]}))
    new_each_time = [DeadRows(20_000, 3_000, f"10:0{minute}") for minute in range(6)]
    assert list(unvacuumed({"users": new_each_time})) == []
