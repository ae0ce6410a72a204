"""Times the rendering of messages, ordinary and hostile: `python -m benchmarks.markdown`.

Ordinary messages are timed in a loop. Each hostile source has 10,000 characters; the best of
three runs counts, in processor time, because the question is what the source asks for and not
what else the machine does.
"""

import argparse
import json
import os
import statistics
import sys
import time

from server.domain.markdown import render
from testkit.markdown.pathological import PATHOLOGICAL
from testkit.markdown.realm import STYLE, Realm

SIZE = 10_000
LIMIT_MS = 20.0
ORDINARY_LIMIT_MS = 0.3

ORDINARY = {
    "one line": "sounds good, let's do that tomorrow",
    "typical": (
        "Thanks @**Ada Byron**! I looked at https://example.org/issues/123, **mostly** done:\n\n"
        "- the `parser` works\n- the tests do not\n\nSee #**general>lunch today** for more."
    ),
    "300 characters": "word " * 60,
    "quote and reply": (
        "@_**Ada Byron|7** [said](https://x.org/#narrow/1):\n```quote\nwe should do it\n```\nyes"
    ),
    "code": "Try this:\n```python\ndef f(x):\n    return x + 1\n```\nthen tell me",
    "table": "| a | b |\n|---|---|\n" + "| some text | 12.5 |\n" * 10,
    "10,000 characters of chat": PATHOLOGICAL["chat"](SIZE),
}


def milliseconds(source: str, rounds: int) -> float:
    """The mean processor time of a rendering."""
    realm = Realm()
    start = time.thread_time()
    for _ in range(rounds):
        render(source, realm, STYLE)
    return (time.thread_time() - start) / rounds * 1000


def ordinary() -> dict[str, list[float]]:
    """The runs of each ordinary message, in ms."""
    for source in ORDINARY.values():
        render(source, Realm(), STYLE)
    return {
        name: sorted(milliseconds(source, 20 if len(source) > 5_000 else 400) for _ in range(3))
        for name, source in ORDINARY.items()
    }


def hostile() -> dict[str, float]:
    """The best time of each hostile source, in ms, slowest first."""
    times = {
        name: min(milliseconds(make(SIZE)[:SIZE], 1) for _ in range(3))
        for name, make in PATHOLOGICAL.items()
    }
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def main() -> int:
    """Print the times; 1 if a hostile source takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--show", type=int, default=15, help="how many of the slowest to show")
    arguments = parser.parse_args()

    load = os.getloadavg()[0]
    common, attacks = ordinary(), hostile()
    if arguments.json:
        json.dump({"load": load, "ordinary_ms": common, "hostile_ms": attacks}, sys.stdout)
        return int(max(attacks.values()) > LIMIT_MS)

    print(f"load before: {load:.2f}\n\n{'ordinary message':42} {'median ms':>10}   range")
    for name, runs in common.items():
        print(f"{name:42} {statistics.median(runs):10.3f}   {runs[0]:.3f}-{runs[-1]:.3f}")
    print(f"\n{'hostile, 10,000 characters':42} {'best ms':>10}   (limit {LIMIT_MS:.0f})")
    for name, best in list(attacks.items())[: arguments.show]:
        print(f"{name:42} {best:10.2f}")
    print(f"... and {len(attacks) - arguments.show} faster ones")
    return int(max(attacks.values()) > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
