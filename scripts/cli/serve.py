"""`parley serve`: the API, with any number of processes on one port."""

import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.loading import loading
from scripts.cli.options import read_settings, server_options

if TYPE_CHECKING:
    from server.runtime.service_manager import ServiceNotifier
    from server.runtime.siblings import Sibling
    from server.settings import Settings


@click.command()
@click.option("--processes", type=int, help="How many processes share the port.  [default: 1]")
@click.option("--lifeline", type=int, hidden=True)
@click.option("--sockets", "inherited", hidden=True)
@click.option("--reports", type=int, hidden=True)
@click.option("--watchdog", type=float, hidden=True)
@click.option("--siblings", "described", hidden=True)
@server_options
def serve(
    *,
    processes: int | None,
    lifeline: int | None,
    inherited: str | None,
    reports: int | None,
    watchdog: float | None,
    described: str | None,
    config: Path | None,
    **overrides: object,
) -> None:
    """Serve the API (production).

    Needs Postgres (DATABASE_URL) with all migrations; run workers separately (`parley worker`).
    SIGTERM stops it gracefully: open requests are finished, new ones are not accepted.
    """
    with sentences():
        settings = read_settings(config, processes=processes, **overrides)
        from server.runtime.service_manager import ServiceNotifier

        if inherited is not None:
            notifier = ServiceNotifier.of_child(reports, watchdog)
            serve_here(settings, _inherited(inherited), lifeline, notifier, _sibling(described))
            return
        _refuse_unfit(settings)
        from scripts.cli.state_files import announced

        notifier = ServiceNotifier.take()
        settings, sockets = listening(settings)
        with announced(settings):
            if settings.processes == 1:
                serve_here(settings, sockets, None, notifier)
            else:
                _supervise(settings, sockets, notifier)


def listening(settings: "Settings") -> "tuple[Settings, list[socket.socket]]":
    """Return the sockets to serve on, and the settings with their actual address.

    Sockets that the service manager has passed, or new ones. Raises ListenError, or Failure if
    another Parley of this user listens there.
    """
    import msgspec

    from server.runtime.service_manager import take_passed_sockets
    from server.runtime.sockets import ListenError, open_sockets, port_of

    passed = take_passed_sockets()
    try:
        sockets = passed or open_sockets(settings.host, settings.port)
    except ListenError:
        _refuse_if_running(settings)
        raise
    host = passed[0].getsockname()[0] if passed else settings.host
    return msgspec.structs.replace(settings, host=host, port=port_of(sockets)), sockets


def _refuse_if_running(settings: "Settings") -> None:
    """Raise Failure if a server of this user has the address."""
    from scripts.cli.state_files import running_servers

    for server in running_servers():
        if server.url == settings.public_url:
            raise Failure(
                f"Parley runs at {server.url} already (process {server.pid}): stop it first, or"
                " choose another port with --port."
            )


def serve_here(
    settings: "Settings",
    sockets: list[socket.socket],
    lifeline: int | None,
    notifier: "ServiceNotifier",
    sibling: "Sibling | None" = None,
) -> None:
    """Serve in this process."""
    with loading():
        import structlog
        import uvloop

        from scripts.cli.process import serve_until_stopped
        from server.runtime.sockets import port_of

    def ready(_emails: str | None) -> None:
        structlog.get_logger(__name__).info(
            "server.listening", host=settings.host, port=port_of(sockets)
        )

    uvloop.run(
        serve_until_stopped(
            settings, sockets, lifeline=lifeline, sibling=sibling, ready=ready, notifier=notifier
        )
    )


def _supervise(
    settings: "Settings", sockets: list[socket.socket], notifier: "ServiceNotifier"
) -> None:
    import structlog

    from server.runtime.supervisor import Supervisor

    logger = structlog.get_logger(__name__)
    Supervisor(
        command=[*_this_program(), *sys.argv[1:]],
        sockets=sockets,
        count=settings.processes,
        drain_seconds=settings.shutdown_delay_seconds + settings.drain_seconds,
        report=logger.info,
        notifier=notifier,
        ready_status=f"{settings.processes} processes serve port {settings.port}.",
    ).run()


def _this_program() -> list[str]:
    """Return the command line that started this process."""
    if Path(sys.argv[0]).name == "parley":
        return [sys.executable, sys.argv[0]]
    return [sys.executable, "-m", "scripts.cli.main"]


def _inherited(descriptors: str) -> list[socket.socket]:
    """Return the listening sockets that the parent process opened."""
    sockets = [socket.socket(fileno=int(number)) for number in descriptors.split(",")]
    for opened in sockets:
        opened.setblocking(False)
    return sockets


def _sibling(described: str | None) -> "Sibling | None":
    """Return what this process shares with others, as the parent process has described it."""
    from server.runtime.siblings import Sibling

    return None if described is None else Sibling.parse(described)


def _refuse_unfit(settings: "Settings") -> None:
    """Raise Failure early, once, rather than in each child process."""
    from scripts.cli.broker import refuse_unfit_broker
    from scripts.cli.database import database_of
    from server.settings import certificates
    from storage.health import refusal_of

    if settings.database_url is None:
        raise Failure(
            "`parley serve` needs a Postgres: set DATABASE_URL, or use `parley run`,"
            " which brings its own."
        )
    certificates.https(settings)
    refuse_unfit_broker(settings)
    with database_of(settings):
        if refusal := refusal_of(settings.database_url):
            raise Failure(refusal)
