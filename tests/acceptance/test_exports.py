"""`parley export` and `parley import`: an organization goes elsewhere, with all that it has."""

import asyncio
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from storage.exports import ExportManifest, reading, renumbering, take_files
from storage.migrate import connected
from testkit.clients.api import Client
from testkit.clients.commands import refusal, run
from testkit.clients.server import ROOT_DOMAIN, Server, serve
from testkit.database import new_database
from testkit.factories import Make, new_realm
from testkit.images import picture

pytestmark = pytest.mark.asyncio

PASSWORD = "correct horse battery staple"


def manifest_of(path: Path) -> ExportManifest:
    with reading(path) as (_, manifest):
        return manifest


def rows_of(path: Path, table: str) -> list[dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        return [json.loads(line) for line in archive.read(f"{table}.jsonl").splitlines()]


def contents(path: Path) -> dict[str, tuple[int, str]]:
    return {table.name: (table.rows, table.sha256) for table in manifest_of(path).tables}


class Town:
    """An organization in which a little of everything is."""

    def __init__(self, server: Server, make: Make, alice: Client, bob: Client) -> None:
        self.server, self.make, self.alice, self.bob = server, make, alice, bob
        self.ids: dict[str, int] = {}
        self.file = ""

    @classmethod
    async def of(cls, server: Server, make: Make, connect: Any) -> "Town":
        alice, bob = await make.user("Alice", role=100), await make.user("Bob")
        channel = await make.channel("general", subscribers=[alice, bob])
        private = await make.channel("secret", subscribers=[alice], invite_only=True)
        clients = [await connect(server, make.realm_id, each) for each in (alice, bob)]
        town = cls(server, make, *clients)
        town.ids |= {"alice": alice.user_id, "bob": bob.user_id, "general": channel.channel_id}
        town.ids["secret"] = private.channel_id
        asking = await make.user("Deployer", bot_type=3, bot_owner=alice)
        await town.settle(await connect(server, make.realm_id, asking))
        return town

    async def send(self, content: str, who: Client | None = None, **fields: Any) -> int:
        to = {"type": "channel", "to": "general", "topic": "plans", **fields}
        message = await (who or self.alice).post("/messages", content=content, **to)
        return int(message["id"])

    async def settle(self, bot: Client) -> None:
        alice, bob, ids = self.alice, self.bob, self.ids
        await alice.upload("/realm/emoji/party", file=("party.png", picture()))
        uploaded = await alice.upload("/user_uploads", file=("notes.txt", b"What is to be read."))
        self.file = uploaded.succeeded()["url"]
        await self.send(
            f"@**Bob|{ids['bob']}** and #**general>plans**, [file]({self.file}) :party:"
        )
        ids["poll"] = await self.send("/poll Where?\nHere\nThere")
        vote = json.dumps({"type": "vote", "key": f"{ids['bob']},1", "vote": 1})
        await bob.post("/submessage", message_id=ids["poll"], msg_type="widget", content=vote)
        ids["read"] = await self.send("read by Bob")
        ids["unread"] = await self.send("not read by Bob", topic="other")
        ids["secret message"] = await self.send("hush", to="secret")
        ids["direct"] = await self.send("between us", type="direct", to=[ids["bob"]], topic=None)
        await self.send("back\\slash \u2028 \x7f \u0000"[:-1] + " 'quotes' \"double\"", bob)
        yes = {"id": "yes", "label": "Yes", "value": "7", "confirm": {"text": "Sure?"}}
        ids["asked"] = await self.send("Deploy?", bot, buttons=[yes])
        await bob.post("/messages/flags", op="add", flag="read", messages=[ids["read"]])
        await bob.post("/messages/flags", op="add", flag="starred", messages=[ids["read"]])
        await bob.post(f"/messages/{ids['read']}/reactions", emoji_name="party")
        await alice.patch(f"/messages/{ids['unread']}", content="not read by Bob, edited")
        drafts = [{"type": "stream", "to": [ids["general"]], "topic": "t", "content": "later"}]
        await bob.post("/drafts", drafts=drafts)
        await bob.post("/users/me/status", status_text="away", emoji_name="party")
        await bob.post("/users/me/alert_words", alert_words=["pizza"])
        group = {"name": "cooks", "description": "who cook", "members": [ids["bob"]]}
        ids["cooks"] = (await alice.post("/user_groups/create", **group))["group_id"]
        await alice.patch(
            f"/streams/{ids['general']}", can_send_message_group={"new": ids["cooks"]}
        )


@pytest_asyncio.fixture
async def town(server: Server, make: Make, connect: Any) -> Town:
    return await Town.of(server, make, connect)


async def unread_of(client: Client) -> list[int]:
    state = await client.post("/register", fetch_event_types=["message", "update_message_flags"])
    found = state["unread_msgs"]
    streams = [message for each in found["streams"] for message in each["unread_message_ids"]]
    return sorted([*streams, *(m for each in found["pms"] for m in each["unread_message_ids"])])


async def history_of(client: Client) -> list[dict[str, Any]]:
    page = await client.get(
        "/messages", anchor="newest", num_before=100, num_after=0, message_buttons=True
    )
    return list(page["messages"])


async def test_on_a_new_server_everything_is_what_it_was(
    town: Town, connect, server_url: str, template_database: str, tmp_path: Path
):
    file = tmp_path / "town.export"
    await run(town.server, "export", file, "--secrets")
    assert file.stat().st_mode & 0o777 == 0o600
    before = await history_of(town.bob), await unread_of(town.bob)
    with new_database(server_url, template_database) as url:
        async with serve(url) as there:
            await run(there, "import", file)
            bob = Client(there, town.bob.host, town.bob.email, town.bob.api_key)
            assert (await history_of(bob), await unread_of(bob)) == before
            assert (await bob.fetch(town.file)).content == b"What is to be read."
            queue = await bob.register()
            new_id = (
                await bob.post(
                    "/messages", type="channel", to="general", topic="t", content="and on it goes"
                )
            )["id"]
            assert new_id > town.ids["direct"] + 500_000
            assert (await queue.until("message"))["message"]["id"] == new_id
        async with serve(url) as there:
            assert "already" in await asyncio.to_thread(
                refusal,
                "import",
                file,
                DATABASE_URL=url,
                PARLEY_ROOT_DOMAIN=ROOT_DOMAIN,
                PARLEY_DATA=str(there.app.settings.data_directory),
            )


async def test_exports_that_were_made_before_are_listed_without_a_file(
    town: Town, server_url: str, template_database: str, tmp_path: Path
):
    made = await town.alice.post("/export/realm", export_type="full_with_consent")
    for options in ((), ("--secrets",)):
        file = tmp_path / f"town{len(options)}.export"
        await run(town.server, "export", file, *options)
        with new_database(server_url, template_database) as url:
            async with serve(url) as there:
                await run(there, "import", file)
                async with there.app.database.connection() as connection:
                    key = await connection.value(
                        "SELECT api_key FROM users WHERE user_id = %(user_id)s",
                        user_id=town.ids["alice"],
                    )
                alice = Client(there, town.alice.host, town.alice.email, key)
                [listed] = (await alice.get("/export/realm"))["exports"]
                assert (listed["id"], listed["acting_user_id"]) == (made["id"], town.ids["alice"])
                assert (listed["export_type"], listed["pending"]) == ("full_with_consent", False)
                assert (listed["export_from_prior_server"], listed["export_url"]) == (True, None)
                path = f"/export/realm/{made['id']}"
                assert (await alice.call("DELETE", path)).refused()["msg"] == (
                    "Export already deleted"
                )
                await alice.post("/export/realm")


async def test_pictures_of_others_are_shown_by_the_server_to_which_it_comes(
    town: Town, server_url: str, template_database: str, tmp_path: Path
):
    url, file = "https://x.example/a.png", tmp_path / "town.export"
    await town.send(url, type="direct", to=[town.ids["bob"]], topic=None)
    await run(town.server, "export", file, "--secrets")
    shown = (await history_of(town.bob))[-1]["content"]
    with new_database(server_url, template_database) as database:
        async with serve(database) as there:
            await run(there, "import", file)
            bob = Client(there, town.bob.host, town.bob.email, town.bob.api_key)
            proxy = there.app.realm_caches.rendering.proxy
            assert proxy is not None
            assert f'src="{proxy.to(url)}"' in (await history_of(bob))[-1]["content"]
            assert f'src="{proxy.to(url)}"' not in shown


async def test_what_is_exported_of_an_import_is_what_was_exported(
    town: Town, server_url: str, template_database: str, tmp_path: Path
):
    file, again = tmp_path / "town.export", tmp_path / "again.export"
    await run(town.server, "export", file, "--secrets")
    with new_database(server_url, template_database) as url:
        async with serve(url) as there:
            await run(there, "import", file)
            await run(there, "export", again, "--secrets")
    assert contents(again) == contents(file)
    assert manifest_of(again).files == manifest_of(file).files > 1


async def test_beside_itself_it_is_another_one_that_looks_the_same(
    town: Town, connect, tmp_path: Path
):
    """Under another subdomain of the same server, where all its numbers are taken."""
    file, again = tmp_path / "town.export", tmp_path / "again.export"
    await town.make.connection.execute(
        "UPDATE users SET email_confirmed = false WHERE user_id = %(bob)s", bob=town.ids["bob"]
    )
    await run(town.server, "export", file)
    report = tmp_path / "report.json"
    options = ("--subdomain", "copy", "--report", report)
    said = await run(town.server, "import", file, *options)
    imported = json.loads(report.read_text())["imported"]
    tables = {each.name: each.rows for each in manifest_of(file).tables if each.rows}
    assert imported == tables | {"files": manifest_of(file).files}
    assert "at the subdomain `copy`" in said
    await run(town.server, "export", again, "--realm", "copy")
    users = {row["full_name"]: row["user_id"] for row in rows_of(again, "users")}
    confirmed = {row["full_name"]: row["email_confirmed"] for row in rows_of(again, "users")}
    assert (confirmed["Alice"], confirmed["Bob"]) == (True, False)
    keys = await _keys(town.server, "copy")
    bob = Client(town.server, f"copy.{ROOT_DOMAIN}", town.bob.email, keys["Bob"])
    old, new = await history_of(town.bob), await history_of(bob)
    assert [each["id"] for each in new] == [each["id"] for each in old]
    assert await unread_of(bob) == await unread_of(town.bob)
    assert users["Bob"] != town.ids["bob"]

    first = new[0]
    assert first["sender_id"] == users["Alice"]
    assert f'data-user-id="{users["Bob"]}"' in first["content"]
    assert f'data-stream-id="{first["stream_id"]}"' in first["content"]
    assert f"/#narrow/channel/{first['stream_id']}-general" in first["content"]
    realm_id = rows_of(again, "realms")[0]["realm_id"]
    path = town.file.replace(f"/user_uploads/{town.make.realm_id}/", f"/user_uploads/{realm_id}/")
    assert path in first["content"]
    assert (await bob.fetch(path)).content == b"What is to be read."
    assert (await bob.fetch(town.file)).status == 404

    [vote] = [s for s in new[1]["submessages"] if "vote" in s["content"]]
    assert json.loads(vote["content"])["key"] == f"{users['Bob']},1"
    [asked] = [each for each in new if "buttons" in each]
    assert (asked["id"], asked["sender_id"]) == (town.ids["asked"], users["Deployer"])
    assert [each["label"] for each in asked["buttons"]] == ["Yes"]
    [emoji] = (await bob.get("/realm/emoji"))["emoji"].values()
    [reaction] = next(each for each in new if each["id"] == town.ids["read"])["reactions"]
    assert reaction["emoji_code"] == emoji["id"]
    assert emoji["source_url"].startswith(f"/user_avatars/{realm_id}/emoji/")
    assert f'src="{emoji["source_url"]}"' in first["content"]
    [draft] = (await bob.get("/drafts"))["drafts"]
    assert draft["to"] == [first["stream_id"]]
    # Bob may write because the group of the copy may.
    await bob.post("/messages", type="channel", to="general", topic="t", content="here too")
    message: dict[str, Any] = {"type": "channel", "to": "general", "topic": "t", "content": "no"}
    alice = Client(town.server, f"copy.{ROOT_DOMAIN}", town.alice.email, keys["Alice"])
    (await alice.call("POST", "/messages", **message)).refused()


async def _keys(server: Server, subdomain: str) -> dict[str, str]:
    async with server.app.database.connection() as connection:
        rows = await connection.tuples(
            """
            SELECT u.full_name, u.api_key FROM users u JOIN realms r USING (realm_id)
             WHERE r.subdomain = %(subdomain)s
            """,
            subdomain=subdomain,
        )
    return dict(rows)


async def test_options_that_an_export_of_parley_does_not_take_are_refused(
    town: Town, tmp_path: Path
):
    file = tmp_path / "town.export"
    await run(town.server, "export", file)
    for option, value in {"--name": "Other", "--owner": "a@x.example", "--topic": ""}.items():
        given = ("import", file, "--dry-run", option, value)
        said = await asyncio.to_thread(refusal, *given)
        assert f"{option} cannot be given for an export of Parley" in said
    report = tmp_path / "report.json"
    assert "can be imported" in await run(
        town.server, "import", file, "--dry-run", "--report", report
    )
    assert json.loads(report.read_text())["imported"]["messages"] > 0


async def test_secrets_are_in_it_only_when_they_are_asked_for(town: Town, tmp_path: Path):
    file = tmp_path / "town.export"
    await run(town.server, "export", file)
    assert {row["api_key"] for row in rows_of(file, "users")} == {None}
    with zipfile.ZipFile(file) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    for client in (town.alice, town.bob):
        assert (client.api_key or "").encode() not in everything


async def test_what_is_public_holds_nothing_that_is_not(town: Town, tmp_path: Path):
    public, consented = tmp_path / "public.export", tmp_path / "consented.export"
    await run(town.server, "export", public, "--only", "public")
    ids = {row["id"] for row in rows_of(public, "messages")}
    assert town.ids["read"] in ids
    assert not ids & {town.ids["secret message"], town.ids["direct"]}
    assert "secret" not in {row["name"] for row in rows_of(public, "channels")}
    for table in ("drafts", "message_flags", "conversation_read", "dm_groups", "subscriptions"):
        assert rows_of(public, table) == []
    await town.bob.patch("/settings", allow_private_data_export=True)
    await run(town.server, "export", consented, "--only", "consented")
    ids = {row["id"] for row in rows_of(consented, "messages")}
    assert {town.ids["read"], town.ids["direct"]} <= ids
    assert town.ids["secret message"] not in ids
    assert len(rows_of(consented, "drafts")) == 1


async def test_what_came_to_a_protected_channel_is_exported_of_those_who_were_there(
    town: Town, tmp_path: Path
):
    await town.alice.post(
        "/users/me/subscriptions",
        subscriptions=[{"name": "there"}],
        principals=[town.ids["alice"], town.ids["bob"]],
        invite_only=True,
        history_public_to_subscribers=False,
    )
    there = (await town.alice.get("/get_stream_id", stream="there"))["stream_id"]
    moved = f"/messages/{town.ids['secret message']}"
    await town.alice.patch(moved, stream_id=there, topic="t")
    await town.bob.patch("/settings", allow_private_data_export=True)
    file = tmp_path / "consented.export"
    await run(town.server, "export", file, "--only", "consented")
    assert town.ids["secret message"] in {row["id"] for row in rows_of(file, "messages")}


async def test_files_of_messages_that_are_not_exported_stay_away(town: Town, tmp_path: Path):
    uploaded = await town.alice.upload("/user_uploads", file=("hush.txt", b"it is a secret"))
    await town.send(f"[f]({uploaded.succeeded()['url']})", to="secret")
    for only, files in (("public", 1), (None, 2)):
        path = tmp_path / f"{only}.export"
        await run(town.server, "export", path, *(("--only", only) if only else ()))
        with zipfile.ZipFile(path) as archive:
            kept = [name for name in archive.namelist() if name.startswith("files/uploads/")]
        assert len(kept) == files


async def test_a_damaged_export_changes_nothing(
    town: Town, server_url: str, template_database: str, tmp_path: Path
):
    file, broken = tmp_path / "town.export", tmp_path / "broken.export"
    await run(town.server, "export", file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "manifest.json":
                shape = json.loads(content)
                for table in shape["tables"]:
                    if table["name"] == "audit_log":  # the last, of which a column is too many
                        table["columns"].append("nonsense")
                content = json.dumps(shape).encode()
            new.writestr(name, content)
    with new_database(server_url, template_database) as url:
        async with serve(url) as there:
            here = {
                "DATABASE_URL": url,
                "PARLEY_DATA": str(there.app.settings.data_directory),
                "PARLEY_ROOT_DOMAIN": ROOT_DOMAIN,
            }
            said = await asyncio.to_thread(refusal, "import", broken, **here)
            assert "what is not known of audit_log: nonsense" in said
            assert [blob async for blob in there.app.blobs.kept()] == []
            async with there.app.database.connection() as connection:
                assert await connection.value("SELECT count(*) FROM realms") == 0
            await run(there, "import", file)
            async with there.app.database.connection() as connection:
                alice = await connection.value(
                    "SELECT user_id FROM users WHERE full_name = 'Alice'"
                )
            assert alice == town.ids["alice"]
    cut = tmp_path / "cut.export"
    cut.write_bytes(file.read_bytes()[:-1000])
    assert "archive is missing" in refusal("import", cut, DATABASE_URL="postgresql://nowhere/x")
    cut.write_text("notes")
    said = refusal("import", cut, DATABASE_URL="postgresql://nowhere/x")
    assert "no export of Parley, Slack, Mattermost, Rocket.Chat or Zulip" in said


async def test_a_byte_that_is_not_what_it_was_is_seen_before_anything_is_done(
    town: Town, tmp_path: Path
):
    file, broken = tmp_path / "town.export", tmp_path / "broken.export"
    await run(town.server, "export", file)
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        places = {
            name: archive.getinfo(name).header_offset + 30 + len(name.encode())
            for name in ("messages.jsonl", next(n for n in names if n.startswith("files/uploads/")))
        }
    for place in places.values():
        content = bytearray(file.read_bytes())
        content[place + 40] ^= 0xFF  # behind what an entry may say of its size
        broken.write_bytes(content)
        said = await asyncio.to_thread(refusal, "import", "--dry-run", broken)
        assert "no export of Parley, or not all of one" in said
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(broken, "w") as new:
        for name in names:
            if not name.startswith("files/uploads/"):
                new.writestr(name, old.read(name))
    said = await asyncio.to_thread(refusal, "import", "--dry-run", broken)
    assert "does not hold the files that it should" in said


async def test_a_retry_after_a_cut_gets_the_same_numbers(
    town: Town, server_url: str, template_database: str, tmp_path: Path
):
    """The first try took numbers and has left files, as one that is killed does."""
    file = tmp_path / "town.export"
    await run(town.server, "export", file)
    with new_database(server_url, template_database) as url:
        async with serve(url) as there:
            with connected(url) as connection, reading(file) as (archive, manifest):
                numbers = renumbering(connection, manifest, "")
                await take_files(archive, there.app.blobs, numbers.key, lambda *_: None)
                with connected(url) as another:  # as long as the first goes on
                    assert renumbering(another, manifest, "").realm_id != numbers.realm_id
            await run(there, "import", file)
            async with there.app.database.connection() as found:
                alice = await found.value("SELECT user_id FROM users WHERE full_name = 'Alice'")
            assert alice == town.ids["alice"]


async def test_others_of_the_server_are_not_in_it(town: Town, server: Server, tmp_path: Path):
    file = tmp_path / "town.export"
    async with server.app.database.connection() as connection:
        other = await new_realm(connection)
        await other.user("Mallory")
    await run(server, "export", file, "--realm", await _subdomain(server, town))
    assert "Mallory" not in {row["full_name"] for row in rows_of(file, "users")}
    for table in manifest_of(file).tables:
        assert {row["realm_id"] for row in rows_of(file, table.name)} <= {town.make.realm_id}


async def _subdomain(server: Server, town: Town) -> str:
    return (await server.app.realm_caches.of(town.make.realm_id).realm()).subdomain
