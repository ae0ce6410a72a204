"""Options shared by several commands, and the settings they determine."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from server.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])

WHICH_REALM = (
    "The organization's subdomain, where there are several; '' names the one at the server's own"
    " address."
)

_PLACE = (
    click.option(
        "--config",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A TOML file with settings.  [env: PARLEY_CONFIG]",
    ),
    click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        help="Where data is kept.  [env: PARLEY_DATA]",
    ),
)

_SERVER = (
    click.option("--host", help="The address to listen on.  [env: PARLEY_HOST]"),
    click.option("--port", type=int, help="The port to listen on.  [env: PARLEY_PORT]"),
    click.option(
        "--rate-limits",
        type=click.Choice(["on", "off"]),
        help="Limit how often one may ask.  [env: PARLEY_RATE_LIMITS]",
    ),
    click.option(
        "--transport",
        type=click.Choice(["httptools", "tornado"]),
        help="The HTTP server that owns the port.  [env: PARLEY_TRANSPORT]",
    ),
)

MAX_NUMBER = 2**63 - 1
"""The largest number that the database holds."""
NUMBER = click.IntRange(1, MAX_NUMBER)
"""A number by which a row is known, or how many rows are meant."""

_PASSWORD = click.option(
    "--password-file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="A file that holds the password; - reads it from standard input.",
)


class OwnProcess:
    """Marks the context of a command that may configure the logging of its process."""


def place_options(command: Command) -> Command:
    """Options for the settings file and data directory, of every command with a database."""
    return _with(command, _PLACE)


def server_options(command: Command) -> Command:
    """Options for host and port, of commands that serve."""
    return _with(command, (*_SERVER, *_PLACE))


def limit_option(shown: int) -> Callable[[Command], Command]:
    """Return an option for the length of a list, `shown` by default."""
    return click.option(
        "--limit", type=NUMBER, default=shown, show_default=True, help="How many to show."
    )


def password_option(command: Command) -> Command:
    """An option for a password file, since all users of a machine can read command lines."""
    return _with(command, (_PASSWORD,))


def read_password(path: Path | None) -> str | None:
    """Return the password in the file, if there is one. Raises SettingsError."""
    if path is None:
        return None
    from server.settings import text_of

    with click.open_file(str(path), "rb") as file:
        text = text_of(file.readline(), origin=f"--password-file names {path}, which")
    return text.rstrip("\r\n")


def read_settings(config: Path | None = None, **overrides: object) -> "Settings":
    """Return the settings, overridden by the command line. Raises SettingsError.

    Configures logging accordingly if the command has a process of its own.
    """
    from server.settings import load_settings

    settings = load_settings(config=config, overrides=overrides)
    context = click.get_current_context(silent=True)
    if context is not None and isinstance(context.obj, OwnProcess):
        from server.telemetry.logs import configure_logging

        configure_logging(settings)
    return settings


def settings_beside(config: Path | None, data: Path | None) -> "Settings":
    """Return the settings of a command that runs with or without a running server.

    Raises SettingsError, and Failure if several servers could be meant.
    """
    from scripts.cli.running import beside_running
    from server.settings import names_data_directory

    settings = read_settings(config, data=data)
    is_named = names_data_directory(config=config, overrides={"data": data})
    return beside_running(settings, is_named=is_named)


def _with(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
