"""`parley restore`: restore the database from a backup."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.backup import Progress
from scripts.cli.database import private_database_of
from scripts.cli.failures import Failure, sentences
from scripts.cli.options import place_options, read_settings
from server.runtime.formatting import counted, size

if TYPE_CHECKING:
    from server.settings import Settings
    from storage.backups import BackupManifest

SPARE_BYTES = 256 * 1024**2
"""Additional room for a new private database and its write-ahead log."""


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Put it in the place of what the database holds.")
@click.option("--dry-run", is_flag=True, help="Only say whether it could be restored.")
@place_options
def restore(
    file: Path, *, force: bool, dry_run: bool, config: Path | None, data: Path | None
) -> None:
    """Restore the database from the backup in FILE.

    Into the database of DATABASE_URL or the private one, on any supported version of Postgres,
    while no server and no worker uses it. The file is verified first; then everything is restored
    in one transaction. Clients register new event queues.
    """
    with sentences():
        from storage import backups

        settings = read_settings(config, data=data)
        manifest = backups.verify(file, Progress("Comparing"))
        if problem := backups.refusal_of_version(manifest):
            raise Failure(problem)
        _require_room(settings, manifest)
        if settings.database_url is not None:
            _restore(settings, settings.database_url, file, force=force, dry_run=dry_run)
        else:
            _restore_privately(settings, file, force=force, dry_run=dry_run)
    made_at = manifest.made_at.strftime("%Y-%m-%d %H:%M:%S UTC")
    rows = counted(manifest.rows, "row", "rows")
    uploads = counted(manifest.files, "file", "files")
    done = "can be restored" if dry_run else "are restored"
    click.echo(f"{rows} and {uploads} of {made_at}, by Parley {manifest.version}, {done}.")


def _restore(settings: "Settings", url: str, file: Path, *, force: bool, dry_run: bool) -> None:
    from storage import backups

    if refusal := backups.refusal(url, replace=force):
        raise Failure(refusal)
    if not dry_run:
        from scripts.cli.migrating import bring_up_to_date

        backups.restore(url, file, folder=settings.files, progress=Progress("Restoring"))
        bring_up_to_date(settings, url)


def _restore_privately(settings: "Settings", file: Path, *, force: bool, dry_run: bool) -> None:
    """Restore into the private database, created if necessary and started for the duration."""
    from storage.embedded import has_cluster, running_url

    if running_url(settings.data_directory):
        raise Failure(f"Parley runs in {settings.data_directory}: stop it first.")
    if dry_run and not has_cluster(settings.data_directory):
        return
    with private_database_of(settings, may_found=True) as url:
        _restore(settings, url, file, force=force, dry_run=dry_run)


def _require_room(settings: "Settings", manifest: "BackupManifest") -> None:
    """Raise Failure if the data directory's disk is too small; other hosts are not checked."""
    rows = manifest.database_bytes + SPARE_BYTES if settings.database_url is None else 0
    data = settings.data_directory
    place = next(path for path in (data, *data.parents) if path.exists())
    needed = rows + manifest.file_bytes
    free = shutil.disk_usage(place).free
    if free < needed:
        raise Failure(
            f"The backup needs about {size(needed)}, and only {size(free)} are free for {data}."
        )
