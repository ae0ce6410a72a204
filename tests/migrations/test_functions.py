"""Functions have one home, and a database never gets older ones than it has."""

import re
import threading
from pathlib import Path

import psycopg
import pytest

from storage.function_files import known_functions, record_versions, render, versions
from storage.message_bits import BITS
from storage.migrate import (
    DIRECTORY,
    MigrationError,
    build,
    build_functions,
    connected,
    known_migrations,
    migrate,
    pending,
)
from testkit.database import new_database

LAST_MIGRATION_WITH_FUNCTIONS = 81

CHANGED_SINCE = frozenset(
    {
        *("flag_names", "history_page", "send_message", "send_messages"),
        *("delete_orphan", "is_orphan", "set_attachments", "shown_attachment"),
    }
)
"""Functions that have another text than migration 81 left; removed ones until they are dropped."""

OF_INDEXES = frozenset({"search_keys"})
"""Functions that indexes are over. Their results are stored: a change needs a new name."""

MAKES_FUNCTIONS = re.compile(
    r"CREATE\s+(OR\s+REPLACE\s+)?FUNCTION|ALTER\s+FUNCTION|pg_get_functiondef", re.IGNORECASE
)

FUNCTIONS = """
    SELECT p.proname, regexp_replace(pg_get_functiondef(p.oid), '--[^\n]*', '', 'g')
      FROM pg_proc p
     WHERE p.pronamespace = 'public'::regnamespace
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
"""

NUMBER = "CREATE OR REPLACE FUNCTION number() RETURNS int LANGUAGE sql AS 'SELECT %d';"


@pytest.fixture
def url(server_url: str):
    with new_database(server_url) as url:
        yield url


@pytest.fixture
def release(tmp_path: Path):
    """Make the directory of a release's migrations, with one function beside it."""

    def make(name: str, result: int, *earlier: int) -> Path:
        migrations = tmp_path / name / "migrations"
        functions = tmp_path / name / "functions"
        migrations.mkdir(parents=True)
        functions.mkdir()
        table = next(DIRECTORY.glob("0082_*.sql"))
        (migrations / "0001_functions.sql").write_text(table.read_text())
        for each in (*earlier, result):
            (functions / "area.sql").write_text(NUMBER % each)
            record_versions(functions)
        return migrations

    return make


def result(url: str) -> int:
    with psycopg.connect(url) as connection:
        ((found,),) = connection.execute("SELECT number()").fetchall()
    return int(found)


def functions_in(url: str) -> dict[str, str]:
    with psycopg.connect(url) as connection:
        found = connection.execute(FUNCTIONS).fetchall()
    assert len(found) == len(dict(found)), "two functions of one name"
    return {name: re.sub(r"\s+", " ", text) for name, text in found}


def functions_of_files() -> set[str]:
    texts = "\n".join(file.text for file in known_functions())
    return set(re.findall(r"^CREATE OR REPLACE FUNCTION (\w+)", texts, re.MULTILINE))


def test_a_changed_file_has_a_new_number():
    newest = {version.area: version.digest for version in versions()}

    assert {file.area: file.digest for file in known_functions()} == {
        file.area: newest.get(file.area) for file in known_functions()
    }, "run scripts/dump-schema"


def test_numbers_of_an_area_rise_by_one():
    for area in {version.area for version in versions()}:
        numbers = [version.number for version in versions() if version.area == area]
        assert numbers == list(range(1, len(numbers) + 1))


def test_migrations_leave_functions_to_their_files():
    """A function that a migration made would be replaced by the text of its file, or be in none."""
    assert [
        migration.name
        for migration in known_migrations()
        if migration.number > LAST_MIGRATION_WITH_FUNCTIONS
        and MAKES_FUNCTIONS.search(migration.path.read_text())
    ] == []


def test_files_hold_functions_that_can_be_replaced_and_nothing_else():
    for file in known_functions():
        text = re.sub(r"--.*", "", file.text)
        rest = re.sub(r"\$\$.*?\$\$", "$$", text, flags=re.DOTALL)
        statements = [part.strip() for part in rest.split(";")]
        assert [
            part for part in statements if part and not part.startswith("CREATE OR REPLACE ")
        ] == []


def test_files_say_what_the_last_migration_made(url: str):
    with connected(url) as connection, connection.transaction():
        build(connection, known_migrations())
    by_migrations = functions_in(url)
    with connected(url) as connection, connection.transaction():
        build_functions(connection)
    by_files = functions_in(url)

    assert by_files.keys() - CHANGED_SINCE == functions_of_files() - CHANGED_SINCE
    for name in by_migrations.keys() - CHANGED_SINCE:
        assert by_files[name] == by_migrations[name], name


def test_a_migrated_database_has_the_same_functions_as_a_built_one(url: str, server_url: str):
    migrate(url)
    with new_database(server_url) as built:
        with connected(built) as connection, connection.transaction():
            build(connection, known_migrations())
            build_functions(connection)
        assert functions_in(built) == functions_in(url)
        assert pending(built, after_deploy=True) == pending(url, after_deploy=True) == []


