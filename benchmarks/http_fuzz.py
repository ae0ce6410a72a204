"""Sends random bytes to connections of our own server: `python -m benchmarks.http_fuzz`.

Each input is what testkit/wire_fuzz.py makes and checks: nothing is raised, what is written
is HTTP, however the bytes are cut, and however slow those are who answer and who read (slow_fuzz.py
beside it). It is given to the connection as the loop would, without a socket. The slowest is
printed too.
"""

import argparse
import asyncio
import gc
import sys
import time
from random import Random

from testkit.slow_fuzz import check_slowly
from testkit.wire_fuzz import check, new_server, random_bytes

SHOWN_EVERY = 100_000


def main() -> int:
    """Run for a number of cases; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return asyncio.run(fuzz(arguments.cases, arguments.seed))


async def fuzz(cases: int, seed: int) -> int:
    server, random = new_server(), Random(seed)
    failures = size = 0
    slowest = (0.0, b"")
    gc.collect()
    gc.freeze()  # as a server does: what is loaded is no garbage
    for case in range(1, cases + 1):
        data = random_bytes(random)
        size += len(data)
        begin = time.thread_time()
        try:
            check(server, data, random)
            await check_slowly(server, data, random)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is what this looks for)
            failures += 1
            print(f"FAILED: {data!r}: {error!r}", flush=True)
        slowest = max(slowest, (time.thread_time() - begin, data))
        if case % SHOWN_EVERY == 0:
            print(f"{case:,} inputs, {failures} failed", flush=True)
    print(f"seed {seed}: {cases:,} inputs, {size:,} bytes, {failures} failed")
    print(f"the slowest took {slowest[0] * 1000:.2f} ms: {slowest[1]!r}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
