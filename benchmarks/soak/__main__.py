"""Prove that nothing grows without end: `python -m benchmarks.soak --minutes 180`.

Starts what `python -m benchmarks.faults` starts, with a fault every minute or so, and checks in the
end what that checks. Beside its clients, a second organization is in use: webhooks are posted,
messages sent, edited, moved, reacted to and deleted, queues registered, Slack exports imported, the
organization and the data of its owner exported. Each minute it samples memory, file descriptors and
connections of all processes, and in the end the space in tables and indexes that their rows do not
explain, and dead jobs. Prints figures; exits with 1 if anything grows, is lost or is left behind.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.soak.chores import ROOT_DOMAIN, Chores
from benchmarks.soak.sampling import Sampler
from benchmarks.soak.verdict import problems
from testkit.faults.plan import Plan
from testkit.faults.run import run

FAULT_EVERY_SECONDS = 60.0


def main() -> int:
    """Run the plan of the command line; 1 if there is a problem."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=180.0)
    parser.add_argument("--seed", type=int, default=1, help="selects the faults and their times")
    parser.add_argument(
        "--think", type=float, default=10.0, help="seconds between two messages of a sender"
    )
    parser.add_argument("--log", type=Path, metavar="FILE", help="for what the processes report")
    arguments = parser.parse_args()
    chores, sampler = Chores(arguments.seed, _say), Sampler(_say)
    plan = Plan(
        seconds=arguments.minutes * 60,
        seed=arguments.seed,
        think_seconds=arguments.think,
        pause_seconds=FAULT_EVERY_SECONDS,
        settings={"PARLEY_ROOT_DOMAIN": ROOT_DOMAIN},
        beside=(chores.run, sampler.run),
        keep_log=arguments.log,
    )
    report = run(plan, _say)
    for line in (*report.lines(), *chores.lines(), *sampler.lines()):
        _say(line)
    found = [*report.violations, *problems(sampler.samples, sampler.relations), *sampler.dead]
    for problem in found:
        _say(f"PROBLEM: {problem}")
    _say("failed" if found else "nothing grows, and nothing is left behind")
    return 1 if found else 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
