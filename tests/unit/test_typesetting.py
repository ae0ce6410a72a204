"""The typesetting process: what it gives, and how its deadlines end it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from server.domain.markdown.nodes import Element
from server.domain.markdown.typesetting import TypesetJob
from server.typesetting import ProcessTypesetter

pytestmark = pytest.mark.asyncio

CODE = TypesetJob("code", "x = 1\n", "python")
SPANS = (("n", "x"), ("", " "), ("o", "="), ("", " "), ("mi", "1"), ("", "\n"))
FORMULA = TypesetJob("inline", "x^2")
ENDLESS = TypesetJob("code", "  \n" * 3_000, "c++")
PATIENCE = 60.0
"""A busy machine is no failure of the code: what ends hostile work is its own processor time."""


@pytest_asyncio.fixture
async def typesetter() -> AsyncIterator[ProcessTypesetter]:
    typesetter = ProcessTypesetter(cpu_seconds=2.0, wall_seconds=PATIENCE)
    yield typesetter
    await typesetter.close()


async def test_code_and_formulas_by_one_process(typesetter):
    code, formula, other = await typesetter.set([CODE, FORMULA, CODE])
    assert code == other == SPANS
    assert isinstance(formula, Element)
    assert formula.tag == "math"
    assert typesetter.starts == 1


async def test_what_was_set_is_remembered(typesetter):
    first = await typesetter.set([CODE])
    await typesetter.close()
    assert await typesetter.set([CODE]) == first
    assert typesetter.starts == 1


async def test_nothing_is_started_for_nothing(typesetter):
    assert await typesetter.set([]) == []
    assert typesetter.starts == 0


async def test_what_cannot_be_set_is_plain(typesetter):
    jobs = [TypesetJob("inline", "{"), TypesetJob("code", "x", "nosuchlanguage")]
    assert await typesetter.set(jobs) == [None, None]
    assert await typesetter.set([CODE]) == [SPANS]
    assert typesetter.starts == 1


async def test_a_formula_too_deep_is_plain_and_ends_nothing(typesetter):
    deep = TypesetJob("inline", "\\sqrt{" * 140 + "}" * 140)
    assert await typesetter.set([deep, CODE]) == [None, SPANS]
    assert typesetter.starts == 1


async def test_its_own_time_ends_what_never_ends():
    typesetter = ProcessTypesetter(cpu_seconds=0.2, wall_seconds=PATIENCE)
    try:
        assert await typesetter.set([ENDLESS]) == [None]
        # What comes next is not hurt, and the same again costs nothing.
        patient = ProcessTypesetter(cpu_seconds=5.0, wall_seconds=PATIENCE)
        assert typesetter.starts == 1
        assert await typesetter.set([ENDLESS]) == [None]
        assert typesetter.starts == 1
        assert await typesetter.set([FORMULA]) != [None]
        assert typesetter.starts == 2
        await patient.close()
    finally:
        await typesetter.close()


async def test_a_message_waits_no_longer_than_it_may():
    typesetter = ProcessTypesetter(cpu_seconds=PATIENCE, wall_seconds=0.01)
    try:
        assert await typesetter.set([ENDLESS, CODE]) == [None, None]
        assert typesetter._process is None
    finally:
        await typesetter.close()


async def test_others_wait_for_their_turn_and_get_theirs(typesetter):
    jobs = [TypesetJob("code", f"x = {n}\n", "python") for n in range(20)]
    answers = await asyncio.gather(*(typesetter.set([job]) for job in jobs))
    assert [answer[0][4] for answer in answers] == [("mi", str(n)) for n in range(20)]
    assert typesetter.starts == 1


async def test_a_killed_process_is_replaced(typesetter):
    await typesetter.set([CODE])
    process = typesetter._process
    process.kill()
    await process.wait()
    assert await typesetter.set([FORMULA]) != [None]
    assert typesetter.starts == 2


async def test_a_process_that_left_by_itself_is_replaced_without_loss(typesetter):
    """It leaves when its input ends, as when nobody has needed it for long."""
    await typesetter.set([CODE])
    typesetter._process.stdin.close()
    assert await typesetter.set([FORMULA]) != [None]
    assert typesetter.starts == 2


async def test_a_caller_that_goes_away_ends_only_its_own_work(typesetter):
    await typesetter.set([CODE])
    os.kill(typesetter._process.pid, signal.SIGSTOP)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(typesetter.set([FORMULA]), 0.05)
    assert await typesetter.set([FORMULA]) != [None]
    assert typesetter.starts == 2


async def test_the_process_ends_with_its_server(typesetter):
    await typesetter.set([CODE])
    process = typesetter._process
    await typesetter.close()
    assert process.returncode == -signal.SIGKILL
