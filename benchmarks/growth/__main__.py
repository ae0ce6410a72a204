"""`python -m benchmarks.growth`: how costs grow, as figures in JSON and curves in SVG.

python -m benchmarks.growth                            everything, in all sizes
python -m benchmarks.growth --most 10000 users queues  some of it, up to a size
python -m benchmarks.growth --json docs/performance/growth.json --svg docs/performance
python -m benchmarks.growth --measured --json ... --svg ...  only draws what was measured before

What the file of --json holds already of other axes stays there.
"""

import argparse
import json
import os
import platform
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.growth.axes import AXES, Axis
from benchmarks.growth.curves import draw
from benchmarks.server import load_average
from scripts.cli.process import open_many_files


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [axis.name for axis in AXES]
    parser.add_argument("axes", nargs="*", choices=[[], *names], metavar="AXIS", help=str(names))
    parser.add_argument("--most", type=int, help="no size beyond this")
    parser.add_argument("--measured", action="store_true", help="measure nothing")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--svg", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    open_many_files()  # here, in the processes of clients, and in the servers that are measured
    known = arguments.json is not None and arguments.json.exists()
    found: dict[str, Any] = json.loads(arguments.json.read_text()) if known else {}
    for axis in AXES:
        if not arguments.measured and axis.name in (arguments.axes or names):
            found[axis.name] = _measure(axis, arguments.most)
            if arguments.json is not None:
                arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    if arguments.svg is not None:
        for name, measured in found.items():
            _draw(name, measured["sizes"], arguments.svg)


def _measure(axis: Axis, most: int | None) -> dict[str, Any]:
    sizes = tuple(size for size in axis.sizes if most is None or size <= most)
    machine = f"{platform.machine()}, {os.cpu_count()} processors, Python {sys.version.split()[0]}"
    measured: dict[str, Any] = {"machine": machine, "load before": [], "sizes": {}}
    load = load_average()
    for size, figures in axis.measure(sizes):
        measured["load before"].append(round(load, 1))
        measured["sizes"][str(size)] = {name: round(value, 3) for name, value in figures.items()}
        print(f"{axis.name} {size:,}, load {load:.1f}")
        for name, value in figures.items():
            print(f"    {name}: {value:,.2f}", flush=True)
        load = load_average()
    return measured


def _draw(axis: str, sizes: dict[str, dict[str, float]], folder: Path) -> None:
    curves: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(dict)
    for size, figures in sizes.items():
        for name, value in figures.items():
            unit = name.rsplit(" ", 1)[-1] if name.endswith((" ms", " KiB", " MiB")) else ""
            label = name.removesuffix(f" {unit}") if unit else name
            curves[unit].setdefault(label, []).append((float(size), value))
    for unit, all_of_unit in curves.items():
        drawn = {
            label: points for label, points in all_of_unit.items() if any(y for _, y in points)
        }
        if not drawn:
            continue
        file = folder / "-".join(filter(None, (axis, unit.lower()))).replace(" ", "-")
        file.with_suffix(".svg").write_text(draw(f"Growth with {axis}", axis, unit, drawn))


if __name__ == "__main__":
    main()
