"""`parley import` of other programs' exports: an organization comes with all that its file has."""

import asyncio
import json
import os
import signal
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from server.imports import importing
from storage.message_bits import PINNED
from testkit.clients.api import Client
from testkit.clients.commands import refusal, run
from testkit.clients.mailing_server import Posting
from testkit.clients.page_client import Visitor
from testkit.clients.server import ROOT_DOMAIN, Server
from testkit.images import picture
from testkit.rocketchat_exports import (
    chunks_of,
    room,
    write_dump,
)
from testkit.rocketchat_exports import (
    message as room_message,
)
from testkit.rocketchat_exports import (
    user as room_user,
)
from testkit.slack_exports import channel, message, person, write_export, write_large_export

pytestmark = pytest.mark.asyncio

SAMPLE = Path(__file__).parent / "samples" / "slack.zip"
IMPORT = ("--realm", "moved")


async def client_of(server: Server, email: str, subdomain: str = "moved") -> Client:
    async with server.app.database.connection() as connection:
        key = await connection.value(
            """
            SELECT u.api_key FROM users u JOIN realms r USING (realm_id)
             WHERE r.subdomain = %(subdomain)s AND u.email = %(email)s
            """,
            subdomain=subdomain,
            email=email,
        )
    return Client(server, f"{subdomain}.{ROOT_DOMAIN}", email, key)


async def history_of(client: Client, narrow: list[Any] | None = None) -> list[dict[str, Any]]:
    page = await client.get(
        "/messages",
        anchor="newest",
        num_before=1000,
        num_after=0,
        narrow=narrow or [],
        apply_markdown=False,
    )
    return list(page["messages"])


def here(server: Server) -> dict[str, str]:
    return {
        "DATABASE_URL": server.app.settings.database_url or "",
        "PARLEY_DATA": str(server.app.settings.data_directory),
        "PARLEY_ROOT_DOMAIN": ROOT_DOMAIN,
    }


async def refused(server: Server, *arguments: str | Path) -> str:
    return await asyncio.to_thread(refusal, "import", *arguments, **here(server))


async def realms(server: Server) -> list[str]:
    async with server.app.database.connection() as connection:
        return await connection.values("SELECT subdomain FROM realms ORDER BY 1")


async def test_a_real_export_comes_as_it_was(server: Server, tmp_path: Path):
    report = tmp_path / "report.json"
    await run(server, "import", SAMPLE, *IMPORT, "--owner", "k@example.com", "--report", report)
    owner = await client_of(server, "k@example.com")
    messages = await history_of(owner)
    assert [each["timestamp"] for each in messages] == sorted(m["timestamp"] for m in messages)
    by_text = {each["content"]: each for each in messages}
    mention = next(each for each in messages if "this is a test mention" in each["content"])
    assert mention["content"].startswith("@**Lena Linden|")
    assert by_text["***duckrabbit***"]["subject"] == "imported from Slack"
    thread = [each["content"] for each in messages if each["subject"] == "rabbitduck"]
    assert thread == ["***rabbitduck***", "thread 1?", "msg sent to general as well"]
    linked = next(each for each in messages if "IMG_0677.JPG" in each["content"])
    assert "https://plan8team.slack.com/files/" in linked["content"]
    shown = json.loads(report.read_text())
    assert shown["imported"]["messages"] == len(messages)
    assert shown["imported"]["pinned messages"] == 1
    assert {each["count"] for each in shown["remarks"]} == {1, 2, 3, 9}
    [other] = [each for each in shown["remarks"] if each["count"] == 1]
    assert (other["reason"], other["examples"]) == (
        "files of other kinds were left out",
        ["integration_logs.json"],
    )


