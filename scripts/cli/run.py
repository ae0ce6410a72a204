"""`parley run`: server, workers and a private Postgres in one process."""

import asyncio
import signal
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.loading import loading
from scripts.cli.options import read_settings, server_options
from scripts.cli.signals import in_peace

if TYPE_CHECKING:
    from server.mail.folder import MailFolder
    from server.runtime.service_manager import ServiceNotifier
    from server.settings import Settings
    from storage.embedded import EmbeddedPostgres

LOOK_AFTER_SECONDS = 1.0
"""The interval between checks that Postgres runs."""


@click.command()
@server_options
def run(*, config: Path | None, **overrides: object) -> None:
    """Run everything: the API, the workers, and a private Postgres.

    The first start creates an organization and prints how to sign in. Ctrl-C stops it; the data is
    kept.
    """
    _stop_like_ctrl_c(signal.SIGTERM, signal.SIGHUP)
    with sentences():
        from scripts.cli.serve import listening
        from scripts.cli.state_files import announced
        from server.runtime.service_manager import ServiceNotifier

        settings = read_settings(config, **overrides)
        notifier = ServiceNotifier.take()
        settings, sockets = listening(settings)
        if settings.database_url is None:
            _serve_with_postgres(settings, sockets, notifier)
        else:
            with announced(settings):
                _serve(settings, sockets, None, notifier)


def _serve_with_postgres(
    settings: "Settings", sockets: list[socket.socket], notifier: "ServiceNotifier"
) -> None:
    from scripts.cli.database import with_database
    from scripts.cli.running import remember_place
    from scripts.cli.state_files import announced
    from storage.embedded import EmbeddedPostgres

    postgres = EmbeddedPostgres(settings.data_directory)
    try:
        postgres.start()
        remember_place(settings)
        with announced(settings):
            _import_while_postgres_starts()
            ready = with_database(settings, postgres.wait_until_ready())
            _serve(ready, sockets, postgres, notifier)
    finally:
        try:
            in_peace()
        finally:  # Ctrl-C may come even there
            postgres.stop()


def _import_while_postgres_starts() -> None:
    with loading():
        import queue_processors.registry  # noqa: F401
        import scripts.cli.process  # noqa: F401


def _serve(
    settings: "Settings",
    sockets: list[socket.socket],
    postgres: "EmbeddedPostgres | None",
    notifier: "ServiceNotifier",
) -> None:
    """Migrate, and serve until stopped."""
    import uvloop

    from queue_processors.registry import PROCESSORS
    from scripts.cli.broker import refuse_unfit_broker
    from scripts.cli.first_start import OrganizationBootstrap
    from scripts.cli.migrating import bring_up_to_date
    from scripts.cli.process import serve_until_stopped
    from storage.health import refusal_of

    assert settings.database_url is not None
    refuse_unfit_broker(settings)
    bring_up_to_date(settings, settings.database_url)
    if postgres is None and (refusal := refusal_of(settings.database_url)):
        raise Failure(refusal)
    welcome = OrganizationBootstrap(settings, None if postgres is None else settings.data_directory)
    uvloop.run(
        serve_until_stopped(
            settings,
            sockets,
            processors=PROCESSORS,
            with_shipper=True,
            takes_mail=True,
            beside=[] if postgres is None else [_look_after(postgres)],
            prepare=welcome.prepare,
            ready=welcome.show,
            mail=None if postgres is None or settings.smtp_host else _folder(settings),
            notifier=notifier,
        )
    )


def _folder(settings: "Settings") -> "MailFolder":
    from server.mail.folder import MailFolder

    return MailFolder(settings.data_directory / "emails")


async def _look_after(postgres: "EmbeddedPostgres") -> None:
    """Restart the private Postgres if it has died."""
    while True:
        await asyncio.sleep(LOOK_AFTER_SECONDS)
        if not postgres.is_running():
            await asyncio.to_thread(_start_again, postgres)


def _start_again(postgres: "EmbeddedPostgres") -> None:
    postgres.start()
    postgres.wait_until_ready()


def _stop_like_ctrl_c(*numbers: signal.Signals) -> None:
    """Stop gracefully on these signals too, until the server handles them.

    Signals that are ignored (nohup) stay ignored.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        in_peace()
        sys.exit(0)

    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
