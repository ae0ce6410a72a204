"""Prove that users see what they may, and no more: `python -m benchmarks.leaks --checks 1000000`.

Starts a Postgres and a server of its own, and performs random operations of the users of two
organizations: they send, join, leave and change things. A model that shares no code with the
server says who may see each message and event; every answer and event of the server is compared
with it. Exits with 1 on any difference, and prints the shortest history found that leads to it.
"""

import argparse
import secrets
import sys

from testkit.leaks.run import Plan, run_alone


def main() -> int:
    """Run the checks of the command line; 1 if an answer differed from the model."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.leaks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--checks", type=int, default=100_000, help="the least number of checks")
    parser.add_argument("--seed", type=int, help="selects the histories; random if left out")
    parser.add_argument("--operations", type=int, default=200, help="the length of a history")
    arguments = parser.parse_args()
    plan = Plan(
        checks=arguments.checks,
        seed=secrets.randbelow(10**9) if arguments.seed is None else arguments.seed,
        operations=arguments.operations,
    )
    report = run_alone(plan, _say)
    for line in report.lines():
        _say(line)
    return 0 if report.failure is None else 1


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
