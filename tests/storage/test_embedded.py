"""The private Postgres starts, survives, is adopted, and says in a sentence why it cannot."""

import fcntl
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from storage.embedded import EmbeddedError, EmbeddedPostgres, embedded_postgres, running_url
from storage.embedded.account import Account, choose_account
from storage.embedded.binaries import Binaries, find_binaries, reachable
from storage.embedded.cluster import explain, make_cluster
from storage.embedded.door import Door
from storage.embedded.layout import Layout, check_space
from storage.embedded.pid_file import Postmaster, read_postmaster

IS_ROOT = os.geteuid() == 0

KEEP_RUNNING = """
import sys, time
from pathlib import Path
from typing import Any
from storage.embedded import EmbeddedPostgres
postgres = EmbeddedPostgres(Path(sys.argv[1]))
postgres.start()
print(postgres.wait_until_ready(), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def cluster():
    """A stopped data directory with a cluster, to copy: making one takes half a second."""
    data = Path(tempfile.mkdtemp(prefix="parley-"))
    with embedded_postgres(data):
        pass
    yield data
    shutil.rmtree(data)


@pytest.fixture
def data(cluster: Path, empty: Path) -> Path:
    """A data directory of its own with a cluster."""
    copy_cluster(cluster, empty)
    return empty


@pytest.fixture(scope="module")
def running():
    """A data directory with a running server, for read-only questions, and its address."""
    data = Path(tempfile.mkdtemp(prefix="parley-"))
    with embedded_postgres(data) as url:
        yield data, url
    shutil.rmtree(data)


@pytest.fixture
def empty():
    """A directory for data that does not exist yet."""
    parent = Path(tempfile.mkdtemp(prefix="parley-"))
    parent.chmod(0o711)
    yield parent / "data"
    shutil.rmtree(parent)


def copy_cluster(cluster: Path, target: Path) -> None:
    target.mkdir(mode=0o711, parents=True)
    subprocess.run(["cp", "-a", str(cluster / "postgres"), str(target)], check=True)
    if (cluster / "binaries").exists():
        (target / "binaries").symlink_to(cluster / "binaries")


def ask(url: str, query: str):
    with psycopg.connect(url) as connection:
        cursor = connection.execute(query)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def postmaster_of(data: Path) -> Postmaster:
    found = read_postmaster(data.resolve() / "postgres")
    assert found is not None
    return found


def as_ordinary_user(function: Callable[[], str]) -> str:
    """What the function returns, or raises, in a process without the rights of root."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if IS_ROOT:
                ordinary = pwd.getpwnam("nobody")
                os.setgroups([])
                os.setgid(ordinary.pw_gid)
                os.setuid(ordinary.pw_uid)
            os.write(writer, function().encode())
        except BaseException as error:  # noqa: BLE001 - the parent reads it
            os.write(writer, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text


def test_the_first_start_makes_a_database_that_keeps_what_it_was_given(empty: Path):
    with embedded_postgres(empty) as url:
        ask(url, "CREATE TABLE kept AS SELECT 7 AS n")
    with embedded_postgres(empty) as url:
        assert ask(url, "SELECT n FROM kept") == 7

    assert running_url(empty) is None


def test_nothing_that_was_answered_may_be_lost(running):
    _, url = running
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        assert ask(url, f"SHOW {setting}") == "on"


def test_it_is_small(running):
    _, url = running
    assert ask(url, "SHOW shared_buffers") == "32MB"
    assert ask(url, "SHOW max_connections") == "40"
    assert ask(url, "SHOW archive_mode") == "off"


def test_letters_beyond_ascii_are_letters(running):
    _, url = running
    assert ask(url, "SELECT lower('ÄÉЖ')") == "äéж"
    assert ask(url, "SELECT 'Straße ÄRGER' ILIKE '%ärger'") is True


def test_it_listens_on_a_private_socket_only(running):
    data, url = running
    assert ask(url, "SHOW listen_addresses") == ""
    directory = postmaster_of(data).socket_directory
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / ".s.PGSQL.5432").stat().st_mode) == 0o700


def test_another_user_is_not_let_in(data: Path):
    with embedded_postgres(data) as url:
        # Even where the directory of the socket stands open, Postgres asks the kernel who it is.
        directory = postmaster_of(data).socket_directory
        directory.chmod(0o755)
        (directory / ".s.PGSQL.5432").chmod(0o777)
        if IS_ROOT:
            assert "Peer authentication failed" in as_ordinary_user(lambda: ask(url, "SELECT '1'"))
        else:
            with pytest.raises(psycopg.OperationalError, match="Peer authentication failed"):
                ask(url.replace("parley@", "nobody@"), "SELECT 1")


def test_the_role_of_the_application_is_no_superuser(running):
    _, url = running
    assert ask(url, "SHOW is_superuser") == "off"