USERS = [
    person("U1", "Ada", is_primary_owner=True, is_owner=True),
    person("U2", "Bob"),
    person("U3", "Guest", is_restricted=True, deleted=False),
    person("U4", "Gone", deleted=True),
    person("U5", "Robot", is_bot=True, profile={"email": None, "bot_id": "B5"}),
]
DAY = "2024-03-01"
MESSAGES = {
    f"plans/{DAY}": [
        message("U1", "Root of *it*", "1709280001.000100", thread_ts="1709280001.000100"),
        message("U2", "An answer", "1709280005.000100", thread_ts="1709280001.000100"),
        message("U4", "<@U2>, for <#C1>", "1709280002.000100", edited={"ts": "1709280009.0"}),
        message(
            "",
            "see https://x.slack.com/archives/C1/p1709280001000100?thread_ts=1&cid=C1",
            "1709280003.000100",
            bot_id="B5",
            reactions=[{"name": "tada", "users": ["U1", "U9"]}, {"name": "ours", "users": ["U1"]}],
        ),
        message("U1", "in the year 3000", "32503680000.000100"),
        message("U2", "Root of *it*", "1709280006.000100", thread_ts="1709280006.000100"),
        message("U2", "Too early", "1709280010.000100", thread_ts="1709280011.000100"),
        message("U1", "Late root", "1709280011.000100", thread_ts="1709280011.000100"),
    ],
    f"secret/{DAY}": [message("U1", "x" * 20_000, "1709280004.000100")],
    f"D1/{DAY}": [
        message("U1", "<https://x.slack.com/archives/G1/p1709280004000100|this>", "1709280007.0001")
    ],
    f"mpdm-a-1/{DAY}": [
        message(
            "U2",
            "",
            "1709280008.000100",
            files=[
                {"id": "F1", "name": "a [b].png"},
                {"id": "F2", "name": "gone.txt", "permalink": "https://x.slack.com/f"},
            ],
        )
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_export(
        tmp_path / "export.zip",
        users=USERS,
        channels=[
            channel("C1", "plans", ["U1", "U2", "U3", "U4"], is_general=True, creator="U2"),
            channel("C2", "Old", [], is_archived=True),
            channel(
                "C3",
                "x" * 300 + "\x07",
                [],
                topic={"value": "a &amp; <https://x.example|x>"},
                purpose={"value": "b"},
            ),
        ],
        groups=[channel("G1", "secret", ["U1"])],
        dms=[{"id": "D1", "members": ["U1", "U2"]}, {"id": "D2", "members": ["U2", "U1"]}],
        mpims=[{"id": "G2", "name": "mpdm-a-1", "members": ["U1", "U2", "U3"]}],
        messages=MESSAGES,
        files={"__uploads/F1/a.png": picture()},
    )


async def test_everything_in_an_export_has_its_place(server: Server, file: Path):
    await run(server, "import", file, *IMPORT, "--topic", "loose talk", "--name", "Our team")
    ada, bob = await client_of(server, "u1@example.com"), await client_of(server, "u2@example.com")
    state = await ada.post("/register")
    assert state["realm_name"] == "Our team"
    people = {each["full_name"]: each for each in state["realm_users"]}
    assert (people["Ada"]["role"], people["Guest"]["role"]) == (100, 600)
    assert people["Robot"]["bot_owner_id"] == people["Ada"]["user_id"]
    assert "Gone" in {each["full_name"] for each in state["realm_non_active_users"]}
    assert people["Bob"]["timezone"] == "Europe/Berlin"
    channels = {each["name"]: each for each in state["subscriptions"]}
    assert channels.keys() == {"plans", "secret"}
    assert channels["secret"]["invite_only"]
    assert channels["plans"]["creator_id"] == people["Bob"]["user_id"]
    others = {each["name"]: each for each in state["unsubscribed"] + state["never_subscribed"]}
    assert others["x" * 60]["description"] == "a & [x](https://x.example). b"
    assert state["unread_msgs"]["count"] == 0

    seen = await history_of(ada)
    by_start = {each["content"][:9]: each for each in seen}
    roots = [each for each in seen if each["content"] == "Root of **it**"]
    assert [each["subject"] for each in roots] == [
        "Root of it",
        "Root of it (2024-03-01 08:00:06)",
    ]
    assert by_start["An answer"]["subject"] == "Root of it"
    assert by_start["Too early"]["subject"] == by_start["Late root"]["subject"] == "Late root"
    loose = by_start["@**Bob|" + str(people["Bob"]["user_id"])[:2]]
    assert loose["subject"] == "loose talk"
    assert "last_edit_timestamp" in loose
    link = next(each for each in seen if each["content"].startswith("see "))
    assert link["sender_id"] == people["Robot"]["user_id"]
    assert f"/#narrow/channel/{roots[0]['stream_id']}-plans/" in link["content"]
    assert link["content"].endswith(f"/near/{roots[0]['id']}")
    assert [each["emoji_name"] for each in link["reactions"]] == ["tada"]
    long = next(each for each in seen if each["display_recipient"] == "secret")
    assert len(long["content"]) == 10_000
    assert (
        f"/near/{long['id']}"
        in next(each for each in seen if each["type"] == "private" and "this" in each["content"])[
            "content"
        ]
    )
    assert all(each["timestamp"] <= server.app.clock.now().timestamp() for each in seen)
    assert seen[-1]["content"] == "in the year 3000"

    # Bob received a mention, and knows nothing of the private channel.
    assert await history_of(bob, [["is", "mentioned"]]) != []
    assert not [each for each in await history_of(bob) if each["display_recipient"] == "secret"]
    held = next(each for each in seen if "/user_uploads/" in each["content"])
    path = held["content"].partition("](")[2].partition(")")[0]
    assert (await bob.fetch(path)).content == picture()
    assert "[gone.txt](https://x.slack.com/f)" in held["content"]

    # And on it goes.
    queue = await bob.register()
    sent = await ada.post("/messages", type="channel", to="plans", topic="loose talk", content="hi")
    assert sent["id"] > max(each["id"] for each in seen)
    assert (await queue.until("message"))["message"]["id"] == sent["id"]
    assert (await bob.post("/register"))["unread_msgs"]["count"] == 1


async def test_what_is_wrong_is_said_and_nothing_is_done(
    server: Server, file: Path, tmp_path: Path
):
    before = await realms(server)
    said = await run(server, "import", file, "--dry-run")
    assert "11 messages" in said
    cut = tmp_path / "cut.zip"
    await asyncio.to_thread(lambda: cut.write_bytes(file.read_bytes()[:-100]))
    assert await refused(server, cut, *IMPORT) != ""
    nobody = write_export(tmp_path / "n.zip", users=USERS[1:], channels=[], messages={})
    assert "--owner" in await refused(server, nobody, *IMPORT)
    said = await refused(server, file, "--realm", "not a subdomain")
    assert "subdomain" in said.lower()
    assert await realms(server) == before
    await run(server, "import", file, *IMPORT)
    assert "There is an organization" in await refused(server, SAMPLE, *IMPORT)
    async with server.app.database.connection() as connection:
        report = await connection.value("SELECT report FROM imports")
    assert report["remarks"]
    assert all(each["examples"] == [] for each in report["remarks"])
    # The same file again changes nothing.
    ada = await client_of(server, "u1@example.com")
    seen = await history_of(ada)
    await run(server, "import", file, *IMPORT)
    assert await history_of(ada) == seen


async def test_an_export_without_messages_has_people_and_channels(server: Server, tmp_path: Path):
    file = write_export(
        tmp_path / "empty.zip",
        users=USERS,
        channels=[channel("C1", "plans", ["U1", "U2"], creator="U2")],
        dms=[{"id": "D1", "members": ["U1", "U2"]}],
        messages={},
    )
    said = await run(server, "import", file, "--realm", "empty")
    assert "1 channels" in said


async def test_a_thread_is_named_by_its_root_also_if_that_comes_later(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In a later transaction than its replies, under a name that is free, taken or the same."""
    monkeypatch.setattr(importing, "BATCH", 1)

    def threaded(number: int, text: str, root: int) -> dict[str, Any]:
        return message("U1", text, f"17092800{number:02}.0", thread_ts=f"17092800{root:02}.0")

    messages = [
        threaded(1, "first reply", 5),
        threaded(2, "early reply", 6),
        threaded(3, "same words", 7),
        threaded(4, "taken name", 4),
        threaded(5, "the root", 5),
        threaded(6, "taken name", 6),
        threaded(7, "same words", 7),
        threaded(8, "reply without a root", 99),
        threaded(9, "last reply", 5),
    ]
    days = {"plans/2024-03-01": messages}
    path = write_export(
        tmp_path / "x.zip", users=USERS, channels=[channel("C1", "plans", ["U1"])], messages=days
    )
    await run(server, "import", path, *IMPORT)
    seen = await history_of(await client_of(server, "u1@example.com"))
    assert [(each["content"], each["subject"]) for each in seen] == [
        ("first reply", "the root"),
        ("early reply", "taken name (2024-03-01 08:00:06)"),
        ("same words", "same words"),
        ("taken name", "taken name"),
        ("the root", "the root"),
        ("taken name", "taken name (2024-03-01 08:00:06)"),
        ("same words", "same words"),
        ("reply without a root", "reply without a root"),
        ("last reply", "the root"),
    ]


async def test_links_to_posts_lead_to_those_that_are_there(server: Server, tmp_path: Path):
    """Where an export has ids of posts, which depends on its version."""
    known, reply, unknown = "a" * 26, "b" * 26, "c" * 26
    links = [f"https://chat.example/t/pl/{key}" for key in (known, reply, unknown)]
    place = {"team": "t", "channel": "plans"}
    replies = [post("bob", "answer", 2, id=reply)]
    file = mattermost(
        tmp_path / "export.zip",
        ("team", {"name": "t"}),
        ("channel", {"team": "t", "name": "plans", "type": "O", **PLANS}),
        user("ada", roles="system_admin"),
        user("bob"),
        ("post", {**place, **post("ada", "root", 1, id=known, replies=replies)}),
        ("post", {**place, **post("ada", "\n".join(links), 3)}),
    )
    said = await run(server, "import", file, *IMPORT)
    assert "1 links lead to messages that are not in the export" in said
    seen = await history_of(await client_of(server, "ada@x.example"))
    assert {each["subject"] for each in seen[:2]} == {"root"}
    lines = seen[2]["content"].split("\n")
    assert [line.rpartition("/near/")[2] for line in lines[:2]] == [str(m["id"]) for m in seen[:2]]
    assert lines[2] == links[2]


async def test_profiles_have_the_fields_that_fit(server: Server, tmp_path: Path):
    """Names and values of any length, repeated names, more fields than there may be, and bots."""
    many = {f"X{n}": {"value": "v" * 10_000, "label": f"{n} " + "x" * 500} for n in range(120)}
    again = {"value": "two", "label": "Title"}
    status = {"status_text": "s" * 200, "status_emoji": ":tada:"}
    dates = {"start_date": "2020-02-30", "title": "t" * 40}
    users = [
        person("U1", "Ada", is_owner=True, profile={"fields": {"T": again} | many, **status}),
        person("U2", "Bob", profile={"title": "t\x07" * 60, "start_date": "2020-02-29"}),
        person("U3", "Same", profile={"email": "u2@example.com", **dates}),
        person("U4", "Robot", is_bot=True, profile={"title": "bot", **status}),
        person("U5", "Gone", deleted=True, profile={"pronouns": "p" * 90, **status}),
    ]
    path = write_export(tmp_path / "x.zip", users=users, channels=[], messages={})
    said = await run(server, "import", path, *IMPORT, "--report", tmp_path / "report.json")
    ada = await client_of(server, "u1@example.com")
    state = await ada.post("/register")
    fields = {each["id"]: each for each in state["custom_profile_fields"]}
    assert len(fields) == 100
    names = [each["name"] for each in fields.values()]
    assert names[:4] == ["Title", "Pronouns", "Start date", "Title (2)"]
    assert (len(set(names)), max(map(len, names))) == (100, 40)
    assert [each["type"] for each in fields.values()][:5] == [2, 8, 4, 1, 2]
    everyone = [*state["realm_users"], *state["realm_non_active_users"]]
    data = {
        each["full_name"]: {
            fields[int(key)]["name"]: value["value"] for key, value in each["profile_data"].items()
        }
        for each in everyone
        if each.get("profile_data")
    }
    assert data.keys() == {"Ada", "Bob", "Gone"}
    assert data["Bob"] == {"Title": "t\x07" * 60, "Start date": "2020-02-29"}
    assert data["Gone"] == {"Pronouns": "p" * 49 + "…"}
    assert data["Ada"]["Title (2)"] == "two"
    assert {len(each) for each in data["Ada"].values()} == {3, 500}
    [mine] = state["user_status"].values()
    assert (mine["status_text"], mine["emoji_name"]) == ("s" * 59 + "…", "tada")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["imported"]["profile fields"] == 100
    assert report["imported"]["statuses"] == 1
    counts = {each["reason"].partition(",")[0]: each["count"] for each in report["remarks"]}
    assert counts["profile fields were left out: there are 100 of them at most"] == 24
    assert counts["values of profile fields were left out"] == 1
    assert counts["values of profile fields were cut"] == 97
    assert counts["statuses were left out"] == 2
    assert "24 profile fields were left out" in said


async def test_an_import_goes_on_where_it_was_killed(server: Server, tmp_path: Path):
    file = write_large_export(tmp_path / "large.zip", messages=6_000, days=4, channels=5, people=20)
    environment = {**os.environ, **here(server)}  # noqa: TID251
    program = "from scripts.cli.main import main; main()"
    arguments = [sys.executable, "-c", program, "import", str(file), *IMPORT]
    process = await asyncio.create_subprocess_exec(*arguments, env=environment)
    done = 0
    while not 2_000 <= done < 6_000:
        assert process.returncode is None
        async with server.app.database.connection() as connection:
            done = await connection.value("SELECT coalesce(max(done), 0) FROM imports")
        await asyncio.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    owner = await client_of(server, "u00000@example.com")
    assert (await owner.post("/register"))["unread_msgs"]["count"] == 0

    await run(server, "import", file, *IMPORT)
    async with server.app.database.connection() as connection:
        found = await connection.tuples(
            """
            SELECT count(*), count(DISTINCT m.id), count(DISTINCT m.sent_at), max(m.id), min(m.id)
              FROM messages m JOIN imports i USING (realm_id)
            """
        )
        [(report, keys)] = await connection.tuples(
            "SELECT report, (SELECT count(*) FROM import_keys) FROM imports"
        )
        ordered = await connection.value(
            """
            SELECT bool_and(ok) FROM (
                SELECT sent_at >= lag(sent_at) OVER (ORDER BY id) IS NOT FALSE AS ok
                  FROM messages JOIN imports USING (realm_id)) x
            """
        )
    assert found == [(6_000, 6_000, 6_000, 6_000, 1)]
    assert report["imported"]["messages"] == 6_000
    assert (keys, ordered) == (20, True)


# -- Mattermost

MATTERMOST = Path(__file__).parent / "samples" / "mattermost.jsonl"


async def test_a_real_export_of_mattermost_comes_as_it_was(server: Server):
    said = await run(server, "import", MATTERMOST, *IMPORT)
    assert "2 custom emoji have no picture in the export" in said
    hanna = await client_of(server, "hanna@example.com")
    state = await hanna.post("/register")
    names = {each["name"] for each in state["subscriptions"]}
    assert "Dorns army (Iago Realm)" in names
    people = {each["full_name"]: each for each in state["realm_users"]}
    assert people["Hanna Hof"]["role"] == 100
    seen = await history_of(hanna)
    by_text = {each["content"]: each for each in seen}
    assert f"@**Ron Weber|{people['Ron Weber']['user_id']}** Welcome mate!" in by_text
    # The root is dated after its reply, and names the topic.
    thread = [each for each in seen if each["subject"] == "hanna joined the channel."]
    assert [each["content"] for each in thread] == [
        "The weather is so hot!",
        "hanna joined the channel.",
    ]
    reactions = by_text["Hello world"]["reactions"]
    assert {each["emoji_name"] for each in reactions} == {"big_smile", "world_map"}
    assert state["unread_msgs"]["count"] == 0


PLANS = {"display_name": "Plans", "header": "h"}


def mattermost(path: Path, *lines: tuple[str, dict[str, Any]], **files: bytes) -> Path:
    text = '{"type":"version","version":1}\n' + "".join(
        json.dumps({"type": kind, kind: value}, separators=(",", ":")) + "\n"
        for kind, value in lines
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("import.jsonl", text)
        for name, content in files.items():
            archive.writestr(f"data/{name}", content)
    return path


def user(name: str, **facts: Any) -> tuple[str, dict[str, Any]]:
    channels = [{"name": "town-square"}, {"name": "plans"}]
    teams = [{"name": "t", "roles": "team_user", "channels": channels}]
    return "user", {"username": name, "email": f"{name}@x.example", "teams": teams, **facts}


def post(who: str, text: str, moment: int, **facts: Any) -> dict[str, Any]:
    return {"user": who, "message": text, "create_at": 1709280000000 + moment, **facts}


async def test_everything_in_an_archive_of_mattermost_has_its_place(server: Server, tmp_path: Path):
    replies = [post("bob", "answer to @ada.", 4), post("ada", "", 9, type="system_add_to_channel")]
    reactions = [{"user": "ada", "emoji_name": "ours"}, {"user": "bob", "emoji_name": "none"}]
    place = {"team": "t", "channel": "plans"}
    file = mattermost(
        tmp_path / "export.zip",
        ("team", {"name": "t", "display_name": "T"}),
        ("channel", {"team": "t", "name": "town-square", "display_name": "Town", "type": "O"}),
        ("channel", {"team": "t", "name": "plans", "type": "P", "delete_at": 5, **PLANS}),
        ("emoji", {"name": "ours", "image": "ours.png"}),
        ("emoji", {"name": "tada", "image": "broken.png"}),
        user("ada", roles="system_admin system_user", profile_image="ada.png"),
        user("bob", nickname="Bob B.", delete_at=7, profile_image="ada.png"),
        user("eve", roles="system_guest"),
        ("bot", {"username": "robot", "owner": "ada", "display_name": "Robot"}),
        ("direct_channel", {"members": ["ada", "eve"], "header": ""}),
        ("post", {**place, **post("ada", "_root_ `_x_ @bob`", 1, replies=replies)}),
        ("post", {**place, **post("robot", "~plans, @all :ours:", 2, reactions=reactions)}),
        ("post", {**place, **post("ada", "look", 3, attachments=[{"path": "f/a.png"}])}),
        ("post", {**place, **post("ada", "the rules", 5, is_pinned=True)}),
        ("direct_post", {"channel_members": ["eve", "ada"], **post("eve", "hi", 6, edit_at=8)}),
        **{"ours.png": picture(), "broken.png": b"no", "ada.png": picture(), "f/a.png": picture()},
    )
    said = await run(server, "import", file, *IMPORT)
    assert "pictures were left out (tada:" in said
    ada = await client_of(server, "ada@x.example")
    state = await ada.post("/register")
    channels = {each["name"]: each for each in state["subscriptions"]}
    assert channels.keys() == {"Town"}
    people = {each["full_name"]: each for each in [*state["realm_users"]]}
    assert people["ada"]["avatar_url"].startswith("/user_avatars/")
    [gone] = [each for each in state["realm_non_active_users"] if each["full_name"] == "Bob B."]
    assert gone["avatar_url"].startswith("/user_avatars/")
    assert [each["name"] for each in state["realm_emoji"].values()] == ["ours"]
    direct = await history_of(ada, [["is", "dm"]])
    assert [each["content"] for each in direct] == ["hi"]

    async with server.app.database.connection() as connection:
        found = await connection.tuples(
            """
            SELECT m.content, t.name, m.rendered_content, m.traits FROM messages m
              JOIN topics t ON t.realm_id = m.realm_id AND t.topic_id = m.conversation_id
              JOIN imports i ON i.realm_id = m.realm_id ORDER BY m.id
            """
        )
        kinds = await connection.values(
            "SELECT reaction_type FROM reactions JOIN imports USING (realm_id)"
        )
    texts = [(content, topic) for content, topic, _, _ in found]
    assert [each[0] for each in found if each[3] & PINNED] == ["the rules"]
    assert texts[0] == ("*root* `_x_ @bob`", "root _x_ @bob")
    assert texts[1] == ("#**Plans**, @**all** :ours:", "imported from Mattermost")
    assert texts[3] == (f"answer to @**ada|{people['ada']['user_id']}**.", "root _x_ @bob")
    assert len(found) == 5
    assert 'alt=":ours:"' in found[1][2]
    assert "message_inline_image" in found[2][2]
    assert kinds == ["realm_emoji"]


async def test_people_are_invited_with_one_command(posting: Posting, file: Path):
    server, sink = posting.server, posting.sink
    await run(server, "import", file, *IMPORT)
    mail = {"PARLEY_SMTP_HOST": "127.0.0.1", "PARLEY_SMTP_PORT": str(sink.port)}
    invite = ("user", "invite-imported", *IMPORT)
    assert "sends no email" in await asyncio.to_thread(refusal, *invite, **here(server))
    assert "3 people are invited" in await run(server, *invite, **mail)
    async with server.app.database.connection() as connection:
        realm_id = await connection.value("SELECT realm_id FROM imports")
    jobs = await (moved := Posting(server, sink, realm_id)).jobs()
    for job in jobs:
        await moved.send(job)
    # Not those who are deactivated, and no bots.
    assert {mail["To"] for mail in sink.mails} == {
        f"{name} <{key}@example.com>"
        for name, key in (("Ada", "u1"), ("Bob", "u2"), ("Guest", "u3"))
    }
    assert sink.mails[0]["Subject"].startswith("Your account at ")
    path = moved.link(sink.mails[0])
    visitor = Visitor(Client(server, f"moved.{ROOT_DOMAIN}", "", None))
    await visitor.look(path)
    assert (await visitor.submit(path, new_password="correct horse battery staple")).status == 303
    assert "2 people are invited" in await run(server, *invite, **mail)


# -- Rocket.Chat

ROCKETCHAT = Path(__file__).parent / "samples" / "rocketchat"


async def test_a_real_dump_of_rocketchat_comes_as_it_was(server: Server, tmp_path: Path):
    file = tmp_path / "dump.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in ROCKETCHAT.iterdir():
            archive.write(path, f"dump/meteor/{path.name}")
    said = await run(server, "import", file, *IMPORT)
    assert "3 custom emoji have no picture in the export" in said
    hanna = await client_of(server, "hanna@example.com")
    state = await hanna.post("/register")
    people = {each["full_name"]: each for each in state["realm_users"]}
    assert (people["Hanna Hof"]["role"], people["Lars Vold"]["role"]) == (100, 400)
    names = {each["name"] for each in state["subscriptions"]}
    assert {"general", "random", "green-house-common-room"} <= names
    assert "Dorm meeting" not in names  # a discussion
    seen = await history_of(hanna)
    by_text = {each["content"]: each for each in seen}
    welcome = next(each for each in seen if "welcome to the team" in each["content"])
    helga = people["Helga Grund"]["user_id"]
    # The other has changed the name since.
    assert welcome["content"].startswith(f"Hey @**Helga Grund|{helga}** @rolf.weber, welcome")
    thread = [each for each in seen if each["subject"] == welcome["subject"]]
    assert [each["content"] for each in thread[1:3]] == [
        "Anyone here??",
        "Hey, yeah! We're all here!!!",
    ]
    invitation = next(each for each in seen if "Join the" in each["content"])
    assert invitation["content"].endswith("Join the #**green-house-common-room**")
    assert by_text["Yo @**all**!"]["subject"] == "imported from Rocket.Chat"
    discussed = [each for each in seen if each["subject"] == "Random discussion"]
    assert {each["display_recipient"] for each in discussed} == {"random"}
    assert [each["emoji_name"] for each in by_text["Let's invite Rolf too over here."]["reactions"]]
    assert [each for each in seen if each["type"] == "private"]
    assert state["unread_msgs"]["count"] == 0


IN_CHUNKS = {
    "F1": picture(),
    "F2": bytes(range(251)) * 5000,
    "F3": b"a chunk of it is missing",
}
"""Contents of uploads, by their ids."""


def dump_in_chunks(path: Path) -> Path:
    """Write a dump with uploads, pictures and emoji in chunks, which are in any order."""
    files = IN_CHUNKS
    chunks = [each for key, content in files.items() for each in chunks_of(key, content)][::-1]
    moment = datetime(2024, 3, 1, tzinfo=UTC)
    held = [{"_id": key, "name": f"{key}.png"} for key in (*files, "F4")]
    emoji = ["ours.png", "%C3%BC.png"]
    return write_dump(
        path,
        users=[
            room_user("u1", "Ada", roles=["admin"], avatarOrigin="upload"),
            room_user("u2", "Bob"),
        ],
        rocketchat_room=[room("GENERAL", "general")],
        rocketchat_message=[
            room_message(
                "m1", "u1", "files", moment, files=[*held, {"_id": "t", "name": "thumb-x"}]
            ),
            room_message(
                *("m2", "u2", ":ours: :same:", moment),
                reactions={":ours:": {"usernames": ["ada"]}},
                pinned=True,
            ),
        ],
        rocketchat_uploads__files=[
            {"_id": key, "length": float(len(content))} for key, content in files.items()
        ],
        rocketchat_uploads__chunks=[each for each in chunks if each["files_id"] != "F3"],
        rocketchat_avatars=[{"_id": "A1", "userId": "u1"}],
        rocketchat_avatars__files=[{"_id": "A1", "length": len(picture())}],
        rocketchat_avatars__chunks=chunks_of("A1", picture(), 50),
        rocketchat_custom_emoji=[
            {"_id": "1", "name": "ours", "extension": "png", "aliases": ["same", "ours"]},
            {"_id": "2", "name": "ü", "extension": "png", "aliases": ["umlaut"]},
            {"_id": "3", "name": "gone", "extension": "gif"},
        ],
        custom_emoji__files=[{"_id": each, "length": len(picture())} for each in emoji],
        custom_emoji__chunks=[chunk for each in emoji for chunk in chunks_of(each, picture())],
    )


async def test_files_that_are_in_the_database_of_rocketchat_are_whole(
    server: Server, tmp_path: Path
):
    file = dump_in_chunks(tmp_path / "dump.zip")
    report = tmp_path / "report.json"
    await run(server, "import", file, *IMPORT, "--report", report)
    ada = await client_of(server, "ada@x.example")
    state = await ada.post("/register")
    people = {each["full_name"]: each for each in state["realm_users"]}
    assert people["Ada"]["avatar_url"].startswith("/user_avatars/")
    assert {each["name"] for each in state["realm_emoji"].values()} == {"ours", "same", "umlaut"}
    seen = {each["content"].partition("\n")[0]: each for each in await history_of(ada)}
    pinned = await history_of(ada, [["is", "pinned"]])
    assert [each["id"] for each in pinned] == [seen[":ours: :same:"]["id"]]
    lines = seen["files"]["content"].split("\n")[1:]
    assert lines[2:] == ["F3.png", "F4.png"]
    for line, content in zip(lines[:2], IN_CHUNKS.values(), strict=False):
        assert (await ada.fetch(line.partition("](")[2][:-1])).content == content
    assert [each["emoji_name"] for each in seen[":ours: :same:"]["reactions"]] == ["ours"]
    imported = json.loads(report.read_text())
    assert imported["imported"]["files"] == 2
    reasons = {each["reason"].partition(":")[0]: each["examples"] for each in imported["remarks"]}
    assert reasons["files are damaged, and were left out"] == [
        "F3.png: chunks are missing in the dump, or are of another file"
    ]
    assert reasons["files are not in the export"] == ["F4.png"]
    assert reasons["custom emoji have no picture in the export"] == ["gone"]
    assert len(reasons["pictures were left out"]) == 1
