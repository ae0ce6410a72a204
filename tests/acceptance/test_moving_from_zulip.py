"""`parley import` of Zulip's exports: an organization comes with all that its file has."""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from testkit.clients.api import Client
from testkit.clients.commands import run
from testkit.clients.server import Server
from testkit.images import picture
from testkit.zulip_exports import READ, STARRED, START, ZulipExport, write_large_export
from tests.acceptance.test_moving import IMPORT, client_of, here, history_of, realms, refused

pytestmark = pytest.mark.asyncio

ADA, BOB, EVE, GONE, ROBOT, DUMMY = 10, 11, 12, 13, 14, 15
WAYS = {
    "creator": BOB,
    "can_send_message_group": 70,
    "can_remove_subscribers_group": 60,
    "can_subscribe_group": 999,
    "message_retention_days": 30_000,
    "topics_policy": 3,
}
UPLOAD = "2/ab/Zk3jQ0xh9b2LrT5mVw8YcP1n/a-picture.png"


@pytest.fixture
def export() -> ZulipExport:
    """An organization with a little of everything."""
    export = ZulipExport()
    to_bob = add_people(export)
    plans = export.channel(1, "plans", [ADA, BOB, EVE], description="What we **do**", **WAYS)
    add_groups(export)
    add_channels(export, plans)
    group = export.group(1, [ADA, BOB, EVE])
    add_profiles(export)
    add_organization(export)
    add_files(export)
    add_channel_messages(export, plans)
    export.message(110, ADA, to_bob, "to you")
    export.message(111, BOB, 1_000 + ADA, "and back")
    export.message(112, EVE, group, "to you all")
    export.message(113, ADA, 1_000 + ADA, "to myself")
    export.message(114, 77, plans, "from someone unknown", "Start")
    export.message(115, ADA, plans, "in the year 3000", "Start", date_sent=32503680000)
    export.flags(101, BOB, STARRED)
    export.flags(101, ADA, READ)
    export.flags(110, BOB, STARRED | READ)
    export.react(101, BOB, "tada")
    export.react(101, EVE, "ours", reaction_type="realm_emoji")
    export.react(99, EVE, "tada")
    return export


def add_people(export: ZulipExport) -> int:
    """Add people and bots; return the recipient of messages to Bob."""
    settings = {"color_scheme": 2, "enter_sends": True, "web_home_view": "unknown"}
    export.person(ADA, "Ada", role=100, **settings)
    to_bob = export.person(BOB, "Bob", role=200, timezone="Asia/Tokyo")
    export.person(EVE, "Eve", role=600)
    export.person(GONE, "Gone", is_active=False)
    export.person(ROBOT, "Robot", is_bot=True, bot_type=1, bot_owner=BOB)
    export.person(DUMMY, "Dummy", is_mirror_dummy=True, is_active=False)
    return to_bob


def add_groups(export: ZulipExport) -> None:
    for number, name in enumerate(["role:nobody", "role:administrators", "role:everyone"], 50):
        export.group_of_people(number, name, [ADA, BOB, EVE], is_system_group=True)
    export.group_of_people(60, "helpers", [BOB], [61], can_mention_group=52, creator=ADA)
    export.group_of_people(61, "all helpers", [EVE], [60, 50])
    export.group_of_people(62, "gone", [EVE], deactivated=True)
    export.group_of_people(70, "", [BOB, GONE], [51])


def add_channels(export: ZulipExport, plans: int) -> None:
    """Add channels, subscriptions with their settings, and policies of topics."""
    export.channel(2, "secret", [ADA], invite_only=True)
    export.channel(3, "open air", [ADA], is_web_public=True)
    export.channel(4, "old things", [ADA, BOB], deactivated=True)
    export.subscribe(plans, [GONE], active=False)
    chosen = next(row for row in export.realm["zerver_subscription"] if row["user_profile"] == BOB)
    chosen |= {"color": "#123456", "pin_to_top": True, "is_muted": True, "push_notifications": True}
    for channel, topic, policy in ((1, "START", 3), (1, "✔ Done", 1), (1, "gone", 1), (2, "x", 3)):
        row = {"user_profile": BOB, "stream": channel, "topic_name": topic}
        export.add("zerver_usertopic", **row, visibility_policy=policy, last_updated=START)


