"""Settings of the C library's allocator."""

import ctypes
from typing import Final

MAX_KEPT_BYTES: Final = 4 * 2**20
"""Maximum size of a freed block, and of free memory at the end of a heap, that is kept for reuse.

The largest answers are smaller, so serving does not ask the system for memory all the time.
"""
# From glibc's malloc.h.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3


def return_large_blocks() -> None:
    """Return large blocks to the system when they are freed; without effect outside glibc.

    By itself glibc learns to keep blocks of the size of the largest that was freed, in the heap of
    each thread: 19 MiB for one that has hashed a password.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, MAX_KEPT_BYTES)
        mallopt(_TRIM_THRESHOLD, MAX_KEPT_BYTES)
