"""Process uploaded pictures in a separate process with a timeout."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import msgspec
import structlog

from server.domain.errors import BadImageError
from server.i18n import _
from server.pictures.wire import Made, Recipe
from server.runtime import sandbox

logger = structlog.get_logger(__name__)

WALL_SECONDS: Final = 20.0
AT_ONCE: Final = 1
"""Per serving process: a picture takes a core, and up to a gigabyte."""
WORKER: Final = "server.pictures.worker"
TOO_LONG: Final = _("Image could not be read in time.")
UNREADABLE: Final = _("Could not decode image; did you upload an image file?")
TOO_LARGE: Final = _("Image size exceeds limit.")


class Pictures:
    """Starts a process for each picture: decoders of untrusted data run there, with limits.

    Only visible pixels of the original are passed on.
    """

    def __init__(self, *, wall_seconds: float = WALL_SECONDS) -> None:
        self._wall_seconds = wall_seconds
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def make(self, recipe: Recipe, content: AsyncIterator[bytes]) -> Made:
        """Return what the recipe makes of the content. Raises BadImageError."""
        async with self._turn:
            process = await sandbox.start(WORKER, recipe, stderr=subprocess.DEVNULL)
            try:
                async with asyncio.timeout(self._wall_seconds):
                    answer = await _exchange(process, content)
            except TimeoutError:
                raise BadImageError(TOO_LONG) from None
            finally:
                process.kill()
                await asyncio.shield(process.wait())
        if not answer:
            # It exceeded a limit of its own, or hit a bug of the decoder.
            logger.warning("pictures.process_died", recipe=recipe)
            raise BadImageError(UNREADABLE)
        made = msgspec.msgpack.decode(answer, type=Made)
        if made.refusal:
            raise BadImageError(TOO_LARGE if made.refusal == "too_large" else UNREADABLE)
        return made


async def _exchange(process: sandbox.Process, content: AsyncIterator[bytes]) -> bytes:
    with suppress(ConnectionError):
        async for chunk in content:
            process.stdin.write(chunk)
            await process.stdin.drain()
        process.stdin.close()
    return await process.stdout.read()