def add_profiles(export: ZulipExport) -> None:
    for number, (name, kind) in enumerate([("Phone", 1), ("Boss", 6)], start=1):
        field = {"name": name, "field_type": kind, "hint": "", "field_data": "", "order": number}
        export.add("zerver_customprofilefield", **{**field, "id": number})
    for number, value in ((1, "555-0100"), (2, f"[{ADA}, 99]")):
        export.add("zerver_customprofilefieldvalue", user_profile=BOB, field=number, value=value)
    export.add("zerver_userstatus", user_profile=BOB, status_text="out", emoji_name="car")


def add_organization(export: ZulipExport) -> None:
    """Add linkifiers, playgrounds, lists of users, and tables that are left out."""
    url = "https://bugs.example/{id}"
    export.add("zerver_realmfilter", pattern="#(?P<id>[0-9]+)", url_template=url, order=2)
    old = "https://old.example/%(id)s"
    export.add("zerver_realmfilter", pattern="T(?P<id>[0-9]+)", url_format_string=old, order=1)
    export.add("zerver_realmfilter", pattern="(?=x)", url_template=url, order=3)
    play = {"name": "Play", "pygments_language": "Python", "url_prefix": "https://play.example/"}
    export.add("zerver_realmplayground", **play)
    export.add("zerver_alertword", user_profile=BOB, word="lunch")
    export.add("zerver_muteduser", user_profile=BOB, muted_user=EVE)
    export.add("zerver_userpresence", user_profile=BOB)
    export.add("zerver_newthing", x=1)
    export.add("zerver_defaultstream", stream=1, realm=2)
    export.add("zerver_realmemoji", name="ours", file_name="7.png", deactivated=False, author=ADA)


def add_files(export: ZulipExport) -> None:
    export.file("emoji", "2/emoji/images/7.png.original", picture(), name="ours")
    export.file("avatars", "2/aaaa.png", picture(), user_profile_id=BOB)
    export.file("avatars", "2/aaaa.original", picture(), user_profile_id=BOB)
    export.file("realm_icons", "2/icon.original", picture())
    export.file("uploads", UPLOAD, picture(), user_profile_id=ADA)


def add_channel_messages(export: ZulipExport, plans: int) -> None:
    """Add messages that mention, link, were edited or moved, and that the server sent."""
    export.message(101, ADA, plans, "Hi @**Bob**, @**all** and @_**Eve|12**: `@**Bob**`", "Start")
    export.message(102, BOB, plans, f"[a](/user_uploads/{UPLOAD}) in #**plans**", "✔ Done")
    export.message(
        103,
        ADA,
        plans,
        "was edited",
        "start",
        last_edit_time=START + 500,
        edit_history='[{"prev_content": "x"}]',
    )
    export.message(
        104,
        ADA,
        plans,
        "was moved",
        "start",
        last_edit_time=START + 500,
        edit_history='[{"prev_subject": "x"}]',
    )
    export.message(
        105,
        BOB,
        plans,
        "see https://old.example.org/#narrow/stream/1-plans/topic/Start/near/101"
        " and #**plans>Start@101**",
        "",
    )
    export.message(
        106,
        BOB,
        plans,
        "[x](#narrow/channel/1-plans/topic/Start), https://other.example/#narrow/channel/1-plans",
        "links",
    )
    export.message(107, 4, plans, "@_**Ada|10** has marked this topic as resolved.", "✔ Done")
    export.message(108, ADA, plans, "for @*all helpers* of #55", "Start")


@dataclass(frozen=True, slots=True)
class Moved:
    """The organization after the import, as Ada and Bob see it."""

    server: Server
    said: str
    ada: Client
    bob: Client
    state: dict[str, Any]
    """Ada's register."""

    @property
    def people(self) -> dict[str, dict[str, Any]]:
        return {each["full_name"]: each for each in self.state["realm_users"]}

    def id_of(self, name: str) -> int:
        return int(self.people[name]["user_id"])


