"""Asks a server of its own for everything: `python -m benchmarks.api_fuzz --requests 20000`.

Requests are made from the description of the API that the server serves, in the names of an owner,
a member, a guest, a bot and an anonymous client, with valid, nearly valid and nasty values. Ids in
responses are used in later requests. A finding is a response of 500 or above, one that is
not as the description says, one that takes too long, none at all, and a job that fails in the
background. Each is printed with the command that repeats it; the same seed makes the same choices.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.api_fuzz.run import fuzz


def main() -> int:
    """Run for a number of requests; 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--slowest", type=float, default=2.0, help="seconds an answer may take on a free machine"
    )
    parser.add_argument("--log", type=Path, help="a file for what the server logs")
    arguments = parser.parse_args()
    return fuzz(
        arguments.requests, arguments.seed, slowest_seconds=arguments.slowest, log=arguments.log
    )


if __name__ == "__main__":
    sys.exit(main())
