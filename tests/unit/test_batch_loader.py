"""What many ask for at once is read together."""

import asyncio
from itertools import pairwise

import pytest

from server.runtime.batch_loader import MAX_BATCH_KEYS, WOKEN_AT_ONCE, BatchLoader

pytestmark = pytest.mark.asyncio

TURNS = 500
"""Of the event loop, that a reading takes: who asks next comes long before."""


class Shelf:
    """Doubles of numbers, found slowly; what is negative is not there, and zero breaks it."""

    def __init__(self):
        self.readings: list[list[int]] = []
        self.begun = asyncio.Event()
        """Set once a load has begun."""

    async def read(self, keys):
        self.readings.append(list(keys))
        self.begun.set()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        if 0 in keys:
            raise ZeroDivisionError
        return {key: 2 * key for key in keys if key > 0}


async def test_who_asks_while_others_are_read_for_is_read_for_with_all_who_do():
    shelf = Shelf()
    gathering = BatchLoader(shelf.read)
    first = asyncio.create_task(gathering.find(1))
    await shelf.begun.wait()
    others = [gathering.find(number) for number in range(2, 50)]
    assert await asyncio.gather(first, *others) == [2 * n for n in range(1, 50)]
    assert shelf.readings == [[1], list(range(2, 50))]


async def test_no_reading_is_larger_than_it_may_be():
    shelf = Shelf()
    gathering = BatchLoader(shelf.read)
    await asyncio.gather(*[gathering.find(number) for number in range(1, 2 * MAX_BATCH_KEYS)])
    assert max(map(len, shelf.readings)) == MAX_BATCH_KEYS


async def test_what_is_not_there_is_nothing():
    assert await BatchLoader(Shelf().read).find(-1) is None


async def test_an_error_goes_to_all_callers_of_its_batch_and_no_others():
    shelf = Shelf()
    gathering = BatchLoader(shelf.read)
    broken = [asyncio.create_task(gathering.find(number)) for number in (0, 1)]
    await shelf.begun.wait()
    sound = asyncio.create_task(gathering.find(2))
    found = await asyncio.gather(*broken, sound, return_exceptions=True)
    assert [type(each) for each in found] == [ZeroDivisionError, ZeroDivisionError, int]
    assert await gathering.find(3) == 6


async def test_a_cancelled_caller_does_not_cancel_the_others():
    shelf = Shelf()
    gathering = BatchLoader(shelf.read)
    leaving, staying = (asyncio.create_task(gathering.find(1)) for _ in range(2))
    await shelf.begun.wait()
    leaving.cancel()
    assert await staying == 2


async def test_who_asks_again_gets_what_is_there_by_then():
    shelf = Shelf()
    gathering = BatchLoader(shelf.read)
    first = asyncio.create_task(gathering.find(1))
    await shelf.begun.wait()
    await gathering.find(1)
    await first
    assert shelf.readings == [[1], [1]]


async def test_those_who_have_been_read_for_go_on_a_few_at_a_time():
    shelf = Shelf()
    gathering = BatchLoader(shelf.read)
    asking = [
        asyncio.create_task(gathering.find(number)) for number in range(1, MAX_BATCH_KEYS + 1)
    ]
    seen: list[int] = []
    while not all(each.done() for each in asking):
        await asyncio.sleep(0)
        seen.append(sum(each.done() for each in asking))
    steps = [after - before for before, after in pairwise([0, *seen])]
    assert max(steps) <= 2 * WOKEN_AT_ONCE
