"""Create a cluster, and the settings of its Postgres."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from storage.embedded.account import Account, my_name
from storage.embedded.binaries import Binaries
from storage.embedded.door import Door
from storage.embedded.errors import EmbeddedError
from storage.embedded.layout import Layout

ROLE = "parley"
DATABASE = "parley"

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
"""The whole environment of Postgres's programs: PGHOST and the like would mislead them."""

BUILTIN_LOCALE_SINCE = 17
IO_METHOD_SINCE = 18

SETTINGS = {
    # Frugal: a small team's server on a small machine.
    "shared_buffers": "32MB",
    "max_connections": "40",
    "max_worker_processes": "2",
    "max_parallel_workers_per_gather": "0",
    "max_logical_replication_workers": "0",
    "autovacuum_max_workers": "2",
    "jit": "off",
    "max_wal_size": "512MB",
    # Full pages, after a checkpoint and when the search index splits one, take a third.
    "wal_compression": "on",
    # No acknowledged write is lost.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "archive_mode": "off",
    # Private.
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "cluster_name": "parley",
    # The same on every machine.
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_checkpoints": "off",
    "log_min_messages": "warning",
    # Without the row values of a failed statement.
    "log_error_verbosity": "terse",
}


def make_cluster(layout: Layout, binaries: Binaries, account: Account, door: Door) -> None:
    """Create the cluster with its role and database; it appears complete or not at all."""
    for leftover in layout.data.glob("unfinished-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=layout.data))
    account.own(unfinished)
    try:
        seen = door.path(unfinished, layout)
        programs = _Programs(layout, account, door)
        programs.run([binaries["initdb"], *_initdb_options(binaries, seen)])
        statements = f"CREATE ROLE {ROLE} LOGIN;\nCREATE DATABASE {DATABASE} OWNER {ROLE};\n"
        # Single-user mode, without sockets, for the two statements.
        programs.run([binaries["postgres"], "--single", "-D", str(seen), "postgres"], statements)
        unfinished.rename(layout.cluster)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def write_access_rules(layout: Layout) -> None:
    """Write the access rules: only Parley's account may connect, without a password."""
    name = my_name().replace('"', '""')
    rules = {
        layout.hba: "local all all peer map=parley\n",
        layout.ident: f'parley "{name}" {ROLE}\nparley "{name}" postgres\n',
    }
    for path, text in rules.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            path.chmod(0o644)


def server_command(
    seen: Layout, binaries: Binaries, socket_directory: Path, overrides: Mapping[str, str]
) -> list[str]:
    """Return the server's command line: all settings are on it, none in a file.

    `seen` and `socket_directory` are the paths as the server sees them.
    """
    settings = {
        **SETTINGS,
        "hba_file": str(seen.hba),
        "ident_file": str(seen.ident),
        "unix_socket_directories": str(socket_directory).replace(",", "\\,"),
    }
    if binaries.version >= IO_METHOD_SINCE:
        settings["io_method"] = "sync"
    settings |= overrides
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return [binaries["postgres"], "-D", str(seen.cluster), *options]


def explain(output: str, layout: Layout) -> str:
    """Return one sentence for the output of a Postgres that failed to start."""
    known = {
        "No space left on device": f"The disk that holds {layout.data} is full.",
        "Disk quota exceeded": f"The disk quota for {layout.data} is used up.",
        "database files are incompatible": (
            f"The database in {layout.data} was made by another version of Postgres."
        ),
        "could not create shared memory segment": (
            "The machine has no shared memory left for Postgres."
        ),
    }
    for complaint, sentence in known.items():
        if complaint in output:
            return sentence
    fatal = [line for line in output.splitlines() if "FATAL" in line or "PANIC" in line]
    said = (fatal or output.splitlines() or ["nothing"])[-1].strip()
    return f"The private Postgres in {layout.data} did not start; it said: {said}"


def _initdb_options(binaries: Binaries, directory: Path) -> list[str]:
    if binaries.version >= BUILTIN_LOCALE_SINCE:
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C.UTF-8"]
    else:
        locale = ["--locale=en_US.UTF-8" if sys.platform == "darwin" else "--locale=C.UTF-8"]
    access = ["--username=postgres", "--auth=peer", "--encoding=UTF8"]
    return [f"--pgdata={directory}", *access, *locale, "--no-instructions"]


@dataclass(frozen=True, slots=True)
class _Programs:
    """Run programs of Postgres to their end, as the account."""

    layout: Layout
    account: Account
    door: Door

    def run(self, command: list[str], stdin: str = "") -> None:
        switch = self.account.switch()
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env=ENVIRONMENT,
            pass_fds=self.door.descriptors,
            start_new_session=True,
            user=switch.user,
            group=switch.group,
            extra_groups=switch.extra_groups,
        )
        output = done.stdout + done.stderr
        if done.returncode != 0 or "ERROR" in output:
            raise EmbeddedError(explain(output, self.layout))
