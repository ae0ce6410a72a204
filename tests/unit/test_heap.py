"""Memory that is freed goes back to the system."""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest

from server.domain.passwords import MEMORY_KIB

HASHING = """
import asyncio

from scripts.cli.heap import return_large_blocks
from server.domain.passwords import Passwords

async def main():
    with Passwords(threads=2) as passwords:
        await passwords.hash_all(["a password"] * 6)
        print(open("/proc/self/status").read())

{prepare}
asyncio.run(main())
"""


BLOCKS = """
from scripts.cli.heap import return_free_pages

blocks = [bytes(4_000) for _ in range(10_000)]
blocks = blocks[::100]
{prepare}
print(open("/proc/self/status").read())
"""

HAS_MALLOPT = hasattr(ctypes.CDLL(None), "mallopt")


@pytest.mark.skipif(not HAS_MALLOPT, reason="glibc has mallopt")
def test_what_hashing_passwords_took_is_returned():
    kept = _anonymous_kib_after(HASHING.format(prepare=""))
    returned = _anonymous_kib_after(HASHING.format(prepare="return_large_blocks()"))
    assert kept - returned > MEMORY_KIB / 2


@pytest.mark.skipif(not HAS_MALLOPT, reason="glibc has malloc_trim")
def test_free_pages_between_blocks_in_use_are_returned():
    kept = _anonymous_kib_after(BLOCKS.format(prepare=""))
    returned = _anonymous_kib_after(BLOCKS.format(prepare="return_free_pages()"))
    assert kept - returned > 30_000


def _anonymous_kib_after(script: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"^RssAnon:\s+(\d+) kB", done.stdout, re.MULTILINE)
    assert found is not None
    return int(found[1])
