"""What commands show: columns for people, JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

import click

SECONDS = "_seconds"
"""Columns whose name ends so hold lengths of time."""

Cell = str | int | float | bool | None | datetime


def show(rows: Sequence[Mapping[str, Cell]], *, as_json: bool, nothing: str) -> None:
    """The rows, which all have the same columns; for people, `nothing` where there are none."""
    if as_json:
        click.echo(json.dumps(list(rows), default=_plain, indent=2))
    elif not rows:
        click.echo(nothing)
    else:
        names = list(rows[0])
        lines = [[name.removesuffix(SECONDS).replace("_", " ") for name in names]]
        lines += [[_text(name, row[name]) for name in names] for row in rows]
        widths = [max(len(line[n]) for line in lines) for n in range(len(names))]
        for line in lines:
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            click.echo("  ".join(cells).rstrip())


def span(seconds: float) -> str:
    """A length of time, as people say it."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def counted(number: int, one: str, many: str) -> str:
    """So many of something."""
    return f"{number:,} {one if number == 1 else many}"


def _text(name: str, cell: Cell) -> str:
    if cell is None:
        return "-"
    if name.endswith(SECONDS) and isinstance(cell, int | float):
        return span(cell)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, datetime):
        return cell.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return str(cell)


def _plain(value: object) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()
