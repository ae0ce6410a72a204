"""The work that a message makes is bounded by its length, whatever is in it."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from cProfile import Profile
from types import FrameType

import pytest

from server.domain.markdown import render
from testkit.markdown.pathological import PATHOLOGICAL
from testkit.markdown.reader import read
from testkit.markdown.realm import STYLE, Realm

SIZE = 10_000
CALLS_PER_CHARACTER = 14
OUTPUT_PER_CHARACTER = 30
FRAMES = 220
SECONDS = 5.0
"""Of processor time: more than ten times what is asked, since a slow machine is no failure of
the code, and what this looks for takes seconds."""


def calls_of(source: str) -> int:
    """How many functions a rendering calls, Python's and the interpreter's own."""
    realm = Realm()
    profile = Profile()
    profile.runcall(render, source, realm, STYLE)
    return sum(each.callcount for each in profile.getstats())


@pytest.fixture(autouse=True, scope="module")
def _warm():
    """Name a language once: the list of their names is made at first use."""
    render("```py\n```", Realm())


@contextmanager
def few_frames() -> Iterator[None]:
    """Leave room for some frames only: what recurses with the input raises RecursionError."""
    depth = 0
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_calls_and_nesting_are_bounded(name):
    source = PATHOLOGICAL[name](SIZE)[:SIZE]
    with few_frames():
        assert calls_of(source) <= CALLS_PER_CHARACTER * SIZE


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_time_and_output_are_bounded_and_readable(name):
    source = PATHOLOGICAL[name](SIZE)[:SIZE]
    start = time.thread_time()
    rendered = render(source, Realm(), STYLE)
    assert time.thread_time() - start < SECONDS
    assert len(rendered.html) <= OUTPUT_PER_CHARACTER * SIZE
    read(rendered.html)
