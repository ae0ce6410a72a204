"""Many deadlines, one timer."""

import asyncio
from functools import partial
from typing import Any

import pytest

from server.runtime import scheduler, timer_wheel
from server.runtime.timer_wheel import TimerWheel
from testkit.clients.raw_sockets import until

pytestmark = pytest.mark.asyncio


class One:
    """Notes that it has ended."""

    def __init__(self, ended: list[Any], name: int, act: Any = None) -> None:
        self.due = 0
        self._ended = ended
        self.name = name
        self._act = act

    def expired(self) -> None:
        self._ended.append(self.name)
        if self._act is not None:
            self._act()


async def test_all_that_end_in_one_second_do_so_and_others_have_their_turn(monkeypatch):
    monkeypatch.setattr(timer_wheel, "TURN_SECONDS", 0)
    monkeypatch.setattr(scheduler, "BETWEEN_LOOKS", 1)
    kept, ended = TimerWheel(), list[Any]()
    several = [One(ended, number) for number in range(50)]
    for one in several:
        kept.set(one, 0.1)
    seen: set[int] = set()
    while len(ended) < len(several):
        seen.add(len(ended))
        await asyncio.sleep(0)
    assert sorted(ended) == list(range(50))
    assert len(seen) > 25
    assert all(one.due == 0 for one in several)


async def test_what_has_been_put_off_or_dropped_meanwhile_does_not_end():
    kept, ended = TimerWheel(), list[Any]()
    several: list[One] = []

    def change() -> None:
        put_off, dropped = [one for one in several if one.name != ended[0]]
        kept.set(put_off, 1_000)
        kept.clear(dropped)

    several += [One(ended, number, change) for number in range(3)]
    for one in several:
        kept.set(one, 0.1)
    await until(lambda: ended)
    await asyncio.sleep(0.05)
    assert len(ended) == 1
    assert sorted(one.due > 0 for one in several) == [False, False, True]
    for one in several:
        kept.clear(one)


async def test_what_one_raises_keeps_no_other_from_its_end():
    raised: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: raised.append(context["exception"]))

    def fail() -> None:
        raise ZeroDivisionError

    kept, ended = TimerWheel(), list[Any]()
    for number in range(3):
        kept.set(One(ended, number, fail), 0.1)
    await until(partial(has, ended, 3))
    assert [type(each) for each in raised] == [ZeroDivisionError] * 3


def has(ended: list[Any], count: int) -> bool:
    return len(ended) == count
