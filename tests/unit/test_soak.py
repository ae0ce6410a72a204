"""When a long run has failed."""

import pytest

from benchmarks.soak.verdict import Relation, Sample, problems

LEVEL = {"MiB": 70.0, "file descriptors": 40.0, "threads": 5.0, "Postgres connections": 4.0}
MINUTES = 40


def life(**slopes: float) -> list[Sample]:
    """A process of 40 minutes; slopes are a minute."""
    named = {name.replace("_", " "): slope for name, slope in slopes.items()}
    return [
        Sample(
            minute * 60.0,
            "server 1",
            {name: value + named.get(name, 0.0) * minute for name, value in LEVEL.items()},
        )
        for minute in range(MINUTES)
    ]


def test_a_level_process_is_no_problem():
    assert list(problems(life(), [Relation("messages", 100, 0.3)])) == []


@pytest.mark.parametrize(
    ("slopes", "said"),
    [
        ({"MiB": 0.5}, "server 1: MiB from 75 to 87"),
        ({"file_descriptors": 1.0}, "server 1: file descriptors from 50 to 74"),
        ({"threads": 0.2}, "server 1: threads from 7 to 12"),
        ({"Postgres_connections": 1.0}, "server 1: 43 connections to Postgres"),
    ],
)
def test_what_grows_is_named(slopes: dict[str, float], said: str):
    assert list(problems(life(**slopes), [])) == [said]


def test_what_grows_in_the_first_minutes_is_no_problem():
    samples = [
        Sample(each.seconds, each.process, {**each.figures, "MiB": 70.0 + min(number, 5) * 10})
        for number, each in enumerate(life())
    ]
    assert list(problems(samples, [])) == []


def test_a_process_that_was_killed_soon_is_not_judged():
    assert list(problems(life(MiB=5.0)[:15], [])) == []


def test_large_relations_of_nothing_are_named():
    relations = [Relation("jobs", 40, 0.9), Relation("realms", 1, 0.95), Relation("users", 20, 0.5)]
    assert list(problems([], relations)) == ["jobs: 90% of 40 MiB hold nothing"]
