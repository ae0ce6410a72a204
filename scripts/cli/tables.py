"""Output of commands: columns, or JSON for programs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import click

from server.runtime.formatting import span

SECONDS = "_seconds"
"""The suffix of columns that hold durations."""

Cell = str | int | float | bool | None | datetime


def show(rows: Sequence[Mapping[str, Cell]], *, as_json: bool, nothing: str) -> None:
    """Print the rows, which have the same columns; as text, print `nothing` if there are none."""
    if as_json:
        click.echo(json.dumps(list(rows), default=_plain, indent=2))
    elif not rows:
        click.echo(nothing)
    else:
        for line in lines_of(rows):
            click.echo(line)


def lines_of(rows: Sequence[Mapping[str, Cell]]) -> Iterator[str]:
    """Yield a line of names and a line for each of the rows, of which there is at least one."""
    names = list(rows[0])
    lines = [[name.removesuffix(SECONDS).replace("_", " ") for name in names]]
    lines += [[_text(name, row[name]) for name in names] for row in rows]
    widths = [max(len(line[n]) for line in lines) for n in range(len(names))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(cells).rstrip()


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
