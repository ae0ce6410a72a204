"""`parley backup` and `parley restore`: one moment of a server that goes on, made again."""

import asyncio
import json
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest

from storage.backups.archive import BackupManifest, member, reading
from storage.blobs import new_key
from storage.migrate import DIRECTORY, known_migrations, migrate, pending
from testkit.clients.api import Client
from testkit.clients.commands import parley, refusal
from testkit.clients.server import serve
from testkit.database import new_database
from testkit.factories import Make

MANY_SENDS = 20


def manifest_of(path: Path) -> BackupManifest:
    with reading(path) as (_, manifest):
        return manifest


def contents(path: Path) -> dict[str, str]:
    """The digest of each table's rows, without the clocks: a restored one has moved on.

    In order: Postgres may put a row into the room that a longer one did not fit into.
    """
    with reading(path) as (archive, manifest):
        return {
            table.name: sha256(b"".join(sorted(archive.open(member(table.name))))).hexdigest()
            for table in manifest.tables
            if table.name != "realm_clock"
        }


class Writing:
    """A user who sends one message after another."""

    def __init__(self, client: Client, channel_id: int) -> None:
        self._client = client
        self._message = {"type": "channel", "to": channel_id, "topic": "t", "content": "x"}
        self.sent: list[int] = []
        self._more = asyncio.Event()

    async def run(self) -> None:
        while True:
            self.sent.append((await self._client.post("/messages", **self._message))["id"])
            self._more.set()

    async def until_more_are_sent(self, number: int = MANY_SENDS) -> None:
        wanted = len(self.sent) + number
        while len(self.sent) < wanted:
            self._more.clear()
            await self._more.wait()


@pytest.mark.asyncio
async def test_what_was_answered_before_is_restored_and_clients_begin_anew(
    make: Make, server, connect, database_url: str, server_url: str, tmp_path: Path
):
    alice = await make.user()
    channel = await make.channel("general", subscribers=[alice])
    client = await connect(server, make.realm_id, alice)
    queue = await client.register()
    writing = Writing(client, channel.channel_id)
    task = asyncio.create_task(writing.run())
    await writing.until_more_are_sent()
    before = list(writing.sent)
    file = tmp_path / "one.backup"
    done = await asyncio.to_thread(parley, "backup", file, DATABASE_URL=database_url)
    await writing.until_more_are_sent()
    task.cancel()
    assert done.exit_code == 0, done.output
    assert "read again and found to be right" in done.stdout
    assert file.stat().st_mode & 0o777 == 0o600

    with new_database(server_url) as url:
        done = await asyncio.to_thread(parley, "restore", file, DATABASE_URL=url)
        assert done.exit_code == 0, done.output
        again = tmp_path / "again.backup"
        await asyncio.to_thread(parley, "backup", again, DATABASE_URL=url)
        assert contents(again) == contents(file)
        async with serve(url) as restored:
            client = await connect(restored, make.realm_id, alice)
            page = await client.get("/messages", anchor="newest", num_before=1000, num_after=0)
            kept = [message["id"] for message in page["messages"]]
            assert kept == writing.sent[: len(kept)]
            assert kept[: len(before)] == before
            answer = await client.call("GET", "/events", queue_id=queue.queue_id, last_event_id=-1)
            assert answer.body["code"] == "BAD_EVENT_QUEUE_ID"
            events = await client.register()
            message = {"type": "channel", "to": channel.channel_id, "topic": "t", "content": "x"}
            new_id = (await client.post("/messages", **message))["id"]
            assert new_id > writing.sent[-1] + 500_000
            assert (await events.until("message"))["message"]["id"] == new_id


@pytest.mark.asyncio
async def test_a_private_database_of_another_version_takes_it(
    make: Make, database_url: str, tmp_path: Path
):
    await make.user("Ünï Cödé \\ \t \n")
    file, again = tmp_path / "one.backup", tmp_path / "again.backup"
    data = tmp_path / "data"
    assert parley("backup", file, DATABASE_URL=database_url).exit_code == 0
    dry = parley("restore", file, "--dry-run", "--data", data)
    assert "can be restored" in dry.stdout
    assert not data.exists()
    done = parley("restore", file, "--data", data)
    assert done.exit_code == 0, done.output
    assert parley("backup", again, "--data", data).exit_code == 0
    assert contents(again) == contents(file)
    assert manifest_of(again).sequences == manifest_of(file).sequences
    assert "--force" in refusal("restore", file, "--data", data)
    assert parley("restore", again, "--force", "--data", data).exit_code == 0


