"""Find the running server, for commands beside it."""

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scripts.cli.failures import Failure

if TYPE_CHECKING:
    from scripts.cli.state_files import RunningServer
    from server.settings import Settings

FILE_NAME = "listening.json"


def remember_place(settings: "Settings") -> None:
    """Write the server's address into the locked data directory.

    An error is ignored: the server runs without it.
    """
    file = settings.data_directory / FILE_NAME
    unfinished = file.with_suffix(".new")
    with suppress(OSError):
        tls = None if settings.certificate is None else str(settings.certificate)
        place = {"host": settings.host, "port": settings.port, "certificate": tls}
        unfinished.write_text(json.dumps(place))
        unfinished.replace(file)


def as_it_runs(settings: "Settings", *, host: object = None, port: object = None) -> "Settings":
    """Return the settings with the address of the data directory's server, if it runs.

    `host` or `port` from the command line override it.
    """
    import msgspec

    from storage.embedded import running_url

    if settings.database_url is not None or (host, port) != (None, None):
        return settings
    if running_url(settings.data_directory) is None:
        return settings
    place = _place(settings.data_directory)
    return settings if place is None else msgspec.structs.replace(settings, **place)


def beside_running(settings: "Settings", *, is_named: bool) -> "Settings":
    """Return the settings with the data directory of the running server.

    A database of the caller's stays, as does a data directory if `is_named`. Raises Failure if
    several servers run, or if the one has a database of its own.
    """
    import msgspec

    from scripts.cli.state_files import running_servers

    if settings.database_url is not None:
        return settings
    servers = running_servers()
    if is_named:
        named = str(settings.data_directory.resolve())
        servers = [each for each in servers if each.data == named]
    else:
        _refuse_ambiguous(settings.data_directory, servers)
    if not servers:
        return settings
    [server] = servers
    if server.data is None:
        raise Failure(
            f"The server at {server.url} (process {server.pid}) has a database of its own: give"
            " this command the same settings (DATABASE_URL, or --config), or name a data directory"
            " with --data."
        )
    data = Path(server.data)
    if data != settings.data_directory.resolve():
        click.echo(f"parley: Using the server that runs at {server.url}, in {data}.", err=True)
    url = settings.external_url or server.url
    return msgspec.structs.replace(settings, data_directory=data, external_url=url)


def _refuse_ambiguous(default: Path, servers: "list[RunningServer]") -> None:
    """Raise Failure if more than one server runs."""
    from storage.embedded import running_url

    lines = [f"  --data {each.data}   {each.url}" for each in servers if each.data is not None]
    lines += [
        f"  DATABASE_URL as process {each.pid} has it   {each.url}"
        for each in servers
        if each.data is None
    ]
    is_listed = any(each.data == str(default.resolve()) for each in servers)
    if not is_listed and running_url(default):
        lines.append(f"  --data {default}   its private Postgres runs")
    if len(lines) > 1:
        raise Failure("\n".join([f"{len(lines)} servers run here: say which with one of", *lines]))


def _place(data: Path) -> dict[str, Any] | None:
    """Return the address in the file; None if it cannot be read."""
    try:
        noted = json.loads((data / FILE_NAME).read_text())
        certificate = noted.get("certificate")
        return {
            "host": str(noted["host"]),
            "port": int(noted["port"]),
            "certificate": None if certificate is None else Path(certificate),
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
