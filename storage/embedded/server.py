"""Start, adopt and stop the private Postgres."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from psycopg.pq import Conninfo

from storage.embedded.account import Account, choose_account
from storage.embedded.binaries import find_binaries, reachable
from storage.embedded.cluster import (
    DATABASE,
    ENVIRONMENT,
    ROLE,
    explain,
    make_cluster,
    server_command,
    write_access_rules,
)
from storage.embedded.door import Door, open_door
from storage.embedded.errors import EmbeddedError
from storage.embedded.layout import (
    NO_SPACE,
    Layout,
    check_space,
    choose_socket_directory,
    lock_data_directory,
    make_data_directory,
    remove_fallback,
)
from storage.embedded.pid_file import Postmaster, read_postmaster

FURTHER_CLIENT_VARIABLES = (
    *("PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PGREQUIRESSL", "PGDATESTYLE", "PGTZ"),
    *("PGGEQO", "PGCLIENTENCODING", "PGSSLMODE", "PGHOSTADDR"),
)
"""Variables that libpq reads besides its list of options."""

READY_SECONDS = 300
"""Timeout of a start. After a crash Postgres replays its log first, which takes time."""

STOP_SECONDS = 30

POLL_SECONDS = 0.005

LOG_LIMIT_BYTES = 10 * 1024 * 1024

PASSING_REASONS = ("already exists", "is still in use")
"""Errors of a start shortly after a kill, while the dead server's last processes end."""

RETRY_SECONDS = 15


@contextmanager
def embedded_postgres(data: Path) -> Iterator[str]:
    """Run the private Postgres of this data directory; yield the URL of its database.

    Raises EmbeddedError if that is impossible. A server that a killed Parley left running is
    adopted.
    """
    postgres = EmbeddedPostgres(data)
    try:
        postgres.start()
        yield postgres.wait_until_ready()
    finally:
        postgres.stop()


def running_url(data: Path) -> str | None:
    """Return the database's URL if a private Postgres runs there, started by any process."""
    postmaster = read_postmaster(Layout(data.resolve()).cluster)
    if postmaster is None or not postmaster.is_ready() or not postmaster.is_alive():
        return None
    return _url(postmaster.socket_directory)


def has_cluster(data: Path) -> bool:
    """Return whether a private Postgres was ever started in this directory."""
    return Layout(data.resolve()).cluster.exists()


