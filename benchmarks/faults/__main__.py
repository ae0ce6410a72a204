"""Prove that no kill loses, doubles or reorders events: `python -m benchmarks.faults --minutes 1`.

Starts a Postgres, a RabbitMQ, a mail server, a push bouncer, server processes and workers of its
own, lets clients send and poll, and kills, stops, restarts and cuts everything meanwhile. In the
end it compares what each client received with what the event log says it had to receive, and the
emails and pushes to absent users with the messages that they missed. Exits with 1 on any
difference.
"""

import argparse
import sys
from pathlib import Path

from testkit.faults.plan import Plan
from testkit.faults.run import run


def main() -> int:
    """Run the faults of the command line; 1 if an invariant was violated."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="the duration")
    parser.add_argument("--seed", type=int, default=1, help="selects the faults and their times")
    parser.add_argument(
        "--bus",
        choices=("postgres", "rabbitmq"),
        default="rabbitmq",
        help="what carries events between server processes",
    )
    parser.add_argument("--processes", type=int, default=3, help="server processes")
    parser.add_argument("--queues", type=int, default=80, help="event queues")
    parser.add_argument("--log", type=Path, help="a file for what the server processes log")
    arguments = parser.parse_args()
    plan = Plan(
        seconds=arguments.minutes * 60,
        seed=arguments.seed,
        bus=arguments.bus,
        processes=arguments.processes,
        queues=arguments.queues,
        keep_log=arguments.log,
    )
    try:
        report = run(plan, _say)
    except FileNotFoundError as missing:
        sys.exit(str(missing))
    for line in report.lines():
        _say(line)
    return 1 if report.violations else 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