def test_it_never_runs_as_root(running):
    data, _ = running
    owner = Path(f"/proc/{postmaster_of(data).pid}").stat().st_uid
    assert owner != 0
    assert (data / "postgres").stat().st_uid == owner
    assert stat.S_IMODE((data / "postgres").stat().st_mode) == 0o700


def test_an_ordinary_user_can_run_it(empty: Path):
    if IS_ROOT:
        empty.mkdir()
        ordinary = pwd.getpwnam("nobody")
        os.chown(empty, ordinary.pw_uid, ordinary.pw_gid)

    def run() -> str:
        with embedded_postgres(empty) as url:
            return f"{os.geteuid() != 0} {ask(url, 'SELECT 1')}"

    assert as_ordinary_user(run) == "True 1"


def test_a_closed_directory_on_the_way_stays_closed(empty: Path, cluster: Path):
    closed = empty / "home"
    copy_cluster(cluster, closed / "data")
    closed.chmod(0o700)

    with embedded_postgres(closed / "data") as url:
        assert ask(url, "SELECT 1") == 1
        assert running_url(closed / "data") == url
        assert postmaster_of(closed / "data").socket_directory == closed / "data" / "socket"
    with embedded_postgres(closed / "data") as url:
        assert ask(url, "SELECT 1") == 1

    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


def test_it_is_known_which_directory_is_closed(empty: Path):
    account = Account(12345, 12345, "nobody")
    closed = empty / "home"
    (closed / "data").mkdir(parents=True)
    closed.chmod(0o700)

    assert account.first_closed(closed / "data") == closed
    assert account.first_closed(empty.parent) is None


def test_a_copy_of_the_programs_finds_its_libraries(empty: Path):
    original = find_binaries()
    someone_else = Account(12345, 12345, "someone")

    copy = reachable(original, someone_else, beside=empty)

    assert copy.directory.is_relative_to(empty)
    told = subprocess.run([copy["initdb"], "--version"], capture_output=True, text=True, check=True)
    assert f" {original.version}." in told.stdout
    assert reachable(original, someone_else, beside=empty) == copy


def test_a_long_path_gets_a_short_directory_for_the_socket(empty: Path, cluster: Path):
    deep = empty / ("d" * 60) / ("e" * 60)
    copy_cluster(cluster, deep)

    with embedded_postgres(deep) as url:
        assert ask(url, "SELECT 1") == 1
        directory = postmaster_of(deep).socket_directory
        assert not directory.is_relative_to(deep)
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert running_url(deep) == url
    assert not directory.exists()


def test_one_directory_serves_one_parley(running):
    data, url = running
    with pytest.raises(EmbeddedError, match=rf"in use by another Parley \(process {os.getpid()}\)"):
        EmbeddedPostgres(data).start()
    assert running_url(data) == url
    assert ask(url, "SELECT 1") == 1


