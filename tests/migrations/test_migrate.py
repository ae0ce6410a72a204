"""Migrations run once, in order, alone, and say in a sentence why they cannot."""

import threading
from pathlib import Path

import psycopg
import pytest

from storage.migrate import (
    ADVISORY_LOCK,
    MigrationError,
    Patience,
    alone,
    connected,
    known_migrations,
    migrate,
    needed_before_deploy,
    pending,
)
from testkit.database import new_database

IMPATIENT = Patience(
    lock_milliseconds=50, attempts=2, pause_seconds=0.01, other_migration_seconds=0.05
)


@pytest.fixture
def url(server_url: str):
    with new_database(server_url) as url:
        yield url


def write(directory: Path, **files: str) -> Path:
    for name, text in files.items():
        stem, _, phase = name.partition("__")
        suffix = f".{phase}" if phase else ""
        (directory / f"{stem[1:]}{suffix}.sql").write_text(text)
    return directory


def tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {name for (name,) in rows} - {"schema_migrations"}


def test_each_file_is_applied_once_in_order(url: str, tmp_path: Path):
    directory = write(tmp_path, _0002_b="ALTER TABLE a ADD n int", _0001_a="CREATE TABLE a ()")

    assert pending(url, directory=directory) == ["0001_a", "0002_b"]
    assert migrate(url, directory=directory) == ["0001_a", "0002_b"]
    assert migrate(url, directory=directory) == []
    assert pending(url, directory=directory) == []

    write(tmp_path, _0003_c="CREATE TABLE c ()")
    assert migrate(url, directory=directory) == ["0003_c"]
    assert tables(url) == {"a", "c"}


def test_a_failing_file_leaves_nothing_of_itself(url: str, tmp_path: Path):
    directory = write(
        tmp_path, _0001_a="CREATE TABLE a ();", _0002_b="CREATE TABLE b (); SELECT 1/0;"
    )

    with pytest.raises(MigrationError, match=r"^Migration 0002_b failed: division by zero\.$"):
        migrate(url, directory=directory)

    assert tables(url) == {"a"}
    assert pending(url, directory=directory) == ["0002_b"]


def test_post_files_wait_for_the_new_code(url: str, tmp_path: Path):
    directory = write(
        tmp_path,
        _0001_a__post="CREATE TABLE a ()",
        _0002_b__pre="CREATE TABLE b ()",
        _0003_c__post="CREATE TABLE c ()",
    )

    assert [m.number for m in needed_before_deploy(known_migrations(directory))] == [1, 2]
    assert migrate(url, before_deploy=True, directory=directory) == ["0001_a.post", "0002_b.pre"]
    assert pending(url, directory=directory) == []
    assert migrate(url, directory=directory) == ["0003_c.post"]


def test_a_newer_database_is_refused(url: str, tmp_path: Path):
    directory = write(tmp_path, _0001_a="CREATE TABLE a ()", _0002_b="CREATE TABLE b ()")
    migrate(url, directory=directory)
    (directory / "0002_b.sql").unlink()

    for attempt in (migrate, pending):
        with pytest.raises(MigrationError, match=r"newer than this Parley \(it has 0002_b\)"):
            attempt(url, directory=directory)


def test_a_database_with_another_history_is_refused(url: str, tmp_path: Path):
    directory = write(tmp_path, _0001_a="CREATE TABLE a ()", _0002_b="CREATE TABLE b ()")
    migrate(url, directory=directory)
    (directory / "0002_b.sql").rename(directory / "0002_c.sql")
    write(tmp_path, _0003_d="CREATE TABLE d ()")

    for attempt in (migrate, pending):
        with pytest.raises(MigrationError, match=r"\(it has 0002_b, where this has 0002_c\)"):
            attempt(url, directory=directory)
    assert tables(url) == {"a", "b"}


def test_a_database_of_another_program_is_refused(url: str, tmp_path: Path):
    directory = write(tmp_path, _0001_a="CREATE TABLE a ()")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE schema_migrations (version text)")

    for attempt in (migrate, pending):
        with pytest.raises(MigrationError, match="belongs to another program"):
            attempt(url, directory=directory)


def test_the_previous_release_works_beside_the_next_ones_pre_files(url: str, tmp_path: Path):
    directory = write(tmp_path, _0001_a="CREATE TABLE a ()", _0002_b__pre="CREATE TABLE b ()")
    migrate(url, directory=directory)
    (directory / "0002_b.pre.sql").unlink()

    assert pending(url, directory=directory) == []


def test_a_file_without_transaction_builds_indexes_concurrently(url: str, tmp_path: Path):
    directory = write(
        tmp_path,
        _0001_a="CREATE TABLE a (n int)",
        _0002_b="-- no transaction\nDROP INDEX IF EXISTS i;\n"
        "CREATE INDEX CONCURRENTLY i ON a (n);\n",
    )

    assert migrate(url, directory=directory) == ["0001_a", "0002_b"]


def test_a_held_lock_is_waited_for_in_small_portions(url: str, tmp_path: Path):
    directory = write(tmp_path, _0001_a="CREATE TABLE a (n int)")
    migrate(url, directory=directory)
    write(tmp_path, _0002_b="ALTER TABLE a ADD m int")

    with psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE a IN ACCESS SHARE MODE")
        with pytest.raises(
            MigrationError, match="0002_b did not get a lock it needs in 2 attempts"
        ):
            migrate(url, directory=directory, patience=IMPATIENT)
        holder.rollback()

    assert migrate(url, directory=directory, patience=IMPATIENT) == ["0002_b"]


def test_an_interrupt_amid_a_statement_ends_the_migration_as_one(url: str, tmp_path: Path):
    def interrupted() -> None:
        with connected(url) as connection, alone(connection, IMPATIENT):
            connection.pgconn.send_query(b"SELECT pg_sleep(0.1)")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert migrate(url, directory=write(tmp_path, _0001_a="CREATE TABLE a ()")) == ["0001_a"]


def test_one_process_migrates_at_a_time(url: str, tmp_path: Path):
    directory = write(tmp_path, _0001_a="CREATE TABLE a ()")

    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [ADVISORY_LOCK])
        with pytest.raises(MigrationError, match="Another process has been migrating"):
            migrate(url, directory=directory, patience=IMPATIENT)
        other.execute("SELECT pg_advisory_unlock(%s)", [ADVISORY_LOCK])

    done: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: done.append(migrate(url, directory=directory)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [[], [], [], ["0001_a"]]


def test_an_absent_server_is_one_sentence():
    with pytest.raises(MigrationError, match=r"^The database does not answer: .*\.$"):
        migrate("postgresql://parley@127.0.0.1:1/parley")


def test_another_encoding_is_refused(server_url: str):
    name = "parley_test_latin1"
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {name}")
        server.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        try:
            with pytest.raises(MigrationError, match="does not store UTF-8"):
                migrate(psycopg.conninfo.make_conninfo(server_url, dbname=name))
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")
