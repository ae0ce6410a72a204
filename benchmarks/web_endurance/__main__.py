"""Prove that people lose nothing: `python -m benchmarks.web_endurance --minutes 60`.

Starts a server and a browser with two people, who type and send to each other without a pause, and
a second tab of one of them. Each minute the server is killed (`kill -9`) and started again, and the
network of a tab goes and comes; now and then a tab is put to sleep or loaded again. Once a minute,
and at the end, all feeds and the server's history must have every message once and in order, and no
message may be left unsent. Prints figures; exits with 1 if a message was lost, doubled or out of
order.
"""

import argparse
import asyncio
import secrets
import sys
from pathlib import Path

from benchmarks.server import running
from benchmarks.web_endurance.run import Plan, endure, fill
from scripts.cli.process import open_many_files


def main() -> int:
    """Run the plan of the command line; 1 if anything was lost, doubled or out of order."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.web_endurance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--seed", type=int, help="selects when things go wrong")
    parser.add_argument("--log", type=Path, metavar="FILE", help="for what the server reports")
    arguments = parser.parse_args()
    open_many_files()
    seed = secrets.randbelow(10**9) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    with running(log=arguments.log) as server:
        world, channel_id = fill(server)
        plan = Plan(arguments.minutes, seed)
        problems = asyncio.run(endure(server, world, channel_id, plan))
    for problem in problems:
        print(f"PROBLEM: {problem}")
    print("failed" if problems else "every message is there once, in order, in all feeds")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
