"""Renders random sources and checks every rendering: `python -m benchmarks.markdown_fuzz`.

Each must be made of what clients know, parse the same in a browser, and say of mentions and links
what its HTML says. A source that fails is made smaller before it is printed. The slowest are
printed too, and each length is drawn up to 10,000 characters now and then.
"""

import argparse
import heapq
import sys
import time
from random import Random

from server.domain.markdown import render
from testkit.markdown.properties import MARKS, WORDS, check_source, random_source
from testkit.markdown.realm import STYLE, Realm

LONG = 10_000
SHOWN_EVERY = 50_000


def long_source(random: Random) -> str:
    """A few pieces, repeated up to the length of the longest message."""
    unit = "".join(random.choices([*MARKS, *WORDS], k=random.randint(1, 6)))
    before, after = str(random.choice(["", *MARKS])), str(random.choice(["", *MARKS]))
    return (before + unit * (LONG // len(unit)) + after)[:LONG]


def fails(source: str) -> bool:
    try:
        check_source(source)
    except Exception:  # noqa: BLE001 (whatever it is, it is what this looks for)
        return True
    return False


def smaller(source: str) -> str:
    """A source that fails like the given one, without what it does not need for that."""
    step = len(source) // 2
    while step:
        start = 0
        while start < len(source):
            without = source[:start] + source[start + step :]
            if fails(without):
                source = without
            else:
                start += step
        step //= 2
    return source


def main() -> int:
    """Run for a number of cases or of minutes; 1 if a source failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    random = Random(arguments.seed)
    end = time.monotonic() + arguments.minutes * 60
    slowest: list[tuple[float, str]] = []
    failures = cases = characters = 0
    while cases < arguments.cases and time.monotonic() < end and failures < 10:
        cases += 1
        source = long_source(random) if cases % 100 == 0 else random_source(random)
        characters += len(source)
        if len(source) > 1_000:
            start = time.thread_time()
            render(source, Realm(), STYLE)
            slowest = heapq.nlargest(5, [*slowest, (time.thread_time() - start, source)])
        if fails(source):
            failures += 1
            print(f"FAILED: {smaller(source)!r}", flush=True)
        if cases % SHOWN_EVERY == 0:
            print(f"{cases:,} sources, {failures} failed", flush=True)

    print(f"seed {arguments.seed}: {cases:,} sources, {characters:,} characters, {failures} failed")
    for seconds, source in slowest:
        print(f"{seconds * 1000:7.2f} ms  {source[:60]!r}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
