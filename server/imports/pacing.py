"""Leave room for the people at work beside an import into their organization."""

import asyncio
import time
from collections.abc import Awaitable
from typing import Final, TypeVar

Result = TypeVar("Result")

LONGEST_PAUSE_SECONDS: Final = 0.5


async def paced(step: Awaitable[Result]) -> Result:
    """Await the step, then pause for as long as it took, so that half of the time is others'."""
    started = time.monotonic()
    result = await step
    await asyncio.sleep(min(time.monotonic() - started, LONGEST_PAUSE_SECONDS))
    return result
