"""Settings of the C library's allocator."""

import asyncio
import ctypes
from typing import Any, Final

MAX_KEPT_BYTES: Final = 4 * 2**20
"""Maximum size of a freed block, and of free memory at the end of a heap, that is kept for reuse.

The largest answers are smaller, so serving does not ask the system for memory all the time.
"""
TRIM_SECONDS: Final = 60.0
# From glibc's malloc.h.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3


def return_large_blocks() -> None:
    """Return large blocks to the system when they are freed; without effect outside glibc.

    By itself glibc learns to keep blocks of the size of the largest that was freed, in the heap of
    each thread: 19 MiB for one that has hashed a password.
    """
    mallopt = _of_glibc("mallopt")
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, MAX_KEPT_BYTES)
        mallopt(_TRIM_THRESHOLD, MAX_KEPT_BYTES)


def return_free_pages() -> None:
    """Return pages of the heap without blocks in use. By itself glibc returns only its end.

    It takes a millisecond where a load has left many.
    """
    malloc_trim = _of_glibc("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


async def keep_returning_free_pages() -> None:
    """Do so every minute, until cancelled."""
    while True:
        await asyncio.sleep(TRIM_SECONDS)
        return_free_pages()


def _of_glibc(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None)
