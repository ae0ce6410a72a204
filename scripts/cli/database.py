"""The database of a command: from the settings, or the private one in the data directory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from server.runtime.formatting import counted

if TYPE_CHECKING:
    from server.settings import Settings


@contextmanager
def database_of(settings: "Settings", *, may_found: bool = False) -> Iterator["Settings"]:
    """Return settings with the URL of a migrated database, whether or not `parley run` runs.

    A private Postgres that is not running is started for the duration of the command, and created
    only for commands that create an organization. A configured database is not migrated:
    MigrationError if migrations are missing.
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
    """Return the URL of the database, whatever migrations are missing."""
    if settings.database_url is not None:
        yield settings.database_url
    else:
        with private_database_of(settings) as url:
            yield url


@contextmanager
def private_database_of(settings: "Settings", *, may_found: bool = False) -> Iterator[str]:
    """Return the URL of the private Postgres, started for the duration of the block if necessary.

    It is stopped on every signal but SIGKILL; after that, the next command stops it.
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
    """Return the settings with this database."""
    import msgspec

    return msgspec.structs.replace(settings, database_url=url)
