"""Answers are brought in turns."""

import asyncio
from functools import partial
from typing import Any

import pytest

from server.runtime import scheduler
from server.runtime.scheduler import CooperativeScheduler
from testkit.clients.raw_sockets import until

pytestmark = pytest.mark.asyncio


async def test_all_are_brought_in_their_order():
    due = CooperativeScheduler()
    brought: list[Any] = []
    for number in range(100):
        due.add(partial(brought.append, number))
    assert brought == []
    await until(lambda: len(brought) == 100)
    assert brought == list(range(100))


async def test_others_have_their_turn_meanwhile(monkeypatch):
    monkeypatch.setattr(scheduler, "BETWEEN_LOOKS", 1)
    due = CooperativeScheduler(0)
    brought: list[int] = []
    between: list[int] = []
    for number in range(5):
        due.add(partial(brought.append, number))
    for _ in range(5):
        await asyncio.sleep(0)
        between.append(len(brought))
    assert between == sorted(set(between))


async def test_what_one_raises_keeps_no_other_from_its_turn():
    due = CooperativeScheduler()
    brought: list[int] = []
    raised: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: raised.append(context["exception"]))

    def fail() -> None:
        raise ZeroDivisionError

    for call in (partial(brought.append, 1), fail, partial(brought.append, 2)):
        due.add(call)
    await until(lambda: len(brought) == 2)
    assert brought == [1, 2]
    assert [type(each) for each in raised] == [ZeroDivisionError]


async def test_what_is_added_by_an_answer_is_brought_too():
    due = CooperativeScheduler()
    brought: list[Any] = []
    due.add(lambda: due.add(partial(brought.append, "late")))
    await until(lambda: brought)
    assert brought == ["late"]
