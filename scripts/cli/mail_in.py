"""`parley mail-in`: receive email that becomes messages, in a process of its own."""

from pathlib import Path

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import place_options, read_settings


@click.command("mail-in")
@place_options
def mail_in(*, config: Path | None, data: Path | None) -> None:
    """Receive email that becomes messages (production).

    Listens on PARLEY_MAIL_IN_PORT, by LMTP or SMTP. Servers and workers need the same settings,
    from which they build the addresses. On SIGTERM, open sessions are finished.
    """
    with sentences():
        settings = read_settings(config, data=data)
        if settings.mail_in_port is None:
            raise Failure("Set PARLEY_MAIL_IN_PORT: the port on which email comes in.")
        if settings.database_url is None:
            raise Failure(
                "`parley mail-in` needs a Postgres: set DATABASE_URL, or use `parley run`,"
                " which takes email, too."
            )
        import uvloop

        from scripts.cli.broker import refuse_unfit_broker
        from scripts.cli.database import database_of
        from scripts.cli.process import take_mail_until_stopped
        from server.runtime.service_manager import ServiceNotifier, take_passed_sockets

        sockets, notifier = take_passed_sockets(), ServiceNotifier.take()
        refuse_unfit_broker(settings)
        with database_of(settings) as ready:
            uvloop.run(take_mail_until_stopped(ready, sockets, notifier))