FORMER = (
    "append_pinned_topics(bigint, bigint, bigint[], bigint, boolean, uuid)",
    "append_renamed_topic(bigint, bigint, uuid)",
    "append_pins(bigint, text, bigint, bigint[], jsonb, uuid)",
    "append_gained_pins(bigint, bigint[], bigint[], uuid)",
    "append_topic_descriptions(bigint, bigint, bigint[], bigint[], text, uuid)",
    "append_forgotten_descriptions(bigint, bigint, bigint[], text[], uuid)",
    "append_renamed_description(bigint, bigint, text, uuid)",
    "append_gained_descriptions(bigint, bigint[], bigint[], uuid)",
)
"""Functions that files had once."""


def test_functions_that_no_file_has_any_more_are_dropped(url: str):
    with connected(url) as connection, connection.transaction():
        build(connection, [each for each in known_migrations() if each.number < 110])
        for each in FORMER:
            _ = connection.execute(
                f"CREATE FUNCTION {each} RETURNS void LANGUAGE sql AS 'SELECT'".encode()
            )
        build_functions(connection)
    migrate(url)
    assert functions_in(url).keys().isdisjoint(each.partition("(")[0] for each in FORMER)


def test_functions_of_indexes_are_those_that_are_listed(url: str):
    migrate(url)
    with psycopg.connect(url) as connection:
        found = connection.execute(
            """
            SELECT DISTINCT p.proname FROM pg_proc p
              JOIN pg_depend d ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid
             WHERE p.pronamespace = 'public'::regnamespace AND d.classid <> 'pg_trigger'::regclass
            """
        ).fetchall()

    assert {name for (name,) in found} == OF_INDEXES
    assert not OF_INDEXES & CHANGED_SINCE


def test_newer_functions_are_installed_once(url: str, release):
    first, second = release("first", 1), release("second", 2, 1)

    assert pending(url, directory=first) == ["0001_functions", "functions/area.1"]
    assert migrate(url, directory=first) == ["0001_functions", "functions/area.1"]
    assert migrate(url, directory=first) == pending(url, directory=first) == []
    assert pending(url, directory=second) == ["functions/area.2"]
    assert migrate(url, before_deploy=True, directory=second) == ["functions/area.2"]
    assert result(url) == 2


def test_an_older_release_never_replaces_newer_functions(url: str, release):
    first, second = release("first", 1), release("second", 2, 1)
    migrate(url, directory=second)

    assert pending(url, directory=first) == []
    assert migrate(url, directory=first) == []
    assert migrate(url, before_deploy=True, directory=first) == []
    assert result(url) == 2


def test_two_texts_with_one_number_are_refused(url: str, release):
    one, other = release("one", 1), release("other", 2)
    migrate(url, directory=one)

    for attempt in (migrate, pending):
        with pytest.raises(MigrationError, match=r"under the same number \(functions/area\.1\)"):
            attempt(url, directory=other)
    assert result(url) == 1


def test_functions_that_fail_leave_those_that_were_there(url: str, release):
    migrate(url, directory=release("first", 1))
    second = release("second", 2, 1)
    file = second.with_name("functions") / "area.sql"
    file.write_text(f"{NUMBER % 3} SELECT 1/0;")
    record_versions(file.parent)

    with pytest.raises(
        MigrationError, match=r"^Installing functions/area\.3 failed: division by zero\.$"
    ):
        migrate(url, directory=second)
    assert result(url) == 1


def test_another_result_needs_another_name(url: str, release):
    migrate(url, directory=release("first", 1))
    second = release("second", 2, 1)
    file = second.with_name("functions") / "area.sql"
    file.write_text((NUMBER % 3).replace("RETURNS int", "RETURNS text"))
    record_versions(file.parent)

    with pytest.raises(MigrationError, match="cannot change return type of existing function"):
        migrate(url, directory=second)


def test_releases_that_migrate_at_once_end_with_the_newest(url: str, release):
    directories = [release(f"release{n}", n, *range(1, n)) for n in (1, 2, 3)]
    threads = [
        threading.Thread(target=migrate, args=[url], kwargs={"directory": directory})
        for directory in directories * 2
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert result(url) == 3


def test_bits_have_the_names_of_the_constants():
    assert render("a & {MENTIONED | HAS_ALERT_WORD | TOPIC_WILDCARD_MENTIONED}") == "a & 88"
    assert render("'{}' '{1,2}' {UNREAD}") == "'{}' '{1,2}' 1"
    assert BITS["STARRED"] == 2
    with pytest.raises(KeyError):
        render("{NO_SUCH_BIT}")


def test_bits_are_written_by_name():
    bits = re.compile(r"\b(flags|traits)\b (&|\|) ~?\d|& ~?\d")
    for path in DIRECTORY.with_name("functions").glob("*.sql"):
        assert bits.findall(path.read_text()) == [], path


def test_variants_are_rendered_once_each():
    text = (
        "before\n-- @each way = up | down\n-- @sign = < | >\nf_@way @sign\n-- @only up\nonce\n"
        "-- @all\nend @wayward\n-- @end\nafter\n"
    )

    assert render(text) == ("before\nf_up <\nonce\nend @wayward\n\nf_down >\nend @wayward\nafter\n")