async def test_everything_in_an_export_has_its_place(
    server: Server, export: ZulipExport, tmp_path: Path
):
    file = export.write(tmp_path / "zulip-export.tar.gz")
    said = await run(server, "import", file, *IMPORT, "--name", "Our team")
    ada, bob = (
        await client_of(server, "ada@example.com"),
        await client_of(server, "bob@example.com"),
    )
    moved = Moved(server, said, ada, bob, await ada.post("/register"))
    check_people(moved)
    check_what_is_left_out(moved)
    await check_channels_and_groups(moved)
    seen = await history_of(ada)
    first = check_texts(moved, seen)
    await check_topics_and_files(moved, seen)
    check_links(moved, seen, first)
    await check_settings_of_bob(moved)
    await check_direct_messages_and_flags(moved, first)


def check_people(moved: Moved) -> None:
    state, people = moved.state, moved.people
    assert {name: people[name]["role"] for name in ("Ada", "Bob", "Eve")} == {
        "Ada": 100,
        "Bob": 200,
        "Eve": 600,
    }
    assert people["Robot"]["bot_owner_id"] == people["Bob"]["user_id"]
    assert people["Bob"]["date_joined"].startswith("2023-11-14T22:13")
    stubs = {name for name, each in people.items() if each["is_imported_stub"]}
    assert stubs == {"Ada", "Bob", "Eve"}
    assert people["Bob"]["timezone"] == "Asia/Tokyo"
    assert people["Bob"]["avatar_url"].startswith("/user_avatars/")
    gone = {each["full_name"] for each in state["realm_non_active_users"]}
    assert gone == {"Gone", "Dummy", "77"}
    assert state["user_settings"]["color_scheme"] == 2
    assert state["user_settings"]["enter_sends"] is True
    fields = {each["name"]: str(each["id"]) for each in state["custom_profile_fields"]}
    data = people["Bob"]["profile_data"]
    assert data[fields["Phone"]]["value"] == "555-0100"
    assert data[fields["Boss"]]["value"] == f"[{people['Ada']['user_id']}]"
    status = state["user_status"][str(people["Bob"]["user_id"])]
    assert (status["status_text"], status["emoji_name"]) == ("out", "car")


def check_what_is_left_out(moved: Moved) -> None:
    said = moved.said
    assert "personal settings have values that are unknown here (web_home_view: unknown)" in said
    assert "1 settings of the organization were left out: choose them here" in said
    assert "1 icons and logos of the organization were left out" in said
    assert "1 records of activity were left out" in said
    assert "1 records of tables that are not known were left out (zerver_newthing)" in said


async def check_channels_and_groups(moved: Moved) -> None:
    state, bob_id = moved.state, moved.id_of("Bob")
    channels = {each["name"]: each for each in state["subscriptions"]}
    assert channels.keys() == {"plans", "secret", "open air"}
    plans = channels["plans"]
    assert plans["description"] == "What we **do**"
    groups = {each["name"]: each for each in state["realm_user_groups"]}
    helpers, all_helpers = groups["helpers"], groups["all helpers"]
    assert helpers["members"] == [bob_id]
    assert helpers["direct_subgroup_ids"] == [all_helpers["id"]]
    # A circle is not closed.
    assert all_helpers["direct_subgroup_ids"] == [groups["role:nobody"]["id"]]
    kept = await moved.ada.get("/user_groups", include_deactivated_groups=True)
    assert {each["name"] for each in kept["user_groups"]} - groups.keys() == {"gone"}
    assert plans["can_remove_subscribers_group"] == helpers["id"]
    senders = plans["can_send_message_group"]
    assert senders["direct_subgroups"] == [groups["role:administrators"]["id"]]
    assert senders["direct_members"] == [bob_id]
    assert plans["can_subscribe_group"] == groups["role:nobody"]["id"]
    assert (plans["message_retention_days"], plans["topics_policy"]) == (
        30_000,
        "disable_empty_topic",
    )
    assert plans["creator_id"] == bob_id
    assert state["realm_default_streams"] == [plans["stream_id"]]
    assert channels["secret"]["invite_only"]
    assert channels["open air"]["is_web_public"]
    assert state["unread_msgs"]["count"] == 0
    assert [each["name"] for each in state["realm_emoji"].values()] == ["ours"]