def test_after_kill_9_of_its_parent_it_is_adopted(data: Path):
    with subprocess.Popen(
        [sys.executable, "-c", KEEP_RUNNING, str(data)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout
        url = parent.stdout.readline().strip()
        before = postmaster_of(data)
        parent.kill()
        parent.wait()
    assert before.is_alive()
    assert ask(url, "SELECT 1") == 1

    with embedded_postgres(data) as adopted:
        assert adopted == url
        assert postmaster_of(data).pid == before.pid

    assert not before.is_alive()


def test_after_kill_9_of_postgres_too_it_is_started_again(data: Path):
    first = EmbeddedPostgres(data)
    first.start()
    url = first.wait_until_ready()
    ask(url, "CREATE TABLE kept AS SELECT 7 AS n")
    os.kill(postmaster_of(data).pid, signal.SIGKILL)
    first.stop()
    assert not first.is_running()

    with embedded_postgres(data) as url:
        assert ask(url, "SELECT n FROM kept") == 7


def test_a_stale_note_with_the_number_of_another_process_is_no_obstacle(data: Path):
    with embedded_postgres(data):
        pass
    note = data / "postgres" / "postmaster.pid"
    note.write_text(
        f"{os.getpid()}\n{data}/postgres\n1700000000\n5432\n{data}/socket\n\n  1 2\nready   \n"
    )
    owner = (data / "postgres").stat()
    os.chown(note, owner.st_uid, owner.st_gid)

    with embedded_postgres(data) as url:
        assert ask(url, "SELECT 1") == 1


def test_a_server_that_lost_its_socket_is_started_again(data: Path):
    first = EmbeddedPostgres(data)
    first.start()
    first.wait_until_ready()
    before = postmaster_of(data)
    (before.socket_directory / ".s.PGSQL.5432").unlink()
    os.close(first._lock)  # type: ignore[arg-type]
    first._process.poll()  # type: ignore[union-attr]

    second = EmbeddedPostgres(data)
    second.start()
    first._process.wait()  # type: ignore[union-attr]
    assert ask(second.wait_until_ready(), "SELECT 1") == 1
    assert postmaster_of(data).pid != before.pid
    second.stop()


def test_a_cluster_of_a_newer_version_is_one_sentence(data: Path):
    (data / "postgres" / "PG_VERSION").write_text("99\n")

    with pytest.raises(
        EmbeddedError, match=r"made by Postgres 99, and here is only Postgres \d+: "
    ):
        EmbeddedPostgres(data).start()


def test_a_place_that_cannot_be_written_is_one_sentence(empty: Path):
    empty.write_text("a file")

    with pytest.raises(
        EmbeddedError, match=r"cannot be written \(.*\): choose another with --data"
    ):
        EmbeddedPostgres(empty).start()

    def start_where_only_root_may() -> str:
        with embedded_postgres(Path("/usr/parley")) as url:
            return url

    assert "cannot be written (Permission denied)" in as_ordinary_user(start_where_only_root_may)


def test_a_full_disk_is_one_sentence(empty: Path, monkeypatch: pytest.MonkeyPatch):
    layout = Layout(empty)
    assert explain("FATAL:  could not write: No space left on device", layout) == (
        f"The disk that holds {empty} is full."
    )
    free = shutil.disk_usage("/")._replace(free=1024**2)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(EmbeddedError, match="is full: a new database needs 120 MB, and 1 MB"):
        check_space(empty)


def test_what_postgres_says_is_passed_on(data: Path):
    (data / "postgres" / "global" / "pg_control").unlink()

    with (
        pytest.raises(EmbeddedError, match=r"did not start; it said: .*pg_control"),
        embedded_postgres(data),
    ):
        pass


def test_the_lock_is_not_inherited(data: Path):
    with embedded_postgres(data):
        pass
    with (data / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_broken_first_start_leaves_nothing_behind(empty: Path):
    empty.mkdir(mode=0o711)
    (empty / "unfinished-abc").mkdir()
    programs = empty / "bin"
    programs.mkdir()
    for program in ("initdb", "postgres"):
        (programs / program).write_text(
            "#!/bin/sh\necho 'initdb: error: No space left on device'\nexit 1"
        )
        (programs / program).chmod(0o755)
    layout = Layout(empty)
    with pytest.raises(EmbeddedError, match="is full"):
        make_cluster(layout, Binaries(programs, 18), choose_account(layout.cluster), Door(layout))

    assert [path.name for path in empty.iterdir()] == ["bin"]


def test_variables_for_another_postgres_do_not_lead_us_there(tmp_path, monkeypatch):
    """Whatever libpq reads from the environment is meant for a Postgres that is not ours."""
    for option in psycopg.pq.Conninfo.get_defaults():
        if option.envvar:
            monkeypatch.setenv(option.envvar.decode(), "59999")
    monkeypatch.setenv("PGSERVICE", "nowhere")
    with embedded_postgres(tmp_path / "data") as url, psycopg.connect(url) as connection:
        assert connection.info.dbname == "parley"


def interrupt_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    spawn = EmbeddedPostgres._spawn

    def interrupted(*arguments: Any) -> None:
        spawn(*arguments)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)

    monkeypatch.setattr(EmbeddedPostgres, "_spawn", interrupted)


def interrupt_before_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    submit = ThreadPoolExecutor.submit

    def interrupted(*arguments: Any) -> Any:
        submitted = submit(*arguments)
        submitted.result()
        if arguments[1].__name__ == "_spawn":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        return submitted

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)


@pytest.mark.parametrize("interrupt", [interrupt_while_it_waits, interrupt_before_it_waits])
def test_an_interrupt_while_it_is_launched_leaves_nothing_running(
    data: Path, monkeypatch: pytest.MonkeyPatch, interrupt: Callable[[pytest.MonkeyPatch], None]
):
    interrupt(monkeypatch)
    postgres = EmbeddedPostgres(data)
    # A shell that runs the tests in the background has it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            postgres.start()
    finally:
        signal.signal(signal.SIGINT, before)
    process = postgres._process
    assert process is not None
    postgres.stop()
    assert process.poll() is not None


def test_an_interrupt_while_the_thread_starts_that_starts_it_leaves_nothing_behind(
    data: Path, monkeypatch: pytest.MonkeyPatch
):
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        monkeypatch.undo()
        raise KeyboardInterrupt

    with embedded_postgres(data):
        pass  # from now on it only has to be launched
    postgres = EmbeddedPostgres(data)
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        postgres.start()
    postgres.stop()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    try:
        assert not postgres.is_running()
    finally:
        with embedded_postgres(data):
            pass
