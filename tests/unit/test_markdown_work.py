"""The work that a message makes is bounded by its length, whatever is in it."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from cProfile import Profile
from types import FrameType

import pytest

from server.domain.markdown import Rendered, render
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


def render_counted(source: str) -> tuple[Rendered, int]:
    """Render, and count the calls of functions, Python's and the interpreter's own."""
    profile = Profile()
    rendered: Rendered = profile.runcall(render, source, Realm(), STYLE)
    return rendered, sum(each.callcount for each in profile.getstats())


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
def test_calls_nesting_time_and_output_are_bounded(name):
    source = PATHOLOGICAL[name](SIZE)[:SIZE]
    start = time.thread_time()
    with few_frames():
        rendered, calls = render_counted(source)
    assert time.thread_time() - start < SECONDS
    assert calls <= CALLS_PER_CHARACTER * SIZE
    assert len(rendered.html) <= OUTPUT_PER_CHARACTER * SIZE
    read(rendered.html)
