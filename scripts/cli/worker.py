"""`parley worker`: queue processors in a process of their own."""

from pathlib import Path

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.loading import loading
from scripts.cli.options import place_options, read_settings


@click.command()
@click.argument("queues", nargs=-1)
@place_options
def worker(queues: tuple[str, ...], *, config: Path | None, data: Path | None) -> None:
    """Run queue processors (production).

    For the named QUEUES, or all. Any number of workers may run; one of them ships the event log to
    the queues, and the others are ready to take over. On SIGTERM, jobs in progress are finished.
    """
    with sentences():
        settings = read_settings(config, data=data)
        if settings.database_url is None:
            raise Failure(
                "`parley worker` needs a Postgres: set DATABASE_URL, or use `parley run`,"
                " which has the workers inside."
            )
        with loading():
            import uvloop

            from queue_processors.registry import UnknownProcessorError, named
            from scripts.cli.broker import refuse_unfit_broker
            from scripts.cli.database import database_of
            from scripts.cli.process import work_until_stopped
            from server.runtime.service_manager import ServiceNotifier

        try:
            processors = named(queues)
        except UnknownProcessorError as error:
            raise Failure(str(error)) from error
        refuse_unfit_broker(settings)
        with database_of(settings) as ready:
            notifier = ServiceNotifier.take()
            uvloop.run(work_until_stopped(ready, processors, with_shipper=True, notifier=notifier))
