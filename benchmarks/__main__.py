"""`python -m benchmarks`: measures a server of its own, and prints what it saw.

python -m benchmarks                      everything, three runs each
python -m benchmarks sends register       some of it
python -m benchmarks --runs 1 --json out.json
"""

import argparse
import json
import platform
import sys
from pathlib import Path

from benchmarks.figures import median_and_range
from benchmarks.measures import MEASURES
from benchmarks.server import load_average
from benchmarks.web.budgets import BUDGETS
from scripts.cli.process import open_many_files


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *MEASURES], metavar="NAME")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    open_many_files()  # here, in the processes of clients, and in the servers that are measured
    names = arguments.names or list(MEASURES)
    print(f"{platform.machine()}, Python {platform.python_version()}")
    found: dict[str, list[float]] = {}
    loads: dict[str, list[float]] = {}
    try:
        for name in names:
            for run in range(arguments.runs):
                load = load_average()
                print(
                    f"{name}, run {run + 1} of {arguments.runs}, load {load:.2f}", file=sys.stderr
                )
                for figure, value in MEASURES[name]().items():
                    found.setdefault(figure, []).append(value)
                    loads.setdefault(figure, []).append(load)
    finally:
        # Also what was found before something went wrong.
        _print_table(found, loads)
        if arguments.json:
            answer = {"figures": found, "load before": loads}
            arguments.json.write_text(json.dumps(answer, indent=1))


def _print_table(found: dict[str, list[float]], loads: dict[str, list[float]]) -> None:
    rows = [("figure", "median", "range", "at most", "load before")]
    for figure, values in found.items():
        median, least, most = median_and_range(values)
        load = ", ".join(f"{each:.1f}" for each in loads[figure])
        budget = f"{BUDGETS[figure]:,.1f}" if figure in BUDGETS else ""
        rows.append((figure, f"{median:,.2f}", f"{least:,.2f} - {most:,.2f}", budget, load))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for name, *figures in rows:
        cells = [cell.rjust(width) for cell, width in zip(figures, widths[1:], strict=True)]
        print("  ".join([name.ljust(widths[0]), *cells]))


if __name__ == "__main__":
    main()
