"""The narrows of GET /messages: what each chooses, and what is none."""

from typing import Any

import pytest
import pytest_asyncio

from testkit.factories import Make

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def people(make: Make):
    return [await make.user(name) for name in ("Alice", "Bob", "Carol")]


@pytest_asyncio.fixture
async def channel(make: Make, people):
    return await make.channel("general", subscribers=people[:2])


def page(client, **fields):
    """A call for the newest hundred messages, unless the fields say something else."""
    return client.call(
        "GET", "/messages", **{"anchor": "newest", "num_before": 100, "num_after": 0, **fields}
    )


async def ids(client, **fields):
    """The ids on the page."""
    return [each["id"] for each in (await page(client, **fields)).succeeded()["messages"]]


@pytest_asyncio.fixture
async def said(alice, bob, people, make, channel):
    """One message of each sort, by name."""
    one, _, third = people
    await make.channel("second", subscribers=people)

    async def channel_message(client, **fields):
        sent = {"type": "channel", "to": "general", "topic": "t", "content": "x", **fields}
        return (await client.post("/messages", **sent))["id"]

    async def direct(client, *to):
        to_ids = [each.user_id for each in to]
        return (await client.post("/messages", type="direct", to=to_ids, content="x"))["id"]

    return {
        "topic": await channel_message(alice),
        "other topic": await channel_message(bob, topic="Other"),
        "no topic": await channel_message(bob, topic=""),
        "elsewhere": await channel_message(bob, to="second"),
        "mention": await channel_message(bob, content="@**Alice**"),
        "wildcard": await channel_message(bob, content="@**all**"),
        "direct": await direct(bob, one),
        "group": await direct(bob, one, third),
        "self": await direct(alice, one),
    }


async def test_narrows(alice, said, people, channel):
    one, other, third = people
    general: list[str] = ["topic", "other topic", "no topic", "mention", "wildcard"]
    cases: list[tuple[list[Any], list[str]]] = [
        ([], list(said)),
        ([["channel", "general"]], general),
        ([["stream", "GENERAL"]], general),
        ([["channel", channel.channel_id]], general),
        ([["topic", "other"]], ["other topic"]),
        ([["subject", "OTHER"]], ["other topic"]),
        ([["channel", "general"], ["topic", "T"]], ["topic", "mention", "wildcard"]),
        ([["topic", "t"]], ["topic", "elsewhere", "mention", "wildcard"]),
        ([["topic", "t"], ["topic", "other"]], []),
        ([["topic", "OTHER"], ["topic", "other"]], ["other topic"]),
        ([["is", "dm"], ["topic", "t"]], []),
        ([["channel", "general"], ["channel", "second"]], []),
        ([["channel", "general"], ["topic", ""]], ["no topic"]),
        ([["topic", "(no topic)"]], ["no topic"]),
        ([["topic", "general chat"]], ["no topic"]),
        ([["topic", "never said"]], []),
        ([["dm", [other.user_id]]], ["direct"]),
        ([["dm", other.user_id]], ["direct"]),
        ([["dm", other.email]], ["direct"]),
        ([["pm-with", f"{other.email}, {third.email}"]], ["group"]),
        ([["pm_with", f"{other.email}, {third.email}"]], ["group"]),
        ([["dm", [one.user_id, other.user_id, third.user_id]]], ["group"]),
        ([["dm", one.user_id]], ["self"]),
        ([["dm", [third.user_id]]], []),
        ([["dm", [other.user_id]], ["channel", "general"]], []),
        ([["sender", other.email]], [n for n in said if n not in ("topic", "self")]),
        ([["sender", one.user_id]], ["topic", "self"]),
        ([["sender", one.user_id], ["sender", other.user_id]], []),
        ([["sender", one.user_id], ["channel", "general"]], ["topic"]),
        ([["id", said["group"]]], ["group"]),
        ([["id", str(said["group"])]], ["group"]),
        ([["id", said["group"]], ["id", said["self"]]], []),
        ([["id", 10**12]], []),
        ([["is", "dm"]], ["direct", "group", "self"]),
        ([["is", "private"]], ["direct", "group", "self"]),
        ([["is", "mentioned"]], ["mention", "wildcard"]),
        ([["is", "dm"], ["sender", one.email]], ["self"]),
        ([["is", "unread"], ["is", "dm"]], ["direct", "group", "self"]),
        ([["is", "alerted"]], []),
    ]
    for narrow, names in cases:
        assert await ids(alice, narrow=narrow) == [said[name] for name in names], narrow
        as_objects = [{"operator": o, "operand": v, "negated": False} for o, v in narrow]
        assert await ids(alice, narrow=as_objects) == [said[name] for name in names], narrow


