"""Turns at something that serves one caller at a time."""

import asyncio

import pytest

from server.runtime.fair_queue import FairQueue

pytestmark = pytest.mark.asyncio


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_the_key_that_has_used_least_goes_first():
    time = Time()
    turns, order = FairQueue(time), list[str]()

    async def work(key: str) -> None:
        async with turns.turn(key):
            order.append(key)
            time.now += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        for key in "aaaaabbc":
            group.create_task(work(key))

    assert order.index("c") == 2


async def test_long_work_gives_way_between_its_parts():
    time = Time()
    turns, order = FairQueue(time), list[str]()

    async def work(key: str, parts: int) -> None:
        async with turns.turn(key) as turn:
            for _ in range(parts):
                order.append(key)
                time.now += 1
                await asyncio.sleep(0)
                await turn.give_way()

    async with asyncio.TaskGroup() as group:
        for key, parts in (("a", 9), ("a", 9), ("b", 4)):
            group.create_task(work(key, parts))
    assert order[:10].count("b") == 4
    assert order.count("a") == 18
    assert order.count("b") == 4


async def test_who_is_cancelled_while_giving_way_holds_nothing():
    time = Time()
    turns = FairQueue(time)

    async def work() -> None:
        async with turns.turn("a") as turn:
            time.now += 1
            await asyncio.sleep(0)
            await turn.give_way()

    first = asyncio.create_task(work())
    await asyncio.sleep(0)
    second = asyncio.create_task(_hold(turns, "b"))
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(10):
        await asyncio.gather(first, second, return_exceptions=True)
        await _hold(turns, "z")


async def test_use_is_forgotten_with_time():
    time = Time()
    turns = FairQueue(time)
    async with turns.turn("a"):
        time.now += 8
    assert turns.used("a") == 8
    time.now += 10
    assert turns.used("a") == pytest.approx(4)
    assert turns.used("b") == 0


async def test_callers_that_give_up_leave_the_turn_to_others():
    turns = FairQueue()
    async with turns.turn("a"):
        waiting = [asyncio.create_task(_hold(turns, key)) for key in "abcab"]
        await asyncio.sleep(0)
        for each in waiting[:3]:
            each.cancel()
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await asyncio.gather(*waiting, return_exceptions=True)
        await _hold(turns, "z")


async def test_a_caller_that_is_cancelled_with_the_turn_in_hand_passes_it_on():
    turns = FairQueue()
    async with turns.turn("a"):
        first = asyncio.create_task(_hold(turns, "b"))
        second = asyncio.create_task(_hold(turns, "c"))
        await asyncio.sleep(0)
    first.cancel()  # it has been granted, and has not run yet
    async with asyncio.timeout(10):
        await second
    assert first.cancelled()


async def test_a_crowd_of_keys_is_forgotten():
    time = Time()
    turns = FairQueue(time)
    for key in range(5_000):
        async with turns.turn(key):
            time.now += 0.0001
    assert len(turns._used) < 2_000


async def _hold(turns: FairQueue, key: str) -> None:
    async with turns.turn(key):
        await asyncio.sleep(0)
