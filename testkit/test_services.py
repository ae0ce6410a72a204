"""Run a command with the services of the tests: Postgres, RabbitMQ, a browser, LDAP and more.

Running services are used; installed ones are started; on Debian, missing ones are installed. With
`--in-memory` before the command, Postgres is a new one, whose files are in memory like all
temporary files: creating and deleting thousands of them takes a file system on a disk longer than
most tests need for anything else.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from storage.embedded import EmbeddedError, EmbeddedPostgres
from storage.embedded.binaries import OLDEST_SUPPORTED, Binaries, find_binaries
from storage.migrate import MigrationError, connected
from testkit.faults.postgres import PrivatePostgres

ENVIRONMENT = os.environ  # noqa: TID251 - for the tests, which are no part of the server
DATABASE_VARIABLE = "PARLEY_TEST_DATABASE_URL"
AMQP_VARIABLE = "PARLEY_TEST_AMQP_URL"

DATABASE_URL = "postgresql://postgres@127.0.0.1:5432/postgres"
AMQP_URL = "amqp://guest:guest@127.0.0.1:5672/"

PYTHON_CLIENTS = Path(sys.prefix) / "python-clients"
"""An environment with protocol clients: for terminals, and to run bots."""
PYTHON_CLIENTS_NEED = Path(__file__).parents[1] / "tests" / "acceptance" / "python_clients.txt"

DIRECTORY_SERVER = Path(sys.prefix) / "slapd"
"""Debian's OpenLDAP, unpacked: installed, it would run as a service of the machine."""
POOLER = Path(sys.prefix) / "pgbouncer"
"""Debian's PgBouncer, unpacked likewise."""
PROXIES = Path(sys.prefix) / "proxies"
"""Debian's nginx and Caddy, unpacked likewise."""

NODE_CLIENTS = Path(sys.prefix) / "node-clients"
"""A folder with clients in JavaScript: of the protocol, and for uploads."""
NODE_CLIENTS_NEED = Path(__file__).parents[1] / "tests" / "acceptance" / "node_clients.txt"

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
NOTIFYING_BROWSERS = ("chromium", "google-chrome")
"""The headless shell denies notifications, whatever is granted."""

PROGRAMS = f"{ENVIRONMENT.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
"""Directories of programs that are not in the PATH of ordinary users."""

IN_MEMORY = "--in-memory"
MEMORY = Path("/dev/shm")
MEMORY_BYTES = 6 * 2**30
ROOMY_SETTINGS = {
    "max_connections": "300",
    "shared_buffers": "256MB",
    # What the planner knows of a table is then the same in each run.
    "autovacuum": "off",
}

START_SECONDS = 60

