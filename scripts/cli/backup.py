"""`parley backup`: a consistent copy of the whole server in one file."""

import time
from pathlib import Path

import click

from scripts.cli.database import database_url_of
from scripts.cli.failures import Failure, sentences
from scripts.cli.options import place_options, settings_beside
from server.runtime.formatting import counted, size

PROGRESS_SECONDS = 2.0


class Progress:
    """A progress display for the terminal."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._next_at = time.monotonic() + PROGRESS_SECONDS

    def __call__(self, table: str, rows: int, octets: int) -> None:
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + PROGRESS_SECONDS
            click.echo(f"{self._verb} {table}: {rows:,}, {size(octets)} ...", err=True)


@click.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@place_options
def backup(file: Path | None, *, force: bool, config: Path | None, data: Path | None) -> None:
    """Write a backup of the whole server into FILE, with or without a running server.

    It is a consistent snapshot: every write acknowledged before the command began is in it. The
    file is then read again and compared with what was written. It contains all messages, API keys
    and password hashes: protect it like the database.
    """
    with sentences():
        from server.domain.clock import SystemClock
        from server.runtime.version import VERSION
        from storage import backups

        settings = settings_beside(config, data)
        now = SystemClock().now()
        path = file or Path(f"parley-{now:%Y%m%d-%H%M%S}.backup")
        if path.exists() and not force:
            raise Failure(f"{path} is there already: name another file, or use --force.")
        with database_url_of(settings) as url:
            progress, folder = Progress("Writing"), settings.files
            backups.dump(url, path, folder=folder, version=VERSION, now=now, progress=progress)
        manifest = backups.verify(path, Progress("Comparing"))
    rows = counted(manifest.rows, "row", "rows")
    tables = counted(len(manifest.tables), "table", "tables")
    written = size(path.stat().st_size)
    uploads = counted(manifest.files, "file", "files")
    click.echo(
        f"{path}: {rows} of {tables} and {uploads}, {written}, read again and found to be right."
    )
