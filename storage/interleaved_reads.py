"""Several readings on one connection, side by side, without tasks.

Each runs until it waits for answers of the database; when all do, all go on. So the queries of
such a round are sent one after the other before anybody waits, and how many rounds there are
depends on the readings alone.
"""

import types
from collections.abc import Coroutine, Generator
from typing import Any, Final, TypeVar

Result = TypeVar("Result")
Reading = Coroutine[Any, Any, Result]

_ROUND: Final = object()
"""What a reading yields that is ready for the next round."""
_WAITS: Final = object()


@types.coroutine
def next_round() -> Generator[object, None, None]:
    """Within `side_by_side`: let the others of this round come as far."""
    yield _ROUND


async def side_by_side(readings: tuple[Reading[Any], ...], *, is_within: bool) -> tuple[Any, ...]:
    """Return what the readings give. If one fails, the others are given up.

    With `is_within` this is part of a reading, and its rounds are that one's.
    """
    found: dict[int, Any] = {}
    waiting = dict(enumerate(readings))
    try:
        while waiting:
            for number, reading in list(waiting.items()):
                result = await _one_round(reading)
                if result is not _WAITS:
                    found[number] = result
                    del waiting[number]
            if waiting and is_within:
                await next_round()
    finally:
        for reading in waiting.values():
            reading.close()
    return tuple(found[number] for number in range(len(readings)))


@types.coroutine
def _one_round(reading: Reading[Any]) -> Generator[Any, None, Any]:
    """Run the reading to the next round (_WAITS), or to its end. For all else it waits here."""
    thrown: BaseException | None = None
    while True:
        try:
            awaited = reading.send(None) if thrown is None else reading.throw(thrown)
        except StopIteration as end:
            return end.value
        if awaited is _ROUND:
            return _WAITS
        thrown = None
        try:
            yield awaited
        except BaseException as error:  # noqa: BLE001 - the reading's to handle, cancellation too
            thrown = error