QUIETLY = ("-y", "-qq", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120")


def main() -> None:
    """Start the services, run the command in the arguments, and exit with its status."""
    command = sys.argv[1:]
    is_in_memory = command[:1] == [IN_MEMORY]
    with _in_memory() if is_in_memory else _database() as database_url:
        _broker()
        _browser()
        _terminal()
        _proxies()
        _python_clients()
        _node_clients()
        _web_client()
        _directory_server()
        _pooler()
        environment = {**ENVIRONMENT, DATABASE_VARIABLE: database_url}
        sys.exit(subprocess.call(command[is_in_memory:], env=environment))


@contextmanager
def _in_memory() -> Iterator[str]:
    """Return a new Postgres in memory, where from now on temporary files are, too.

    Where memory cannot be written to as a file system, or is small, both are on the disk.
    """
    has_room = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_BYTES
    with tempfile.TemporaryDirectory(
        prefix="parley-", dir=MEMORY if has_room else None, ignore_cleanup_errors=True
    ) as name:
        directory = Path(name)
        # The servers of tests have accounts of their own.
        directory.chmod(0o711)
        temporary = directory / "tmp"
        temporary.mkdir()
        temporary.chmod(0o1777)
        ENVIRONMENT["TMPDIR"] = tempfile.tempdir = str(temporary)
        postgres = PrivatePostgres(directory, ROOMY_SETTINGS, _oldest_binaries())
        try:
            postgres.create()
            asyncio.run(postgres.start())
            yield postgres.url()
        finally:
            postgres.close()


@contextmanager
def _database() -> Iterator[str]:
    """Return a Postgres in which databases can be created: a running one, else a new one."""
    url = ENVIRONMENT.get(DATABASE_VARIABLE, DATABASE_URL)
    if _lets_us_in(url):
        yield url
        return
    if DATABASE_VARIABLE in ENVIRONMENT:
        sys.exit(f"parley: no Postgres answers at the address in {DATABASE_VARIABLE}.")
    if not _is_installed("postgresql", "psql"):
        _install("postgresql")
    elif shutil.which("pg_ctlcluster"):
        _start_debian_clusters()
    if _lets_us_in(url):
        yield url
        return
    # The machine's Postgres wants a password, as it should: leave it alone.
    with tempfile.TemporaryDirectory(prefix="parley-") as directory:
        own = EmbeddedPostgres(Path(directory), {"max_connections": "200"})
        try:
            own.start()
            yield own.wait_until_ready().replace("//parley@/parley", "//postgres@/postgres")
        finally:
            own.stop()


def _oldest_binaries() -> Binaries | None:
    """The oldest supported version, if it is installed: the embedded server has the newest."""
    try:
        return find_binaries(OLDEST_SUPPORTED)
    except EmbeddedError:
        return None


def _lets_us_in(url: str) -> bool:
    try:
        with connected(url):
            return True
    except MigrationError:
        return False


def _start_debian_clusters() -> None:
    listed = subprocess.run(["pg_lsclusters", "-h"], capture_output=True, text=True, check=False)
    for line in listed.stdout.splitlines():
        version, name, _, state, *_ = line.split()
        if not state.startswith("online"):
            _as_root(["pg_ctlcluster", version, name, "start"])


def _broker() -> None:
    """Return a RabbitMQ that accepts connections."""
    address = urlsplit(ENVIRONMENT.get(AMQP_VARIABLE, AMQP_URL))
    if _answers(address.hostname, address.port):
        return
    if AMQP_VARIABLE in ENVIRONMENT:
        sys.exit(f"parley: no RabbitMQ answers at the address in {AMQP_VARIABLE}.")
    if not _is_installed("rabbitmq-server", "rabbitmq-server"):
        _install("rabbitmq-server")
    if not _answers(address.hostname, address.port):
        _start_rabbitmq()
    if not _wait_for(lambda: _answers(address.hostname, address.port)):
        sys.exit("parley: RabbitMQ does not start; its logs are in /var/log/rabbitmq.")


def _start_rabbitmq() -> None:
    if shutil.which("brew"):
        subprocess.run(["brew", "services", "start", "rabbitmq"], check=False)
    else:
        _as_root(["rabbitmq-server", "-detached"])


def _browser() -> None:
    """Install a Chromium that can show notifications, and one that takes a quarter of its time."""
    if not any(shutil.which(name) for name in NOTIFYING_BROWSERS):
        _install("chromium")
    if shutil.which("apt-get") and not shutil.which(BROWSERS[0]) and _is_offered(BROWSERS[0]):
        _install(BROWSERS[0])


def _terminal() -> None:
    """Return a terminal multiplexer with a readable screen."""
    if not shutil.which("tmux"):
        _install("tmux")


def _proxies() -> None:
    """Return the proxies of docs/deploy, which tests start themselves."""
    for name in ("nginx", "caddy"):
        unpack(name, PROXIES / name)


def _python_clients() -> None:
    """Return the protocol clients with their dependencies."""
    needs, installed = PYTHON_CLIENTS_NEED.read_text(), PYTHON_CLIENTS / "installed.txt"
    if installed.exists() and installed.read_text() == needs:
        return
    sys.stderr.write("Installing clients in Python for the tests ...\n")
    python = str(PYTHON_CLIENTS / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(PYTHON_CLIENTS)], check=True)
    subprocess.run(
        [*pip, "--no-deps", "--ignore-requires-python", "-r", str(PYTHON_CLIENTS_NEED)],
        check=True,
    )
    installed.write_text(needs)


