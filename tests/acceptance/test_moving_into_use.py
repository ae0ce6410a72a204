"""`parley import --into-existing`: history comes to people who are at work meanwhile."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import GUEST, MEMBER, OWNER
from server.domain.pins import MAX_PINNED_MESSAGES
from storage import channel_traffic, digests, retention
from testkit.clients.api import Client, LogIn
from testkit.clients.commands import refusal, run
from testkit.clients.server import ROOT_DOMAIN, Server, ServerFactory
from testkit.factories import Make
from testkit.images import picture
from testkit.slack_exports import channel, message, write_export, write_large_export
from testkit.zulip_exports import START as ZULIP_START
from testkit.zulip_exports import ZulipExport
from tests.acceptance.offices import (
    DAY,
    PATIENCE_SECONDS,
    START,
    USERS,
    Office,
    an_export,
    at,
    environment_of,
    events_until,
    history_of,
    id_of,
    killed_in,
    names_in,
    of_type,
    open_office,
    say,
    subscriptions,
    texts,
    unread_ids,
)

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def office(server: Server, make: Make, log_in: LogIn) -> Office:
    return await open_office(server, make, log_in)


async def test_history_comes_to_an_organization_in_use(office: Office, tmp_path: Path):
    before = await say(office.ada, "work before")
    direct = await office.ada.post(
        "/messages", type="direct", to=[id_of(office.bob)], content="here, directly"
    )
    file = an_export(tmp_path / "slack.zip")
    said = await office.add(file)
    after = await say(office.bob, "work after")

    # The same people, by their addresses in any case; they stay as they were.
    ada = await office.user("U1@Example.com")
    assert (ada["full_name"], ada["role"]) == ("Ada", OWNER)
    carol = await office.user("u3@example.com")
    assert (carol["full_name"], carol["role"], carol["is_active"]) == ("Carol", MEMBER, True)
    assert not (await office.user("u4@example.com"))["is_active"]
    assert "2 accounts that were here already" in said
    assert "people had more rights there" in said

    # A taken name gets a mark, and nothing mixes.
    general = await history_of(office.ada, ["channel", "General (Slack)"])
    assert texts(general) == [
        "Root about rabbits",
        "loose rabbits",
        f"Answer for @**Ada|{ada['user_id']}**",
    ]
    assert [each["timestamp"] for each in general] == [START + 1, START + 2, START + 3]
    assert [each["id"] for each in general] == sorted(each["id"] for each in general)
    assert texts(await history_of(office.ada, ["channel", "general"])) == [
        "work before",
        "work after",
    ]
    assert before < general[0]["id"] < general[-1]["id"] < after
    people = [id_of(office.ada), id_of(office.bob)]
    assert texts(await history_of(office.ada, ["dm", people])) == ["here, directly"]
    [old] = await history_of(office.ada, ["channel", "Ada, Bob B. (Slack)"])
    assert old["content"] == "directly to Bob"
    bob = await office.user("u2@example.com")
    both = [bob["user_id"], carol["user_id"]]
    assert texts(await history_of(office.bob, ["dm", both])) == ["Carol to Bob", "Bob to Carol"]

    # Only what is new is unread.
    live = {before, direct["id"], after}
    for client in (office.ada, office.bob, await office.client("u3@example.com")):
        unread = (await client.post("/register"))["unread_msgs"]
        assert unread_ids(unread) <= live
        assert unread["mentions"] == []
    assert direct["id"] < old["id"]


async def test_pinned_messages_stay_pinned_as_far_as_a_channel_may_have_them(
    office: Office, tmp_path: Path
):
    surplus = 2
    count = MAX_PINNED_MESSAGES + surplus
    pins = [{"id": at(n), "type": "C", "user": "U1"} for n in range(count)]
    file = write_export(
        tmp_path / "slack.zip",
        users=USERS,
        channels=[channel("C1", "rules", ["U1", "U2"], pins=pins)],
        dms=[{"id": "D1", "members": ["U2", "U3"], "pins": [{"id": at(0), "type": "C"}]}],
        messages={
            f"rules/{DAY}": [message("U1", f"rule {n}", at(n)) for n in range(count + 1)],
            f"D1/{DAY}": [message("U2", "directly", at(0))],
        },
    )
    queue = await office.bob.register(client_capabilities={"pins": True})
    said = await office.add(file)
    assert f"{count} pinned messages" in said
    assert f"{surplus} pinned messages are more than a channel may have" in said
    assert "1 pinned direct messages are not pinned here" in said
    pinned = await history_of(office.ada, ["channel", "rules"], ["is", "pinned"])
    assert texts(pinned) == [f"rule {n}" for n in range(surplus, count)]
    assert (await queue.until("pinned_messages"))["message_ids"] == [each["id"] for each in pinned]


async def test_queues_hear_of_the_changes_that_concern_them_and_of_no_message(
    office: Office, log_in: LogIn, make: Make, tmp_path: Path
):
    eve = await log_in(await make.user("Eve"))
    guest = await log_in(await make.user("Guest", role=GUEST))
    queues = [await who.register() for who in (office.bob, eve, guest)]
    await office.add(an_export(tmp_path / "slack.zip"))
    sent = await say(office.ada, "after")
    heard = [await events_until(queue, sent) for queue in queues]
    of_bob, of_eve, of_guest = heard

    allowed = {"realm_user", "stream", "subscription", "user_group", "realm_bot", "message"}
    for events in heard:
        assert {each["type"] for each in events} <= allowed
        assert [each["id"] for each in events] == sorted({each["id"] for each in events})
        messages = [each["message"]["id"] for each in events if each["type"] == "message"]
        assert messages in ([sent], [])
    names = {each["name"] for each in subscriptions(of_bob)}
    # `Old` is archived, and clients that do not know of such channels hear nothing of it.
    assert names == {"General (Slack)", "secret"}
    assert subscriptions(of_eve) == []
    created = {name for each in of_type(of_eve, "stream", "create") for name in names_in(each)}
    assert created == {"General (Slack)", "plans"}
    newcomers = {each["person"]["full_name"] for each in of_type(of_eve, "realm_user", "add")}
    assert newcomers == {"Carol", "Gone", "Dana", "Robot"}
    gone = [each["person"] for each in of_type(of_eve, "realm_user", "update")]
    assert [each["is_active"] for each in gone] == [False, False]
    # What channels are now is known without registering again.
    updated = of_type(of_eve, "stream", "update")
    assert {(each["name"], each["property"]) for each in updated} >= {
        ("General (Slack)", "first_message_id"),
        ("plans", "first_message_id"),
    }
    assert of_type(of_guest, "stream", "create") == []
    state = await eve.post("/register", include_subscribers=True)
    by_name = {each["name"]: each for each in state["never_subscribed"]}
    known = {each["name"]: each["value"] for each in updated if each["property"] == FIRST_MESSAGE}
    assert known == {name: by_name[name][FIRST_MESSAGE] for name in known}
    assert by_name["General (Slack)"]["subscriber_count"] == 3
    assert {each["full_name"] for each in state["realm_non_active_users"]} == {"Gone", "Dana"}


async def test_clients_of_another_process_see_the_same(
    office: Office, serving_with: ServerFactory, connect: Any, tmp_path: Path
):
    """Entries that reserve positions reach each process; a queue that waits there misses none."""
    file = write_large_export(tmp_path / "large.zip", messages=1_200, days=3, channels=4, people=30)
    async with serving_with() as other:
        there = await connect(other, office.realm_id, office.bob.user)
        queues = [await office.bob.register(), await there.register()]
        sent = [await say(office.ada, "before")]
        importing = asyncio.create_task(office.add(file))
        while not importing.done():
            sent += [await say(office.ada, "here", "a"), await say(there, "there", "b")]
            await asyncio.sleep(0.02)
        await importing
        sent.append(await say(there, "after"))
        here_heard, there_heard = [await all_until(queue, sent[-1]) for queue in queues]
        assert [each["id"] for each in there_heard] == [each["id"] for each in here_heard]
        for heard in (here_heard, there_heard):
            messages = [each["message"]["id"] for each in heard if each["type"] == "message"]
            assert messages == sent
        assert {each["type"] for each in there_heard} == {each["type"] for each in here_heard}

        states = [await each.post("/register") for each in (office.bob, there)]
        for name in ("max_message_id", "subscriptions", "never_subscribed", "realm_users"):
            assert states[0][name] == states[1][name], name
        unread = [unread_ids(state["unread_msgs"]) for state in states]
        assert unread[0] == unread[1] <= set(sent)
        for terms in ([], [["channel", "channel-1"]], [["is", "dm"]]):
            pages = [await history_of(each, *terms) for each in (office.bob, there)]
            assert [m["id"] for m in pages[0]] == [m["id"] for m in pages[1]]
        assert [each["id"] for each in await history_of(there)] == sent


async def all_until(queue: Any, message_id: int) -> list[dict[str, Any]]:
    """Events up to the message, which may have to come from another process."""
    events: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any(each.get("message", {}).get("id") == message_id for each in events):
            events += [each for each in await queue.poll() if each["type"] != "heartbeat"]
    return events


FIRST_MESSAGE = "first_message_id"


async def test_feeds_and_lists_are_right_where_ids_and_dates_disagree(
    office: Office, tmp_path: Path
):
    to_bob = await office.ada.post(
        "/messages", type="direct", to=[id_of(office.bob)], content="live, directly"
    )
    live = [await say(office.ada, f"live {n}") for n in range(3)]
    await office.add(an_export(tmp_path / "slack.zip"))
    feed = [each["id"] for each in await history_of(office.bob)]
    assert feed == [to_bob["id"], *live]
    assert (await office.bob.post("/register"))["max_message_id"] == live[-1]
    later = await say(office.ada, "live later")
    for anchor, before, after in (("oldest", 0, 100), (live[1], 100, 100), ("newest", 2, 0)):
        page = await history_of(office.bob, anchor=anchor, num_before=before, num_after=after)
        expected = [*feed, later]
        assert [each["id"] for each in page] == (expected if after else expected[-2:])
    # The feed of direct messages too; those of a conversation are in it.
    direct = await history_of(office.bob, ["is", "dm"])
    assert [each["id"] for each in direct] == [to_bob["id"]]
    carol = (await office.user("u3@example.com"))["user_id"]
    old = await history_of(office.bob, ["dm", [carol, id_of(office.bob)]])
    assert texts(old) == ["Carol to Bob", "Bob to Carol"]

    # Old conversations do not come before those of today.
    recent = (await office.bob.post("/register"))["recent_private_conversations"]
    assert [each["user_ids"] for each in recent] == [[id_of(office.ada)], [carol]]
    ranks = [each["max_message_id"] for each in recent]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] == to_bob["id"]
    assert 0 <= ranks[1] < ranks[0]

    # Marking by narrow passes over the import.
    marked = await office.bob.post(
        "/messages/flags/narrow",
        anchor="oldest",
        num_before=0,
        num_after=1000,
        narrow=[],
        op="add",
        flag="read",
    )
    assert marked["processed_count"] == len(feed) + 1
    assert (await office.bob.post("/register"))["unread_msgs"]["count"] == 0
    first = await history_of(office.bob, anchor="first_unread", num_before=0, num_after=1)
    assert [each["id"] for each in first] == []


async def test_anchors_searches_and_limits_go_by_the_date(office: Office, tmp_path: Path):
    await office.ada.post(
        "/messages", type="direct", to=[id_of(office.bob)], content="live, directly"
    )
    for number in range(3):
        await say(office.ada, f"live {number}")
    await office.add(an_export(tmp_path / "slack.zip"))
    carol = (await office.user("u3@example.com"))["user_id"]

    async def at_date(moment: datetime, *terms: list[Any]) -> str:
        page = await history_of(
            office.bob,
            *terms,
            anchor="date",
            anchor_date=moment.isoformat(),
            num_before=0,
            num_after=1,
        )
        return str(page[0]["content"]) if page else ""

    then = datetime.fromtimestamp(START, UTC)
    general = ["channel", "General (Slack)"]
    assert await at_date(then, general) == "Root about rabbits"
    assert await at_date(then + timedelta(seconds=2), general) == "loose rabbits"
    assert await at_date(then + timedelta(seconds=2)) == "live, directly"
    assert await at_date(then, ["channel", "general"]) == "live 0"
    assert await at_date(then, ["dm", [carol, id_of(office.bob)]]) == "Carol to Bob"
    assert await at_date(then + timedelta(seconds=2), ["search", "rabbits"]) == "loose rabbits"

    # Search finds both; nothing counts as a mention of today.
    found = await history_of(office.bob, ["search", "rabbits"])
    assert texts(found)[:2] == ["Root about rabbits", "loose rabbits"]
    assert [each["subject"] for each in found[2:]] == ["Root about rabbits"]
    assert await history_of(office.ada, ["is", "mentioned"]) == []
    assert await history_of(office.bob, ["search", "live"]) != []
    assert texts(await history_of(office.bob, ["channel", "secret"])) == ["secret words"]
    assert await history_of(office.bob, ["search", "plan"], ["channels", "public"]) != []

    # What has a limit goes by the date.
    root = (await history_of(office.ada, general))[0]
    await office.server.app.writers.of(office.realm_id).drain()
    refused = await office.ada.call("PATCH", f"/messages/{root['id']}", content="late")
    assert refused.refused()["msg"] == "The time limit for editing this message has passed"


async def test_lists_by_date_pass_over_an_import(office: Office, make: Make, tmp_path: Path):
    live = await say(office.ada, "live", topic="lively")
    await office.add(an_export(tmp_path / "slack.zip"))
    now = office.server.app.clock.now()
    async with office.server.app.database.connection() as connection:
        hot = await digests.hot_topics(
            connection, office.realm_id, since=now - timedelta(days=3650), limit=10, shown=2
        )
        assert [each.message_ids for each in hot] == [[live]]
        await channel_traffic.count(
            connection, office.realm_id, since=now - timedelta(days=28), day=now.date()
        )
        counted = await connection.tuples(
            "SELECT c.name, t.messages FROM channel_traffic t JOIN channels c USING (channel_id)"
            " WHERE t.realm_id = %(realm_id)s",
            realm_id=office.realm_id,
        )
        assert counted == [("general", 1)]
        # The imported messages are too old for it, the live one is not.
        old = await retention.directly(
            connection, office.realm_id, before=now - timedelta(days=30), limit=1
        )
        assert [len(each.message_ids) for each in old] == [1]
        expired = await retention.in_channels(
            connection, office.realm_id, realm_days=30, now=now, limit=100
        )
        [(general,)] = await connection.tuples(
            "SELECT channel_id FROM channels WHERE realm_id = %(r)s AND name = 'general'",
            r=office.realm_id,
        )
    assert len(expired) >= 4
    assert general not in {each.channel_id for each in expired}
    state = await office.bob.post("/register")
    channels = {each["name"]: each for each in state["subscriptions"]}
    assert not channels["General (Slack)"]["is_recently_active"]
    assert channels["general"]["is_recently_active"]


async def test_what_the_organization_would_delete_at_once_is_left_out_with_a_word(
    office: Office, make: Make, tmp_path: Path
):
    await make.change_settings(message_retention_days=30)
    said = await office.add(an_export(tmp_path / "slack.zip"))
    assert "9 messages are older than the organization keeps them, and were left out" in said
    assert await history_of(office.ada, ["channel", "General (Slack)"]) == []


async def test_accounts_are_matched_and_named_as_the_organization_wants(
    office: Office, make: Make, tmp_path: Path
):
    await make.change_settings(require_unique_names=True)
    gone = await make.user("Carol was here", email="u3@example.com", is_active=False)
    await make.user("Dana")
    await make.user("Robot", bot_type=1)
    said = await office.add(an_export(tmp_path / "one.zip"), "--owner", office.ada.email or "")
    assert "3 accounts that were here already" in said
    carol = await office.user("u3@example.com")
    assert (carol["user_id"], carol["is_active"]) == (gone.user_id, False)
    names = await office.rows("SELECT full_name FROM users WHERE realm_id = %(realm_id)s")
    assert {"Dana (Slack)", "Robot (Slack)"} <= {name for (name,) in names}
    [owner] = await office.rows(
        "SELECT bot_owner_id FROM users WHERE realm_id = %(realm_id)s"
        " AND full_name = 'Robot (Slack)'"
    )
    assert owner == (id_of(office.ada),)
    # Carol, who is deactivated, wrote them all the same.
    people = await office.rows(
        "SELECT DISTINCT sender_id FROM messages WHERE realm_id = %(realm_id)s"
        " AND content = 'the plan'"
    )
    assert people == [(gone.user_id,)]
    # A later export of the same program has the same people, with or without an address.
    count = "SELECT count(*) FROM users WHERE realm_id = %(realm_id)s"
    before = await office.rows(count)
    later = write_export(
        tmp_path / "two.zip",
        users=USERS,
        channels=[channel("C1", "General", ["U1", "U3", "U5"])],
        messages={f"General/{DAY}": [message("U5", "by Dana", at(20))]},
    )
    await office.add(later)
    assert await office.rows(count) == before
    [by_dana] = await history_of(office.ada, ["channel", "General (Slack 2)"])
    assert by_dana["sender_full_name"] == "Dana (Slack)"
    ranges = "SELECT first_id, last_id FROM imported_ranges WHERE realm_id = %(realm_id)s"
    assert len(await office.rows(ranges)) == 2
    assert await history_of(office.ada) == []


async def test_what_cannot_be_added_is_refused_with_a_line(
    office: Office, make: Make, tmp_path: Path
):
    file = an_export(tmp_path / "slack.zip")
    before = await office.rows("SELECT count(*) FROM users WHERE realm_id = %(realm_id)s")
    assert "--name" in await office.refused(file, "--name", "X")
    assert "no owner" in await office.refused(file, "--owner", "u2@example.com")
    assert "No account has" in await office.refused(file, "--owner", "none@example.com")
    cut = tmp_path / "cut.zip"
    cut.write_bytes(file.read_bytes()[:-100])
    assert await office.refused(cut) != ""
    assert await office.rows("SELECT count(*) FROM imports WHERE realm_id = %(realm_id)s") == [(0,)]
    async with office.server.app.database.connection() as connection:
        await connection.execute(
            """
            INSERT INTO workers (id, host, pid, version, started_at, queues, serves)
            VALUES ('old', 'h', 1, '0.0.1', now(), '{}', true)
            """
        )
        assert "another release" in await office.refused(file)
        await connection.execute("DELETE FROM workers WHERE id = 'old'")
    assert await office.rows("SELECT count(*) FROM users WHERE realm_id = %(realm_id)s") == before
    await office.add(file)
    seen = await history_of(office.ada, ["channel", "General (Slack)"])
    assert "nothing comes twice" in await office.refused(file)
    assert await history_of(office.ada, ["channel", "General (Slack)"]) == seen
    await make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(r)s", r=office.realm_id
    )
    other = write_export(tmp_path / "other.zip", users=USERS, messages={})
    assert "deactivated" in await office.refused(other)


async def test_an_import_goes_on_after_kills_while_people_write(office: Office, tmp_path: Path):
    """kill -9 in each part: nothing twice, nothing missing, and live sends go on between."""
    file = write_large_export(tmp_path / "large.zip", messages=6_000, days=4, channels=5, people=90)
    queue = await office.bob.register(event_types=["message"])
    sent: list[int] = []
    heard: list[int] = []
    writing = True

    async def write() -> None:
        while writing:
            sent.append(await say(office.ada, f"live {len(sent)}"))
            await asyncio.sleep(0.01)

    async def listen() -> None:
        content = ""
        while "the last" not in content:
            for event in await queue.poll():
                if event["type"] == "message":
                    heard.append(event["message"]["id"])
                    content = event["message"]["content"]

    working = [asyncio.create_task(write()), asyncio.create_task(listen())]
    for phase, least in (("people", 20), ("channels", 2), ("messages", 1_000)):
        await killed_in(office, file, phase, least)
        other = an_export(tmp_path / "other.zip")
        assert "has not ended" in await office.refused(other)
    await office.add(file)
    writing = False
    await working[0]
    sent.append(await say(office.ada, "the last"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await working[1]

    assert heard == sent == sorted(set(sent))
    feed = await history_of(office.bob, num_before=5000)
    assert [each["id"] for each in feed] == sent
    await check_nothing_lacks_or_comes_twice(office)
    unread = (await office.bob.post("/register"))["unread_msgs"]
    assert unread_ids(unread) <= set(sent)


async def check_nothing_lacks_or_comes_twice(office: Office) -> None:
    """Check the 6,000 messages, the people, the channels, and the positions of all."""
    [(count, ids, first, last, ordered)] = await office.rows(
        """
        SELECT count(*), count(DISTINCT sent_at), min(id), max(id), bool_and(in_order)
          FROM (SELECT m.id, m.sent_at,
                       m.sent_at >= lag(m.sent_at) OVER (ORDER BY m.id) IS NOT FALSE AS in_order
                  FROM messages m JOIN imported_ranges r
                    ON r.realm_id = m.realm_id AND m.id BETWEEN r.first_id AND r.last_id
                 WHERE m.realm_id = %(realm_id)s) x
        """
    )
    assert (count, ids, last - first, ordered) == (6_000, 6_000, 5_999, True)
    assert await office.rows(
        "SELECT count(*), count(DISTINCT email) FROM users WHERE realm_id = %(realm_id)s"
    ) == [(92, 92)]
    assert await office.rows(
        "SELECT count(*), sum(subscriber_count) FROM channels WHERE realm_id = %(realm_id)s"
    ) == await office.rows(
        "SELECT count(DISTINCT channel_id), count(*) FROM subscriptions"
        " WHERE realm_id = %(realm_id)s AND active"
    )
    # Positions are dense: each is an entry's, or reserved.
    [(lacking,)] = await office.rows(
        """
        SELECT count(*) FROM (
            SELECT position - lag(position) OVER (ORDER BY position) - 1
                   - CASE kind WHEN 'positions_reserved' THEN 6000 ELSE 0 END AS gap
              FROM event_log WHERE realm_id = %(realm_id)s) x
         WHERE gap <> 0
        """
    )
    assert lacking == 0


async def test_protected_history_stays_hidden_from_who_joined_later(office: Office, tmp_path: Path):
    export = ZulipExport()
    for number, name in ((1, "U1"), (2, "U2"), (3, "Eve")):
        export.person(number, name, role=100 if number == 1 else 400)
    facts = {"invite_only": True, "history_public_to_subscribers": False}
    board = export.channel(1, "board", [1, 2, 3], **facts)
    for n in range(1, 5):
        export.message(n, 1, board, f"text {n}", "Start")
    joined = {"modified_stream": 1, "event_type": 301}
    start = ZULIP_START
    export.add("zerver_realmauditlog", modified_user=1, event_time=start, **joined)
    export.add("zerver_realmauditlog", modified_user=2, event_time=start + 3, **joined)
    queue = await office.bob.register(event_types=["subscription"])
    await office.add(export.write(tmp_path / "e.tar.gz"))
    place = ["channel", "board"]
    assert texts(await history_of(office.ada, place)) == [f"text {n}" for n in range(1, 5)]
    assert texts(await history_of(office.bob, place)) == ["text 3", "text 4"]
    eve = await office.client("eve@example.com")
    assert await history_of(eve, place) == []
    assert (await office.bob.post("/register"))["unread_msgs"]["count"] == 0
    # Bob's client begins anew, as what it may hear of the channel is known from its rows alone.
    answer = await office.bob.call(
        "GET", "/events", queue_id=queue.queue_id, last_event_id=-1, dont_block=True
    )
    answer.refused("BAD_EVENT_QUEUE_ID")


async def test_emoji_and_pictures_that_are_there_stay(office: Office, tmp_path: Path):
    added = await office.ada.upload("/realm/emoji/ours", file=("ours.png", picture()))
    added.succeeded()
    [(ours, avatar)] = await office.rows(
        "SELECT e.emoji_id, u.avatar_key FROM realm_emoji e JOIN users u USING (realm_id)"
        " WHERE e.realm_id = %(realm_id)s AND u.email = 'u2@example.com'"
    )
    queue = await office.bob.register(event_types=["realm_emoji"])
    export = ZulipExport()
    export.person(2, "U2", avatar_source="U")
    place = export.channel(1, "board", [2])
    export.message(1, 2, place, "look :ours: and :fresh:", "Start")
    export.react(1, 2, "ours", reaction_type="realm_emoji", emoji_code="7")
    for number, name in ((7, "ours"), (8, "fresh")):
        image = f"{number}.png"
        export.add("zerver_realmemoji", name=name, file_name=image, deactivated=False, author=2)
        export.file("emoji", f"2/emoji/images/{image}.original", picture(), name=name)
    said = await office.add(export.write(tmp_path / "e.tar.gz"))
    assert "ours: A custom emoji with this name already exists." in said
    [message] = await history_of(office.bob, ["channel", "board"])
    assert [each["emoji_code"] for each in message["reactions"]] == [str(ours)]
    event = await queue.until("realm_emoji")
    names = {each["name"] for each in event["realm_emoji"].values()}
    assert names == {"ours", "fresh"}
    assert await office.rows(
        "SELECT avatar_key FROM users WHERE realm_id = %(realm_id)s AND email = 'u2@example.com'"
    ) == [(avatar,)]


async def test_files_beyond_the_space_for_uploads_are_left_out_with_a_word(
    office: Office, make: Make, tmp_path: Path
):
    await make.change_settings(upload_quota_mib=1)
    names = [("F1", "one.bin"), ("F2", "two.bin"), ("F3", "three.bin")]
    file = write_export(
        tmp_path / "files.zip",
        users=USERS,
        channels=[channel("C1", "files", ["U1"])],
        messages={
            f"files/{DAY}": [
                message("U1", "look", at(n), files=[{"id": key, "name": name}])
                for n, (key, name) in enumerate(names)
            ]
        },
        files={f"__uploads/{key}/{name}": bytes(600_000) for key, name in names},
    )
    said = await office.add(file)
    assert "2 files were left out, since the organization's space for uploads is full" in said
    history = await history_of(office.ada, ["channel", "files"])
    assert ["/user_uploads/" in each["content"] for each in history] == [True, False, False]
    assert await office.rows("SELECT bytes FROM upload_space WHERE realm_id = %(realm_id)s") == [
        (600_000,)
    ]


async def test_a_copy_of_the_organization_has_the_same_lists(office: Office, tmp_path: Path):
    live = await say(office.ada, "live")
    await office.add(an_export(tmp_path / "slack.zip"))
    await say(office.ada, "later")
    exported = tmp_path / "copy.export"
    await run(office.server, "export", exported, "--realm", office.subdomain, "--secrets")
    await run(office.server, "import", exported, "--realm", "copied")
    bob = await office.user("u2@example.com")
    copy = Client(
        office.server, f"copied.{ROOT_DOMAIN}", "u2@example.com", await key_in(office, "copied")
    )
    assert texts(await history_of(copy)) == ["live", "later"]
    assert (await history_of(copy))[0]["id"] == live
    assert texts(await history_of(copy, ["channel", "secret"])) == ["secret words"]
    assert bob["is_active"]


async def key_in(office: Office, subdomain: str) -> str:
    [(key,)] = await office.rows(
        """
        SELECT u.api_key FROM users u JOIN realms r USING (realm_id)
         WHERE r.subdomain = %(subdomain)s AND r.realm_id <> %(realm_id)s
           AND u.email = 'u2@example.com'
        """,
        subdomain=subdomain,
    )
    return str(key)


async def test_a_file_that_was_added_makes_no_organization(office: Office, tmp_path: Path):
    file = an_export(tmp_path / "slack.zip")
    await office.add(file)
    said = await asyncio.to_thread(
        refusal, "import", file, "--realm", office.subdomain, **environment_of(office.server)
    )
    assert "There is an organization" in said


async def test_what_was_noticed_while_reading_is_reported(office: Office, tmp_path: Path):
    file = write_export(
        tmp_path / "odd.zip",
        users=USERS,
        channels=[channel("C1", "odd", ["U1"], topic={"value": "x" * 3000})],
        messages={f"odd/{DAY}": [message("U1", "fine", at(1)), {"type": "message", "user": "U1"}]},
    )
    said = await office.add(file)
    assert "messages without a time were left out" in said
    assert "descriptions of channels were cut" in said
