"""Loops that run beside a piece of code and end with it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


@asynccontextmanager
async def running(*loops: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run the loops while the body runs, and cancel them after it.

    A loop that fails is a bug: it cancels the body, and its error comes out. The body's own error
    comes out as it is, not in a group.
    """
    failure: Exception | None = None
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(loop) for loop in loops]
        try:
            yield
        except Exception as error:  # noqa: BLE001, it is raised again below, outside the group
            failure = error
        finally:
            for task in tasks:
                task.cancel()
    if failure is not None:
        raise failure


async def to_the_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Do the work whole even if we are cancelled meanwhile; the cancellation comes out after it."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