class EmbeddedPostgres:
    """The private Postgres of one data directory, which is locked by this process."""

    def __init__(self, data: Path, settings: Mapping[str, str] | None = None) -> None:
        """Create it; `settings` override our defaults of the same names."""
        self._settings = dict(settings or {})
        self._layout = Layout(data.resolve())
        self._lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._adopted: Postmaster | None = None
        self._left_behind: Postmaster | None = None
        self._socket_directory: Path | None = None
        self._log_start = 0

    def start(self) -> None:
        """Start it, and return before it is ready."""
        make_data_directory(self._layout.data)
        if self._lock is None:
            self._lock = lock_data_directory(self._layout)
        with _disk_errors(self._layout):
            self._adopt_or_launch()

    def wait_until_ready(self) -> str:
        """Wait until connections are accepted; return the URL of the database.

        Raises EmbeddedError.
        """
        deadline = time.monotonic() + READY_SECONDS
        retry_until = time.monotonic() + RETRY_SECONDS
        while time.monotonic() < deadline:
            if postmaster := self._ready_postmaster():
                return _url(postmaster.socket_directory)
            if not self.is_running():
                self._start_again_or_raise(may_retry=time.monotonic() < retry_until)
            time.sleep(POLL_SECONDS)
        raise EmbeddedError(
            f"The private Postgres was not ready within {READY_SECONDS} seconds:"
            f" see {self._layout.log}."
        )

    def is_running(self) -> bool:
        """Whether its process runs, ready or not."""
        if self._process is not None:
            return self._process.poll() is None
        return self._adopted is not None and self._adopted.is_alive()

    def stop(self) -> None:
        """Stop it cleanly and release the data directory. Does nothing the second time."""
        if self._lock is None:
            return
        for number in (signal.SIGINT, signal.SIGQUIT):
            if self._signal_and_wait(number):
                break
        if self._socket_directory is not None:
            remove_fallback(self._layout, self._socket_directory)
        os.close(self._lock)
        self._lock = None

    def _adopt_or_launch(self) -> None:
        postmaster = read_postmaster(self._layout.cluster)
        self._process = self._adopted = None
        if postmaster is not None and postmaster.is_alive():
            self._adopted = postmaster
            self._socket_directory = postmaster.socket_directory
            if postmaster.is_ready() and not postmaster.has_socket():
                self._signal_and_wait(signal.SIGINT)
        else:
            self._launch(postmaster)

    def _launch(self, left_behind: Postmaster | None) -> None:
        layout = self._layout
        version = layout.version()
        account = choose_account(layout.cluster)
        binaries = find_binaries(version)
        if left_behind is not None and left_behind.number_is_taken():
            (layout.cluster / "postmaster.pid").unlink()
        with open_door(layout, account) as door:
            if version is None:
                check_space(layout.data)
            binaries = reachable(binaries, account, beside=layout.data if door.is_open else None)
            if version is None:
                make_cluster(layout, binaries, account, door)
            write_access_rules(layout)
            last = left_behind.socket_directory if left_behind else None
            self._left_behind = left_behind
            self._socket_directory = choose_socket_directory(layout, account, last)
            seen = door.path(self._socket_directory, layout)
            command = server_command(door.layout, binaries, seen, self._settings)
            # In a thread, since Ctrl-C interrupts only the main one: whatever the main thread was
            # about to do, the executor waits for the thread, which notes what it has started.
            with ThreadPoolExecutor(1) as starter:
                # It waits only for a thread that it knows. Interrupted while it starts one, it does
                # not know that thread yet: so there is one before there is something to wait for.
                starter.submit(int).result()
                starter.submit(self._spawn, command, account, door).result()

    def _spawn(self, command: list[str], account: Account, door: Door) -> None:
        switch = account.switch()
        with open(self._layout.log, "ab", opener=_private) as log:
            if log.tell() > LOG_LIMIT_BYTES:
                log.truncate(0)
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=ENVIRONMENT,
                pass_fds=door.descriptors,
                # Ctrl-C is meant for Parley, which stops Postgres when it has finished.
                start_new_session=True,
                user=switch.user,
                group=switch.group,
                extra_groups=switch.extra_groups,
            )

    def _ready_postmaster(self) -> Postmaster | None:
        """Return the server once it accepts connections; ignores a dead one's pid file."""
        postmaster = read_postmaster(self._layout.cluster)
        if postmaster is None or postmaster == self._left_behind:
            return None
        return postmaster if postmaster.is_ready() and postmaster.is_alive() else None

    def _start_again_or_raise(self, *, may_retry: bool) -> None:
        with self._layout.log.open("rb") as log:
            log.seek(self._log_start)
            output = log.read().decode(errors="replace")
        passing = self._adopted or any(reason in output for reason in PASSING_REASONS)
        if not (passing and may_retry):
            raise EmbeddedError(explain(output, self._layout))
        with _disk_errors(self._layout):
            self._adopt_or_launch()

    def _signal_and_wait(self, number: signal.Signals) -> bool:
        """Send the signal; return whether the server ended in time."""
        if self._process is not None:
            self._process.send_signal(number)
        elif self._adopted is not None:
            self._adopted.signal(number)
        deadline = time.monotonic() + STOP_SECONDS
        while self.is_running() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return not self.is_running()


@contextmanager
def _disk_errors(layout: Layout) -> Iterator[None]:
    """Turn errors of our own files into one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE:
            raise EmbeddedError(f"The disk that holds {layout.data} is full.") from error
        raise EmbeddedError(
            f"The data directory {layout.data} cannot be used: {error.strerror} ({error.filename})."
        ) from error


def _forget_client_variables() -> None:
    """Remove PGPORT and the like from the environment: they are meant for another Postgres."""
    for option in Conninfo.get_defaults():
        if option.envvar:
            os.environ.pop(option.envvar.decode(), None)  # noqa: TID251 - libpq reads it there
    for name in FURTHER_CLIENT_VARIABLES:
        os.environ.pop(name, None)  # noqa: TID251 - likewise


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner can read: failed statements are in the log."""
    return os.open(path, flags, 0o600)


def _url(socket_directory: Path) -> str:
    """Return the URL, for a process without such variables in its environment."""
    _forget_client_variables()
    return f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(socket_directory), safe='')}"