def check_texts(moved: Moved, seen: list[dict[str, Any]]) -> dict[str, Any]:
    """Check mentions, edits and dates; return the first message."""
    by_start = {each["content"][:9]: each for each in seen}
    bob_id, eve_id = moved.id_of("Bob"), moved.id_of("Eve")
    first = by_start["Hi @**Bob"]
    assert first["content"] == (
        f"Hi @**Bob|{bob_id}**, @**all** and @_**Eve|{eve_id}**: `@**Bob**`"
    )
    assert (first["timestamp"], first["subject"]) == (START + 101, "Start")
    assert {each["emoji_name"] for each in first["reactions"]} == {"tada", "ours"}
    assert by_start["was edite"]["subject"] == "Start"
    assert "last_edit_timestamp" in by_start["was edite"]
    assert "last_edit_timestamp" not in by_start["was moved"]
    assert seen[-1]["content"] == "in the year 3000"
    assert seen[-1]["timestamp"] <= moved.server.app.clock.now().timestamp()
    return first


async def check_topics_and_files(moved: Moved, seen: list[dict[str, Any]]) -> None:
    done = [each for each in seen if each["subject"] == "✔ Done"]
    assert len(done) == 2
    notice = next(each for each in done if "resolved" in each["content"])
    assert notice["sender_email"] == "notification-bot@zulip.com"
    assert notice["content"].startswith(f"@_**Ada|{moved.id_of('Ada')}** has")
    held = next(each for each in done if each is not notice)
    path = held["content"].partition("](")[2].partition(")")[0]
    assert path.startswith("/user_uploads/")
    assert UPLOAD not in path
    assert (await moved.bob.fetch(path)).content == picture()


def check_links(moved: Moved, seen: list[dict[str, Any]], first: dict[str, Any]) -> None:
    plans = next(each for each in moved.state["subscriptions"] if each["name"] == "plans")
    linking = next(each for each in seen if each["content"].startswith("see "))
    assert linking["subject"] in ("", "general chat")
    near = f"/#narrow/channel/{plans['stream_id']}-plans/topic/Start/near/{first['id']}"
    link, _, mention = linking["content"].removeprefix("see ").partition(" and ")
    assert link.endswith(near)
    assert link.startswith(("http://moved.", "https://moved."))
    assert mention == f"#**plans>Start@{first['id']}**"
    places = next(each for each in seen if each["subject"] == "links")["content"]
    assert f"/#narrow/channel/{plans['stream_id']}-plans/topic/Start)" in places
    assert places.endswith("https://other.example/#narrow/channel/1-plans")


async def check_settings_of_bob(moved: Moved) -> None:
    bob, said = moved.bob, moved.said
    bobs = await bob.post("/register")
    linkifiers = await bob.get("/realm/linkifiers")
    assert [each["url_template"] for each in linkifiers["linkifiers"]] == [
        "https://old.example/{id}",
        "https://bugs.example/{id}",
    ]
    assert "1 linkifiers are impossible here, and were left out ((?=x): " in said
    assert [each["url_template"] for each in bobs["realm_playgrounds"]] == [
        "https://play.example/{code}"
    ]
    assert bobs["alert_words"] == ["lunch"]
    assert [each["id"] for each in bobs["muted_users"]] == [moved.id_of("Eve")]
    [own] = [each for each in bobs["subscriptions"] if each["name"] == "plans"]
    assert (own["color"], own["pin_to_top"], own["is_muted"]) == ("#123456", True, True)
    assert own["push_notifications"] is True
    policies = {each["topic_name"]: each["visibility_policy"] for each in bobs["user_topics"]}
    assert policies == {"Start": 3, "✔ Done": 1}
    assert "2 topics that people follow or have muted have no messages here" in said


