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


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="glibc has mallopt")
def test_what_hashing_passwords_took_is_returned():
    kept = _anonymous_kib_after_hashing("")
    returned = _anonymous_kib_after_hashing("return_large_blocks()")
    assert kept - returned > MEMORY_KIB / 2


def _anonymous_kib_after_hashing(prepare: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", HASHING.format(prepare=prepare)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"^RssAnon:\s+(\d+) kB", done.stdout, re.MULTILINE)
    assert found is not None
    return int(found[1])
