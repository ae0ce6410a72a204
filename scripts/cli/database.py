"""The database of a command: the one in the settings, or the private one in the data directory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from server.runtime.formatting import counted

if TYPE_CHECKING:
    from server.settings import Settings


@contextmanager
def database_of(settings: "Settings", *, may_found: bool = False) -> Iterator["Settings"]:
    """The settings with the address of a migrated database, whether `parley run` runs or not.

    A private Postgres that is not running is started for the time of the command; one that is not
    there is made only for those who found something. Somebody
    else's database is not migrated behind their back: MigrationError where it lacks something.
    """
    from scripts.cli.migrating import bring_up_to_date
    from storage.migrate import MigrationError, pending

    if settings.database_url is not None:
        if names := pending(settings.database_url):
            raise MigrationError(
                f"The database lacks {counted(len(names), 'migration', 'migrations')}:"
                " run `parley migrate` first."
            )
        yield settings
        return
    with private_database_of(settings, may_found=may_found) as url:
        bring_up_to_date(settings, url)
        yield with_database(settings, url)


@contextmanager
def database_url_of(settings: "Settings") -> Iterator[str]:
    """The address of the database, as it is: whatever migrations it lacks."""
    if settings.database_url is not None:
        yield settings.database_url
    else:
        with private_database_of(settings) as url:
            yield url


@contextmanager
def private_database_of(settings: "Settings", *, may_found: bool = False) -> Iterator[str]:
    """The address of the private Postgres, started for the time of the block if need be.

    It is stopped whatever signal ends the command, but for SIGKILL; then the next one stops it.
    """
    from scripts.cli.failures import Failure
    from scripts.cli.signals import in_peace, interrupted_once
    from storage.embedded import EmbeddedPostgres, has_cluster, running_url

    if url := running_url(settings.data_directory):
        yield url
        return
    if not may_found and not has_cluster(settings.data_directory):
        raise Failure(
            f"There is no Parley data in {settings.data_directory}: start with `parley run` or"
            " `parley realm create`, or name the right directory with --data."
        )
    # Not in silence: the caller may have meant a server that runs with another directory.
    data = settings.data_directory
    click.echo(f"parley: No server runs in {data}: starting its Postgres meanwhile.", err=True)
    postgres = EmbeddedPostgres(data)
    with interrupted_once():
        try:
            postgres.start()
            yield postgres.wait_until_ready()
        finally:
            try:
                in_peace()
            finally:
                postgres.stop()


def with_database(settings: "Settings", url: str) -> "Settings":
    """The settings with this database."""
    import msgspec

    return msgspec.structs.replace(settings, database_url=url)