@pytest.mark.asyncio
async def test_restored_files_belong_to_the_owner_of_the_data_directory(
    make: Make, database_url: str, server_url: str, tmp_path: Path
):
    """A server that is not root has to read what root restores."""
    await make.user()
    there, here, file = tmp_path / "there", tmp_path / "here", tmp_path / "one.backup"
    key = new_key("uploads", make.realm_id)
    kept = there / "files" / key
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"content")
    here.mkdir()
    if os.geteuid() == 0:
        os.chown(here, 65534, 65534)
    done = parley("backup", file, DATABASE_URL=database_url, PARLEY_DATA=str(there))
    assert done.exit_code == 0, done.output
    with new_database(server_url) as url:
        done = parley("restore", file, DATABASE_URL=url, PARLEY_DATA=str(here))
        assert done.exit_code == 0, done.output
    assert (here / "files" / key).read_bytes() == b"content"
    restored = [here / "files", *(here / "files").rglob("*")]
    assert {path.stat().st_uid for path in restored} == {here.stat().st_uid}


@pytest.mark.asyncio
async def test_nothing_is_written_over_or_restored_by_mistake(
    make: Make, database_url: str, server_url: str, template_database: str, tmp_path: Path
):
    await make.user()
    file = tmp_path / "one.backup"
    assert parley("backup", file, DATABASE_URL=database_url).exit_code == 0
    assert "use --force" in refusal("backup", file, DATABASE_URL=database_url)
    assert parley("backup", file, "--force", DATABASE_URL=database_url).exit_code == 0
    assert "in use, by" in refusal("restore", file, "--force", DATABASE_URL=database_url)

    with new_database(server_url, template_database) as url:
        assert parley("restore", file, DATABASE_URL=url).exit_code == 0
        assert "holds an organization" in refusal("restore", file, DATABASE_URL=url)
        assert parley("restore", file, "--force", DATABASE_URL=url).exit_code == 0
    with foreign_database(server_url) as url:
        assert "not Parley's" in refusal("restore", file, "--force", DATABASE_URL=url)
        assert "no migrations" in refusal("backup", tmp_path / "none", DATABASE_URL=url)
    assert "does not answer" in refusal(
        "backup", tmp_path / "none", DATABASE_URL="postgresql://a@127.0.0.1:1/b"
    )
    assert not (tmp_path / "none").exists()
    assert "no directory" in refusal("backup", tmp_path / "a" / "b", DATABASE_URL=database_url)
    # A place of no size: as a full disk.
    assert "are free in /proc" in refusal("backup", "/proc/backup", DATABASE_URL=database_url)
    assert "are free for /proc" in refusal("restore", file, "--data", "/proc/parley")


@contextmanager
def foreign_database(server_url: str) -> Iterator[str]:
    """A database in which another program keeps something."""
    with new_database(server_url) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE precious (id int)")
        yield url