async def test_narrows_by_flags(alice, said):
    wanted = [said["topic"], said["direct"]]
    await alice.post("/messages/flags", messages=wanted, op="add", flag="starred")
    assert await ids(alice, narrow=[["is", "starred"]]) == wanted
    assert await ids(alice, narrow=[["is", "starred"], ["is", "dm"]]) == [said["direct"]]
    before = await ids(alice, narrow=[["is", "unread"]])
    await alice.post("/messages/flags", messages=[said["group"]], op="add", flag="read")
    after = await ids(alice, narrow=[["is", "unread"]])
    assert [each for each in before if each != said["group"]] == after


async def test_a_narrowed_page_has_its_own_anchor(alice, said):
    fields = {"narrow": [["is", "dm"]], "anchor": said["other topic"]}
    body = (await page(alice, num_before=1, num_after=1, **fields)).succeeded()
    assert [m["id"] for m in body["messages"]] == [said["direct"]]
    assert (body["found_oldest"], body["found_newest"]) == (True, False)


async def test_a_narrow_that_means_nothing_is_refused(alice):
    refused: list[Any] = [
        [["nonsense", "x"]],
        [["is", "nonsense"]],
        [["is", 1]],
        [["channel", "nowhere"]],
        [["channel", 10**9]],
        [["dm", "nobody@example.com"]],
        [["dm", [10**9]]],
        [["sender", "nobody@example.com"]],
        [["sender", 10**9]],
        [["id", "x"]],
        [["id", "-1"]],
        [["id", "1" * 5000]],
        [["channel", ""], ["topic", "t"]],
        [["topic"]],
        [["topic", "a", "b"]],
        [[]],
        [{}],
        [{"operator": "topic"}],
        [{"operator": "topic", "operand": None}],
        [{"operator": "dm", "operand": [True]}],
        [{"operator": "sender", "operand": True}],
        [{"operator": "channel", "operand": {"id": 1}}],
    ]
    for narrow in refused:
        (await page(alice, narrow=narrow)).refused("BAD_NARROW")


async def test_what_is_no_narrow_is_refused(alice):
    for narrow in ("x", "{", "[1", ""):
        (await page(alice, narrow=narrow)).refused("INVALID_JSON")
    for narrow in ("{}", "1", "null", '["topic", "t"]', '[["topic", null]]'):
        (await page(alice, narrow=narrow)).refused("REQUEST_VARIABLE_INVALID")


async def test_a_page_shows_people_topics_and_reactions_as_they_are_now(alice, bob, said):
    """Whatever is kept of an earlier page."""

    async def shown() -> dict[int, dict[str, Any]]:
        found = (await page(alice, client_gravatar=False)).succeeded()["messages"]
        return {each["id"]: each for each in found}

    before = await shown()
    await bob.patch("/settings", full_name="Robert", email_address_visibility=5)
    await bob.post(f"/messages/{said['topic']}/reactions", emoji_name="tada")
    await alice.patch(f"/messages/{said['topic']}", topic="Better")
    now = await shown()

    other = said["other topic"]
    assert before[other]["sender_full_name"] == "Bob"
    assert now[other]["sender_full_name"] == "Robert"
    for name in ("sender_email", "avatar_url"):
        assert now[other][name] != before[other][name]
    [reaction] = now[said["topic"]]["reactions"]
    assert (reaction["user_id"], reaction["emoji_name"]) == (before[other]["sender_id"], "tada")
    assert before[said["topic"]]["reactions"] == []
    assert (before[said["topic"]]["subject"], now[said["topic"]]["subject"]) == ("t", "Better")
    [first] = [m for m in now.values() if m["id"] == said["direct"]]
    assert "Robert" in [person["full_name"] for person in first["display_recipient"]]


async def test_a_conversation_that_is_not_there_has_no_messages(alice, people, said, channel):
    empty = [{"operator": "dm", "operand": [people[2].user_id]}]
    no_topic = [
        {"operator": "channel", "operand": channel.channel_id},
        {"operator": "topic", "operand": "no such topic"},
    ]
    for narrow in (empty, no_topic):
        for anchor in ("newest", "oldest", "first_unread", said["topic"]):
            assert await ids(alice, narrow=narrow, anchor=anchor, num_after=5) == []