async def check_direct_messages_and_flags(moved: Moved, first: dict[str, Any]) -> None:
    bob = moved.bob
    direct = await history_of(bob, [["is", "dm"]])
    assert [each["content"] for each in direct] == ["to you", "and back", "to you all"]
    assert len({str(each["display_recipient"]) for each in direct}) == 2
    starred = await history_of(bob, [["is", "starred"]])
    assert [each["id"] for each in starred] == [first["id"], direct[0]["id"]]
    assert first["id"] in [each["id"] for each in await history_of(bob, [["is", "mentioned"]])]
    eve = await client_of(moved.server, "eve@example.com")
    mentioned = [each["content"] for each in await history_of(eve, [["is", "mentioned"]])]
    assert "for @*all helpers* of #55" in mentioned
    page = await moved.ada.get("/messages", anchor="newest", num_before=100, num_after=0)
    assert any("https://bugs.example/55" in each["content"] for each in page["messages"])
    assert "1 reactions and stars of unknown messages were left out" in moved.said
    assert {
        each["display_recipient"] for each in await history_of(eve) if each["type"] == "stream"
    } == {"plans"}


async def test_history_that_newcomers_may_not_read_stays_hidden(server: Server, tmp_path: Path):
    export = ZulipExport()
    export.person(ADA, "Ada", role=100)
    export.person(BOB, "Bob")
    export.person(EVE, "Eve")
    facts = {"invite_only": True, "history_public_to_subscribers": False}
    board = export.channel(1, "board", [ADA, BOB, EVE], **facts)
    for n in range(1, 5):
        export.message(n, ADA, board, f"text {n}", "Start")
    joined = {"modified_stream": 1, "event_type": 301}
    export.add("zerver_realmauditlog", modified_user=ADA, event_time=START, **joined)
    export.add("zerver_realmauditlog", modified_user=BOB, event_time=START + 3, **joined)
    await run(server, "import", export.write(tmp_path / "e.tar.gz"), *IMPORT)
    seen = {}
    for name in ("ada", "bob", "eve"):
        client = await client_of(server, f"{name}@example.com")
        seen[name] = [each["content"] for each in await history_of(client)]
    assert seen == {
        "ada": ["text 1", "text 2", "text 3", "text 4"],
        "bob": ["text 3", "text 4"],
        "eve": [],  # The export does not say when she joined.
    }


async def test_odd_records_do_not_stop_an_import(server: Server, tmp_path: Path):
    export = ZulipExport()
    export.person(ADA, "Ada", role=100)
    export.person(BOB, "x" * 10_000, delivery_email="ada@example.com")
    export.person(EVE, "\u202e\x07", delivery_email="no address", timezone="Nowhere/At All")
    export.person(GONE, "Same", delivery_email="welcome-bot@zulip.com")
    place = export.channel(1, "y" * 10_000, [ADA, BOB, 99], description="z" * 10_000, creator=98)
    export.channel(2, "\u0000", [], is_web_public=True, invite_only=True, date_created=1e11)
    export.channel(3, "Y" * 10_000, [ADA, ADA], color="red", can_send_message_group=5)
    export.group_of_people(60, "role:owners", [ADA, 97], [60, 61], can_manage_group=77)
    export.group_of_people(61, "@" * 300, [], [60])
    export.message(1, ADA, place, "t" * 20_000, "✔ " + "w" * 10_000)
    export.message(2, 96, place, "@**Ada|10** [x](/user_uploads/2/ab/gone/a.png)", "\x07\u0000")
    export.message(3, ADA, 1_000 + BOB, "to another with the same address")
    export.message(4, ADA, place, "", "Start")
    export.message(5, ADA, place, "far away", "Start", date_sent=253_402_300_799)
    export.react(1, 95, "tada")
    export.react(1, ADA, "no such emoji")
    said = await run(server, "import", export.write(tmp_path / "e.tar.gz"), *IMPORT)
    ada = await client_of(server, "ada@example.com")
    seen = await history_of(ada)
    assert len(seen) == 4
    assert seen[-1]["content"] == "far away"
    state = await ada.post("/register")
    assert state["unread_msgs"]["count"] == 0
    groups = {each["name"] for each in state["realm_user_groups"] if not each["is_system_group"]}
    assert groups == {"owners", "?"}
    assert "1 time zones are unknown here, and were left out (Nowhere/At All)" in said
    assert "1 people have the address of another, and share that account" in said
    assert "1 files are not in the export: links to them lead nowhere (a.png)" in said


