"""Errors of the environment, shown as a sentence without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click
from typing_extensions import override


class Failure(click.ClickException):
    """An error that ends the command; its message says why, and how to fix it."""

    @override
    def show(self, file: IO[Any] | None = None) -> None:
        for line in self.message.splitlines():
            click.echo(f"parley: {line}", err=True, file=file)


@contextmanager
def sentences() -> Iterator[None]:
    """Raise a Failure for each error meant for operators."""
    try:
        yield
    except Exception as error:
        if isinstance(error, _speaking_errors()):
            raise Failure(_sentence(error)) from error
        raise


def _sentence(error: Exception) -> str:
    from server.messaging.job_broker import BrokerUnavailableError

    is_bare = isinstance(error, BrokerUnavailableError)  # it says only what went wrong
    return f"The broker does not answer: {error}" if is_bare else str(error)


def _speaking_errors() -> tuple[type[Exception], ...]:
    # Imported only now: a command that succeeds does not pay for them.
    from server.domain.errors import DomainError
    from server.messaging.job_broker import BrokerUnavailableError
    from server.runtime.extras import MissingExtraError
    from server.runtime.sockets import ListenError
    from server.settings import SettingsError
    from storage.backups import BackupError
    from storage.database import DatabaseUnavailableError
    from storage.embedded import EmbeddedError
    from storage.migrate import MigrationError
    from storage.rights import RightMissingError

    return (
        BackupError,
        BrokerUnavailableError,
        DatabaseUnavailableError,
        DomainError,
        EmbeddedError,
        ListenError,
        MigrationError,
        MissingExtraError,
        RightMissingError,
        SettingsError,
    )
