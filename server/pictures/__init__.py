"""Makes pictures of what strangers upload, in a process that a deadline ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import msgspec
import structlog

from server.domain.errors import BadImageError
from server.pictures.wire import Made, Picture, Recipe
from server.runtime import sandbox

__all__ = ["Made", "Picture", "Pictures", "Recipe"]

logger = structlog.get_logger(__name__)

WALL_SECONDS: Final = 20.0
AT_ONCE: Final = 1
"""Of one serving process: a picture takes a core, and up to a gigabyte."""
WORKER: Final = "server.pictures.worker"
TOO_LONG: Final = "Image could not be read in time."


class Pictures:
    """A new process for each picture: whatever a decoder does, it does it there, and not for long.

    Nothing of the original is passed on but what is seen of it.
    """

    def __init__(self, *, wall_seconds: float = WALL_SECONDS) -> None:
        self._wall_seconds = wall_seconds
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def make(self, recipe: Recipe, content: AsyncIterator[bytes]) -> Made:
        """What the recipe makes of the content. Raises BadImageError."""
        async with self._turn:
            process = await sandbox.start(WORKER, recipe, stderr=asyncio.subprocess.DEVNULL)
            try:
                async with asyncio.timeout(self._wall_seconds):
                    answer = await _exchange(process, content)
            except TimeoutError:
                raise BadImageError(TOO_LONG) from None
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await asyncio.shield(process.wait())
        if not answer:
            # It met a limit of its own, or a fault of the decoder.
            logger.warning("pictures.process_died", recipe=recipe)
            raise BadImageError("Could not decode image; did you upload an image file?")
        made = msgspec.msgpack.decode(answer, type=Made)
        if made.refusal:
            raise BadImageError(made.refusal)
        return made


async def _exchange(process: asyncio.subprocess.Process, content: AsyncIterator[bytes]) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):
        async for chunk in content:
            process.stdin.write(chunk)
            await process.stdin.drain()
        process.stdin.close()
    return await process.stdout.read()
