"""Prove that nothing grows: `python -m benchmarks.soak --minutes 180`.

Starts a Postgres, a RabbitMQ, a mail server, a push bouncer, server processes and workers of its
own. Clients send, edit, move, delete, react, poll and upload; webhooks, imports, exports and
retention go on beside them, and a fault happens now and then. Once a minute it measures memory,
descriptors, threads and connections of each process, all tables and indexes, and the queues. In the
end it compares each table and index with its rebuilt size. Exits with 1 if something grows without
a reason: a process, a number of connections, a table, its dead rows, or the dead letters.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.soak.run import Options, run
from scripts.cli.process import open_many_files


def main() -> int:
    """Run the soak of the command line; 1 if something grew that must not."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=180.0, help="the duration")
    parser.add_argument("--rate", type=float, default=1.0, help="how much the clients do")
    parser.add_argument("--fault-seconds", type=float, default=60.0, help="from fault to fault")
    parser.add_argument("--warm-up", type=float, default=10.0, help="minutes that may grow")
    parser.add_argument("--seed", type=int, default=1, help="selects what happens, and when")
    parser.add_argument("--samples", type=Path, help="a file for all samples, as lines of JSON")
    parser.add_argument("--log", type=Path, help="a file for what the processes log")
    arguments = parser.parse_args()
    open_many_files()
    options = Options(
        minutes=arguments.minutes,
        rate=arguments.rate,
        fault_seconds=arguments.fault_seconds,
        warm_up_minutes=arguments.warm_up,
        seed=arguments.seed,
        samples=arguments.samples,
        log=arguments.log,
    )
    try:
        verdict = run(options, _say)
    except FileNotFoundError as missing:
        sys.exit(str(missing))
    for problem in verdict:
        _say(f"PROBLEM: {problem}")
    _say("failed" if verdict else "nothing grew that is not explained")
    return 1 if verdict else 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