@pytest.mark.asyncio
async def test_a_damaged_file_is_found_out_before_anything_is_changed(
    make: Make, database_url: str, server_url: str, tmp_path: Path
):
    await make.user()
    file, bad = tmp_path / "one.backup", tmp_path / "bad.backup"
    assert parley("backup", file, DATABASE_URL=database_url).exit_code == 0
    content = file.read_bytes()
    with new_database(server_url) as url:
        bad.write_bytes(content[: len(content) // 2])
        assert "not all of one" in refusal("restore", bad, DATABASE_URL=url)
        middle = content.index(b"tables/users.copy") + 40
        bad.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        assert "not all of one" in refusal("restore", bad, DATABASE_URL=url)
        _rewrite(file, bad, "tables/users.copy", lambda rows: rows.replace(b"Person", b"Parson"))
        assert "users is not what was written" in refusal("restore", bad, DATABASE_URL=url)
        _rewrite(file, bad, "manifest.json", _from_the_future)
        assert "newer Parley (it has 9999_future)" in refusal("restore", bad, DATABASE_URL=url)
        _rewrite(file, bad, "manifest.json", _of_another_kind)
        assert "another version of Parley" in refusal("restore", bad, DATABASE_URL=url)
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT to_regclass('realms')").fetchone() == (None,)


@pytest.mark.asyncio
async def test_files_come_along(make: Make, database_url: str, server_url: str, tmp_path: Path):
    await make.user()
    data, other, file = tmp_path / "data", tmp_path / "other", tmp_path / "one.backup"
    key = new_key("uploads", make.realm_id)
    content = bytes(range(256)) * 10_000
    for name, written in ((key, content), ("incoming/half", b"half"), ("incoming/x/y", b"")):
        path = data / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(written)
    done = parley("backup", file, "--data", data, DATABASE_URL=database_url)
    assert "1 file," in done.stdout

    bad = tmp_path / "bad.backup"
    _rewrite(file, bad, f"files/{key}", lambda content: content[1:])
    with new_database(server_url) as url:
        assert "the files that it should" in refusal("restore", bad, DATABASE_URL=url)
        done = parley("restore", file, "--data", other, DATABASE_URL=url)
        assert "1 file of" in done.stdout, done.output
        assert {path for path in (other / "files").rglob("*") if path.is_file()} == {
            other / "files" / key
        }
        assert (other / "files" / key).read_bytes() == content
        again = parley("restore", file, "--force", "--data", other, DATABASE_URL=url)
        assert again.exit_code == 0
        with zipfile.ZipFile(file) as old, zipfile.ZipFile(bad, "w") as new:
            for name in old.namelist():
                new.writestr(name.replace(key, "../../../evil"), old.read(name))
        evil = refusal("restore", bad, "--force", "--data", other, DATABASE_URL=url)
        assert "no file of ours" in evil
    assert not [folder for folder, _, names in os.walk(tmp_path) if "evil" in names]


def _rewrite(source: Path, target: Path, name: str, change) -> None:
    """The same archive, sums and all, with another content in one place."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for each in old.namelist():
            content = old.read(each)
            new.writestr(each, change(content) if each == name else content)


def _from_the_future(manifest: bytes) -> bytes:
    said = json.loads(manifest)
    said["migrations"].append("9999_future")
    return json.dumps(said).encode()


def _of_another_kind(manifest: bytes) -> bytes:
    return json.dumps(json.loads(manifest) | {"format": 2}).encode()


@pytest.mark.asyncio
async def test_what_cannot_be_loaded_leaves_the_database_as_it_was(
    make: Make, database_url: str, server_url: str, template_database: str, tmp_path: Path
):
    """Rows with right sums, which no database would take."""
    await make.user()
    file, bad = tmp_path / "one.backup", tmp_path / "bad.backup"
    assert parley("backup", file, DATABASE_URL=database_url).exit_code == 0

    def no_rows(manifest: bytes) -> bytes:
        said = json.loads(manifest)
        for table in said["tables"]:
            if table["name"] == "realms":
                table["columns"][0] = "nonsense"
        return json.dumps(said).encode()

    _rewrite(file, bad, "manifest.json", no_rows)
    with new_database(server_url, template_database) as url:
        assert parley("restore", file, DATABASE_URL=url).exit_code == 0
        assert "nothing was changed" in refusal("restore", bad, "--force", DATABASE_URL=url)
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT count(*) FROM realms").fetchone() == (1,)


def test_a_backup_of_an_older_release_is_brought_up_to_date(server_url: str, tmp_path: Path):
    older = tmp_path / "migrations"
    older.mkdir()
    known = known_migrations()
    for migration in known[:-1]:
        shutil.copy(DIRECTORY / migration.path.name, older)
    file = tmp_path / "older.backup"
    with new_database(server_url) as url:
        migrate(url, directory=older)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "INSERT INTO realms (subdomain, name, created_at) VALUES ('', 'Old', now())"
            )
        assert parley("backup", file, DATABASE_URL=url).exit_code == 0
    with new_database(server_url) as url:
        assert parley("restore", file, DATABASE_URL=url).exit_code == 0
        assert pending(url) == []
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT name FROM realms").fetchone() == ("Old",)
            names = connection.execute("SELECT name FROM schema_migrations ORDER BY 1").fetchall()
    assert [name for (name,) in names] == [migration.name for migration in known]
