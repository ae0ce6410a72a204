"""The committed schema is what the migrations build, on our Postgres and on older ones."""

import re

import psycopg

from storage.migrate import DIRECTORY, FILE_NAME, known_migrations, migrate
from storage.schema import SCHEMA_FILE, dump, dump_migrated
from testkit.database import new_database


def test_the_committed_schema_is_up_to_date():
    assert SCHEMA_FILE.read_text() == dump_migrated(), "run scripts/dump-schema"


def test_migrations_build_what_the_committed_schema_builds(server_url: str):
    with new_database(server_url) as migrated, new_database(server_url) as loaded:
        migrate(migrated)
        with psycopg.connect(loaded, autocommit=True) as connection:
            connection.execute("SET check_function_bodies = off")
            connection.execute(SCHEMA_FILE.read_bytes())

        assert dump(loaded) == dump(migrated)


def test_file_names_are_well_formed_and_numbered_without_a_gap():
    names = sorted(path.name for path in DIRECTORY.glob("*.sql"))

    assert [name for name in names if not FILE_NAME.fullmatch(name)] == []
    numbers = [migration.number for migration in known_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_files_without_a_transaction_may_run_twice():
    for migration in known_migrations():
        text = migration.path.read_text()
        if text.startswith("-- no transaction"):
            statements = [s for s in re.split(r";\s*\n", text) if s.strip()]
            assert all(
                re.search("IF (NOT )?EXISTS|CONCURRENTLY|CALL fill_", each) for each in statements
            )
