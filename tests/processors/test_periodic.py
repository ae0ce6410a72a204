"""What is looked after now and then goes on, whatever happens at a look."""

import asyncio
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from queue_processors.periodic import now_and_then
from storage.database import StatementTimeoutError

OUTCOMES = (StatementTimeoutError("busy"), StatementTimeoutError("busy"), LookupError("ours"), None)


class Looks:
    """Has these outcomes, one after the other, and then no more."""

    def __init__(self, *outcomes: Exception | None) -> None:
        self._outcomes: Iterator[Exception | None] = iter(outcomes)
        self.done = asyncio.Event()

    async def look(self) -> None:
        outcome = next(self._outcomes, self)
        if outcome is self:
            self.done.set()
        elif isinstance(outcome, Exception):
            raise outcome


@pytest.mark.asyncio
async def test_what_fails_is_told_of_once_and_tried_again():
    looks = Looks(*OUTCOMES, *OUTCOMES)
    with capture_logs() as logs:
        keeper = asyncio.create_task(now_and_then(looks.look, what="test", seconds=0.0))
        async with asyncio.timeout(60):
            await looks.done.wait()
        keeper.cancel()
        with pytest.raises(asyncio.CancelledError):
            await keeper
    assert [each["log_level"] for each in logs] == 2 * ["warning", "error"]