async def test_what_is_wrong_is_said_in_a_line_and_nothing_is_done(
    server: Server, export: ZulipExport, tmp_path: Path
):
    before = await realms(server)
    file = export.write(tmp_path / "e.tar.gz")
    assert "14 messages" in await run(server, "import", file, "--dry-run")
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(file.read_bytes()[:-100])
    said = await refused(server, cut, *IMPORT)
    assert "is damaged, or not all of it is there: download it again." in said
    assert said.count("\n") <= 1
    export.realm["zerver_userprofile"][0]["role"] = 400
    export.realm["zerver_userprofile"][1]["role"] = 400
    nobody = export.write(tmp_path / "nobody.tar.gz")
    assert "--owner" in await refused(server, nobody, *IMPORT)
    assert await realms(server) == before


async def test_an_import_goes_on_where_it_was_killed(server: Server, tmp_path: Path):
    file = write_large_export(tmp_path / "large.tar.gz", messages=6_000, channels=5, people=20)
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

    await run(server, "import", file, *IMPORT)
    async with server.app.database.connection() as connection:
        [found] = await connection.tuples(
            """
            SELECT count(*), count(DISTINCT m.id), max(m.id),
                   (SELECT count(*) FROM reactions JOIN imports USING (realm_id)),
                   (SELECT count(*) FROM message_flags JOIN imports USING (realm_id)
                     WHERE flags & {STARRED} <> 0)
              FROM messages m JOIN imports i USING (realm_id)
            """
        )
        report = await connection.value("SELECT report FROM imports")
        ordered = await connection.value(
            """
            SELECT bool_and(ok) FROM (
                SELECT sent_at >= lag(sent_at) OVER (ORDER BY id) IS NOT FALSE AS ok
                  FROM messages JOIN imports USING (realm_id)) x
            """
        )
    assert found == (6_000, 6_000, 6_000, 900, 20)
    assert report["imported"]["reactions"] == 900
    assert ordered
    owner = await client_of(server, "person.0@example.com")
    assert (await owner.post("/register"))["unread_msgs"]["count"] == 0


async def test_an_export_is_added_to_an_organization_in_use(
    server: Server, export: ZulipExport, tmp_path: Path
):
    await run(server, "import", export.write(tmp_path / "first.tar.gz"), *IMPORT)
    for row in export.realm["zerver_usergroupmembership"]:
        if row["user_group"] == 60:
            row["user_profile"] = EVE
    second = export.write(tmp_path / "second.tar.gz")
    said = await run(server, "import", second, *IMPORT, "--into-existing")
    assert "3 groups were left out, since the organization is in use" in said
    assert "4 followed and muted topics were left out, since" in said
    bob = await client_of(server, "bob@example.com")
    state = await bob.post("/register")
    people = {each["full_name"]: each["user_id"] for each in state["realm_users"]}
    channels = {each["name"]: each for each in state["subscriptions"]}
    assert channels.keys() >= {"plans", "plans (Zulip)"}
    there, here_now = channels["plans"], channels["plans (Zulip)"]
    assert here_now["can_send_message_group"] == there["can_send_message_group"]
    # People in place of the group, which is not added to an organization in use.
    remover = here_now["can_remove_subscribers_group"]
    assert remover["direct_members"] == [people["Eve"]]
    assert here_now["topics_policy"] == there["topics_policy"]
    assert state["unread_msgs"]["count"] == 0
    starred = await history_of(bob, [["is", "starred"]])
    assert [each["content"] for each in starred].count("to you") == 2
    seen = await history_of(bob, [["channel", here_now["stream_id"]]])
    notices = [each for each in seen if each["sender_email"] == "notification-bot@zulip.com"]
    assert [each["subject"] for each in notices] == ["✔ Done"]
