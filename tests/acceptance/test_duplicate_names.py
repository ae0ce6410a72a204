"""An upgrade from a release that told names apart which are the same, and a backup of one."""

from pathlib import Path

import psycopg
import pytest

from storage.migrate import pending
from storage.name_folding import fold_name
from testkit.confusable_names import pairs
from testkit.database import new_database
from tests.acceptance.test_operations import parley
from tests.acceptance.test_user_commands import FOUND

TABLES = {
    "channels": "realm_id, lower(name)",
    "topics": "realm_id, channel_id, lower(name)",
    "user_groups": "realm_id, lower(name)",
    "channel_folders": "realm_id, lower(name)",
    "default_channel_groups": "realm_id, lower(name)",
}
MIGRATIONS = ("fold_names.pre", "fill_foldings_of_names.pre", "one_name_once.post")


@pytest.fixture
def older(server_url: str):
    """A database with an organization, as the release before foldings has it."""
    with new_database(server_url) as url:
        assert parley("migrate", DATABASE_URL=url).status == 0
        assert parley(*FOUND, DATABASE_URL=url).status == 0
        with psycopg.connect(url) as connection:
            connection.execute("DROP FUNCTION fold_name, name_folding CASCADE")
            connection.execute("DROP FUNCTION send_message, rename_topic, set_named_topic_policy")
            for table in (*TABLES, "users"):
                connection.execute(f"ALTER TABLE {table} DROP COLUMN folded_name".encode())
            for table, columns in TABLES.items():
                sql = f"CREATE UNIQUE INDEX {table}_name ON {table} ({columns})"
                connection.execute(sql.encode())
            connection.execute(
                "DELETE FROM schema_migrations WHERE substr(name, 6) = ANY (%s)", [[*MIGRATIONS]]
            )
        yield url


def write_names(url: str) -> int:
    """Channels as the older release writes them; how many it took for different ones."""
    names = sorted({name for pair in pairs()[::200] for name in pair} | {"Μισθός", "ΜΙΣΘΌΣ"})
    with psycopg.connect(url, autocommit=True) as connection:
        for name in names:
            connection.execute(
                "INSERT INTO channels (realm_id, name, created_at)"
                " SELECT realm_id, %s, now() FROM realms ON CONFLICT DO NOTHING",
                [name],
            )
        [[count]] = connection.execute("SELECT count(*) FROM channels").fetchall()
        return int(count)


def folded_names(url: str) -> list[str]:
    """The foldings of all channels, which are those of their names."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT name, folded_name FROM channels").fetchall()
    assert [(name, fold_name(name)) for name, _ in rows] == rows
    return [folded for _, folded in rows]


def reports(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT content FROM messages WHERE content LIKE '%renamed%'")
        return [content for (content,) in rows.fetchall()]


def test_an_upgrade_renames_what_is_there_twice_once_the_new_release_runs(older: str):
    count = write_names(older)
    before = parley("migrate", "--before-deploy", DATABASE_URL=older)
    assert before.status == 0, before.err
    assert pending(older) == []
    write_names(older)  # the release before still runs, and tells them apart
    kept = folded_names(older)
    assert len(set(kept)) < len(kept)

    after = parley("migrate", DATABASE_URL=older)

    assert after.status == 0, after.err
    assert "one_name_once.post" in after.out
    names = folded_names(older)
    assert len(set(names)) == len(names) == count
    [report] = reports(older)
    assert "\n* channel " in report
    assert parley("migrate", DATABASE_URL=older).status == 0
    assert len(reports(older)) == 1


def test_a_backup_of_the_release_before_is_brought_up_to_date(older: str, tmp_path: Path):
    count = write_names(older)
    with psycopg.connect(older) as connection:
        applied = connection.execute("SELECT name FROM schema_migrations").fetchall()
    assert not {name[5:] for (name,) in applied} & set(MIGRATIONS)
    file = tmp_path / "backup"
    made = parley("backup", str(file), DATABASE_URL=older)
    assert made.status == 0, made.err

    restored = parley("restore", str(file), "--force", DATABASE_URL=older)

    assert restored.status == 0, restored.err
    names = folded_names(older)
    assert len(set(names)) == len(names) == count
    assert pending(older, after_deploy=True) == []
    assert len(reports(older)) == 1