def _directory_server() -> None:
    """Return the LDAP server program, which tests start themselves."""
    unpack("slapd", DIRECTORY_SERVER)


def _pooler() -> None:
    """Return the PgBouncer program, which tests start themselves."""
    unpack("pgbouncer", POOLER)


def unpack(package: str, place: Path) -> None:
    """Unpack the program's package and its dependencies; installed, it would be a service."""
    if place.exists() or shutil.which(package, path=PROGRAMS):
        return
    with tempfile.TemporaryDirectory(
        prefix=f"parley-{package}-",
        ignore_cleanup_errors=True,  # what apt has made there is root's
    ) as archives:
        _install(package, "--download-only", "-o", f"Dir::Cache::archives={archives}")
        unpacked = place.with_suffix(".unpacking")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(unpacked, ignore_errors=True)
        for archive in sorted(Path(archives).glob("*.deb")):
            subprocess.run(["dpkg", "-x", str(archive), str(unpacked)], check=True)
        unpacked.rename(place)


def _node_clients() -> None:
    """Return the clients in JavaScript with a runtime."""
    needs, installed = NODE_CLIENTS_NEED.read_text(), NODE_CLIENTS / "installed.txt"
    for program, package in (("node", "nodejs"), ("npm", "npm")):
        if not shutil.which(program):
            _install(package)
    if installed.exists() and installed.read_text() == needs:
        return
    sys.stderr.write("Installing clients in JavaScript for the tests ...\n")
    NODE_CLIENTS.mkdir(parents=True, exist_ok=True)
    npm = ["npm", "install", "--prefix", str(NODE_CLIENTS), "--no-audit", "--no-fund"]
    quiet = ["--ignore-scripts", "--no-save", "--loglevel=error"]
    subprocess.run([*npm, *quiet, *needs.split()], stdout=subprocess.DEVNULL, check=True)
    installed.write_text(needs)


def _web_client() -> None:
    """Build the browser client, if its sources have changed."""
    if subprocess.call([Path(__file__).parents[1] / "scripts" / "build-web"]) != 0:
        sys.exit("parley: the tests need the browser client.")


def _answers(host: str | None, port: int | None) -> bool:
    try:
        socket.create_connection((host or "127.0.0.1", port or 5672), timeout=5).close()
    except OSError:
        return False
    return True


def _wait_for(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.2)
    return False


def _is_installed(package: str, program: str) -> bool:
    if shutil.which("dpkg-query"):
        asked = ["dpkg-query", "--show", "--showformat=${Status}", package]
        told = subprocess.run(asked, capture_output=True, text=True, check=False)
        return told.stdout == "install ok installed"
    return shutil.which(program) is not None


def _is_offered(package: str) -> bool:
    """Whether this distribution has it."""
    _update_packages()
    known = subprocess.run(["apt-cache", "show", package], capture_output=True, check=False)
    return known.returncode == 0


def _install(package: str, *options: str) -> None:
    if not shutil.which("apt-get"):
        sys.exit(f"parley: the tests need {package}, and only on Debian it can be installed here.")
    sys.stderr.write(f"Installing {package} for the tests ...\n")
    _update_packages()
    _as_root(["apt-get", "install", *QUIETLY, *options, package])


@lru_cache
def _update_packages() -> None:
    """Read the list of packages, once: each reading takes seconds."""
    _as_root(["apt-get", "update", "-qq"])


def _as_root(command: list[str]) -> None:
    """Run the command as root, or print it if that is not possible."""
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    quiet = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", *command]
    done = subprocess.run(quiet, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit(f"parley: the tests need this, and it failed: sudo {' '.join(command)}")


if __name__ == "__main__":
    main()
