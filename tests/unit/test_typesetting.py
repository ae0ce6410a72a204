"""The typesetting process: what it gives, and how its deadlines end it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from server.domain.markdown import jobs_in
from server.domain.markdown.nodes import Element
from server.domain.markdown.typesetting import Typeset, TypesetJob
from server.typesetting.process import ProcessTypesetter

CODE = TypesetJob("code", "x = 1\n", "python")
SPANS = (("n", "x"), ("", " "), ("o", "="), ("", " "), ("mi", "1"), ("", "\n"))
FORMULA = TypesetJob("inline", "x^2")
ENDLESS = TypesetJob("code", "  \n" * 3_000, "c++")
PATIENCE = 60.0
"""A busy machine is no failure of the code: what ends hostile work is its own processor time."""


async def done(
    typesetter: ProcessTypesetter, jobs: Sequence[TypesetJob], *, share: str = "a user"
) -> list[Typeset | None]:
    """What has become of the jobs."""
    await typesetter.set(jobs, share=share)
    return [typesetter.known(job) for job in jobs]


@pytest_asyncio.fixture
async def typesetter() -> AsyncIterator[ProcessTypesetter]:
    typesetter = ProcessTypesetter(cpu_seconds=2.0, wall_seconds=PATIENCE)
    yield typesetter
    await typesetter.close()


@pytest.mark.asyncio
async def test_code_and_formulas_by_one_process(typesetter):
    code, formula, other = await done(typesetter, [CODE, FORMULA, CODE])
    assert code == other == SPANS
    assert isinstance(formula, Element)
    assert formula.tag == "math"
    assert typesetter.starts == 1


@pytest.mark.asyncio
async def test_what_was_set_is_remembered(typesetter):
    first = await done(typesetter, [CODE])
    await typesetter.close()
    assert await done(typesetter, [CODE]) == first
    assert typesetter.starts == 1


@pytest.mark.asyncio
async def test_nothing_is_started_for_nothing(typesetter):
    assert await done(typesetter, []) == []
    assert typesetter.starts == 0


@pytest.mark.asyncio
async def test_what_cannot_be_set_is_plain(typesetter):
    jobs = [TypesetJob("inline", "{"), TypesetJob("code", "x", "nosuchlanguage")]
    assert await done(typesetter, jobs) == [None, None]
    assert await done(typesetter, [CODE]) == [SPANS]
    assert typesetter.starts == 1


@pytest.mark.asyncio
async def test_a_formula_too_deep_is_plain_and_ends_nothing(typesetter):
    deep = TypesetJob("inline", "\\sqrt{" * 140 + "}" * 140)
    assert await done(typesetter, [deep, CODE]) == [None, SPANS]
    assert typesetter.starts == 1


@pytest.mark.asyncio
async def test_its_own_time_ends_what_never_ends():
    typesetter = ProcessTypesetter(cpu_seconds=0.2, wall_seconds=PATIENCE)
    try:
        assert await done(typesetter, [ENDLESS]) == [None]
        # What comes next is not hurt, and the same again costs nothing.
        assert typesetter.starts == 1
        assert await done(typesetter, [ENDLESS]) == [None]
        assert typesetter.starts == 1
        assert await done(typesetter, [FORMULA]) != [None]
        assert typesetter.starts == 2
    finally:
        await typesetter.close()


@pytest.mark.asyncio
async def test_a_message_waits_no_longer_than_it_may():
    typesetter = ProcessTypesetter(cpu_seconds=PATIENCE, wall_seconds=0.01)
    try:
        assert await done(typesetter, [ENDLESS, CODE]) == [None, None]
        assert typesetter.process is None
    finally:
        await typesetter.close()


@pytest.mark.asyncio
async def test_others_wait_for_their_turn_and_get_theirs(typesetter):
    jobs = [TypesetJob("code", f"x = {n}\n", "python") for n in range(20)]
    answers = await asyncio.gather(*(done(typesetter, [job]) for job in jobs))
    assert answers == [[(*SPANS[:4], ("mi", str(n)), SPANS[5])] for n in range(20)]
    assert typesetter.starts == 1


@pytest.mark.asyncio
async def test_one_person_with_many_connections_leaves_others_their_share():
    typesetter = ProcessTypesetter(cpu_seconds=0.2, wall_seconds=PATIENCE)
    try:
        hostile = [
            asyncio.create_task(
                done(
                    typesetter,
                    [TypesetJob("code", f"{n}\n" + ENDLESS.text, "c++")],
                    share="mallory",
                )
            )
            for n in range(6)
        ]
        async with asyncio.timeout(PATIENCE):
            await hostile[0]  # its process has been ended, and the others wait
        code = [TypesetJob("code", f"y = {n}\n", "python") for n in range(5)]
        assert None not in await done(typesetter, code, share="ada")
        assert sum(each.done() for each in hostile) <= 3, "ada waited for all of them"
        await asyncio.gather(*hostile)
    finally:
        await typesetter.close()


@pytest.mark.asyncio
async def test_a_killed_process_is_replaced(typesetter):
    await done(typesetter, [CODE])
    process = typesetter.process
    process.kill()
    await process.wait()
    assert await done(typesetter, [FORMULA]) != [None]
    assert typesetter.starts == 2


@pytest.mark.asyncio
async def test_a_process_that_left_by_itself_is_replaced_without_loss(typesetter):
    """It leaves when its input ends, as when it has not been needed for long."""
    await done(typesetter, [CODE])
    typesetter.process.stdin.close()
    assert await done(typesetter, [FORMULA]) != [None]
    assert typesetter.starts == 2


@pytest.mark.asyncio
async def test_a_caller_that_goes_away_ends_only_its_own_work(typesetter):
    await done(typesetter, [CODE])
    os.kill(typesetter.process.pid, signal.SIGSTOP)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(done(typesetter, [FORMULA]), 0.05)
    assert await done(typesetter, [FORMULA]) != [None]
    assert typesetter.starts == 2


@pytest.mark.asyncio
async def test_the_process_ends_with_its_server(typesetter):
    await done(typesetter, [CODE])
    process = typesetter.process
    await typesetter.close()
    assert process.returncode == -signal.SIGKILL


def test_jobs_of_a_message_are_known_without_asking_who_is_who():
    content = "$$a$$ $$a$$ @**Ada $$b$$**\n```py\nx\n```\n> ```math\n> c\n> ```\n```nosuch\n```"
    assert set(jobs_in(content)) == {
        TypesetJob("inline", "a"),
        TypesetJob("inline", "b"),
        TypesetJob("display", "c\n"),
        TypesetJob("code", "x\n", "py"),
    }
    assert jobs_in("no `code` here") == []
