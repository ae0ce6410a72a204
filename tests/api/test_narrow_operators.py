"""Every operator of narrows, positive and negated, on one small organization."""

from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


async def ids(client, narrow, **fields):
    """The ids of the newest that meet the narrow."""
    asked = {"anchor": "newest", "num_before": 100, "num_after": 0, "narrow": narrow, **fields}
    return [each["id"] for each in (await client.get("/messages", **asked))["messages"]]


@pytest_asyncio.fixture
async def people(make: Make):
    return [await make.user(name) for name in ("Alice", "Bob", "Carol")]


@pytest_asyncio.fixture
async def alice(log_in, people):
    return await log_in(people[0])


@pytest_asyncio.fixture
async def bob(log_in, people):
    return await log_in(people[1])


@pytest_asyncio.fixture
async def said(alice, bob, people, make):
    """One message of each sort, by name; Alice reads."""
    one, other, third = people
    general = await make.channel("general", subscribers=people)
    web = await make.channel("web", subscribers=[one, other], is_web_public=True)
    await make.channel("private", subscribers=[one, other], invite_only=True)
    await make.channel("elsewhere", subscribers=[other])
    archived = await make.channel("archived", subscribers=[one, other])

    async def channel_message(client=bob, **fields):
        sent = {"type": "channel", "to": "general", "topic": "t", "content": "x", **fields}
        return (await client.post("/messages", **sent))["id"]

    async def direct(client, *to):
        to_ids = [each.user_id for each in to]
        return (await client.post("/messages", type="direct", to=to_ids, content="x"))["id"]

    sent = {
        "own": await channel_message(alice),
        "plain": await channel_message(topic="other"),
        "resolved": await channel_message(topic="✔ done"),
        "link": await channel_message(content="see https://example.com/a"),
        "mention": await channel_message(content="@**Alice**"),
        "carol": await channel_message(content="@**Carol**"),
        "web": await channel_message(to="web"),
        "private": await channel_message(to="private"),
        "elsewhere": await channel_message(to="elsewhere"),
        "archived": await channel_message(to="archived"),
        "direct": await direct(bob, one),
        "group": await direct(bob, one, third),
        "pair": await direct(alice, third),
        "self": await direct(alice, one),
    }
    await alice.post(f"/messages/{sent['plain']}/reactions", emoji_name="tada")
    await alice.post("/messages/flags", messages=[sent["web"]], op="add", flag="starred")
    await set_up(
        make, one, archived=archived, muted=web, policies={sent["plain"]: 1, sent["private"]: 3}
    )
    alice.server.forget(make.realm_id)
    return sent | {"channel": general.channel_id}


async def set_up(make: Make, reader, *, archived, muted, policies: dict[int, int]) -> None:
    """Archive a channel; a reader who has muted another, and has these policies of topics alone.

    The topics are those of messages with these ids.
    """
    connection = make.connection
    await connection.execute(
        "UPDATE channels SET is_archived = true WHERE channel_id = %(id)s", id=archived.channel_id
    )
    await connection.execute(
        """
        UPDATE subscriptions SET is_muted = true
         WHERE user_id = %(user)s AND channel_id = %(channel)s
        """,
        user=reader.user_id,
        channel=muted.channel_id,
    )
    await connection.execute(
        "DELETE FROM user_topics WHERE realm_id = %(realm)s", realm=make.realm_id
    )
    for message_id, policy in policies.items():
        await connection.execute(
            """
            INSERT INTO user_topics (realm_id, user_id, topic_id, visibility_policy, last_updated)
            SELECT realm_id, %(user)s, conversation_id, %(policy)s, now() FROM messages
             WHERE realm_id = %(realm)s AND id = %(id)s
            ON CONFLICT (realm_id, user_id, topic_id)
            DO UPDATE SET visibility_policy = excluded.visibility_policy
            """,
            realm=make.realm_id,
            user=reader.user_id,
            policy=policy,
            id=message_id,
        )


FEED = [
    "own",
    "plain",
    "resolved",
    "link",
    "mention",
    "carol",
    "web",
    "private",
    "archived",
    "direct",
    "group",
    "pair",
    "self",
]


def rest(*names: str) -> list[str]:
    """The feed without these."""
    return [name for name in FEED if name not in names]


def cases(people) -> list[tuple[Any, list[str]]]:
    one, other, third = people
    return [
        (
            [["channels", "public"]],
            [*rest("private", "direct", "group", "pair", "self")[:-1], "elsewhere", "archived"],
        ),
        ([["streams", "web-public"]], ["web"]),
        ([["channels", "archived"]], ["archived"]),
        ([["channels", "public"], ["channels", "archived"]], ["archived"]),
        ([["channels", "public"], ["sender", one.user_id]], ["own"]),
        ([["channels", "web-public"], ["channel", "general"]], []),
        ([["topic", "t"], ["channel", "elsewhere"]], ["elsewhere"]),
        ([["topic", "t"]], ["own", "link", "mention", "carol", "web", "private", "archived"]),
        (
            [["topic", "t"], ["sender", other.user_id], ["search", "x"]],
            ["web", "private", "archived"],
        ),
        ([["dm-including", other.user_id]], ["direct", "group"]),
        ([["dm-including", [third.user_id]]], ["group", "pair"]),
        ([["dm-including", f"{other.email},{third.email}"]], ["group"]),
        ([["group-pm-with", third.email]], ["group"]),
        ([["dm-including", other.user_id], ["dm", third.user_id]], []),
        ([["dm-including", other.user_id], ["channel", "general"]], []),
        ([["mentions", third.user_id]], ["carol"]),
        ([["mentions", one.email]], ["mention"]),
        ([["mentions", one.user_id], ["mentions", third.user_id]], []),
        ([["has", "link"]], ["link"]),
        ([["has", "links"]], ["link"]),
        ([["has", "image"]], []),
        ([["has", "attachment"]], []),
        ([["has", "link"], ["channel", "general"]], ["link"]),
        ([["has", "link"], ["is", "dm"]], []),
        ([["has", "reaction"]], ["plain"]),
        ([["has", "reaction"], ["topic", "other"]], ["plain"]),
        ([["has", "reaction"], ["sender", one.user_id]], []),
        ([["is", "resolved"]], ["resolved"]),
        ([["is", "resolved"], ["channel", "web"]], []),
        ([["is", "followed"]], ["private"]),
        ([["is", "muted"]], ["plain", "web"]),
        ([["is", "muted"], ["channel", "general"]], ["plain"]),
        ([["is", "muted"], ["is", "dm"]], []),
        ([["from", one.user_id]], ["own", "pair", "self"]),
    ]


NEGATED = [
    (["channel", "general"], FEED[6:]),
    (["channels", "public"], ["private", "direct", "group", "pair", "self"]),
    (["topic", "t"], ["plain", "resolved", "direct", "group", "pair", "self"]),
    (["dm", "bob"], rest("direct")),
    (["dm-including", "carol"], rest("group", "pair")),
    (["sender", "alice"], rest("own", "pair", "self")),
    (["is", "dm"], rest("direct", "group", "pair", "self")),
    (["is", "starred"], rest("web")),
    (["is", "mentioned"], rest("mention")),
    (["is", "resolved"], rest("resolved")),
    (["is", "followed"], rest("private")),
    (["is", "muted"], rest("plain", "web")),
    (["is", "alerted"], FEED),
    (["has", "link"], rest("link")),
    (["has", "reaction"], rest("plain")),
    (["mentions", "carol"], rest("carol")),
]


def with_people(term, people):
    """The term with the ids of the people that it names."""
    ids = {row.full_name.lower(): row.user_id for row in people}
    return {"operator": term[0], "operand": ids.get(term[1], term[1])}


async def test_operators(alice, said, people):
    for narrow, names in cases(people):
        assert await ids(alice, narrow) == [said[name] for name in names], narrow


async def test_negated_operators(alice, said, people):
    for term, names in NEGATED:
        negated = with_people(term, people) | {"negated": True}
        wanted = [said[name] for name in names]
        assert await ids(alice, [negated]) == wanted, negated
        # What is left has to be all of the rest, also from the other end, and in small pages.
        assert await ids(alice, [negated], anchor="oldest", num_before=0, num_after=100) == wanted
        middle = {"anchor": said["web"], "num_before": 1, "num_after": 1}
        found = await ids(alice, [negated], **middle)
        below = [each for each in wanted if each < said["web"]][-1:]
        at = [each for each in wanted if each == said["web"]]
        above = [each for each in wanted if each > said["web"]][:1]
        assert found == below + at + above, negated


async def test_a_term_and_its_opposite_leave_nothing(alice, said, people):
    for term, _ in NEGATED:
        positive = with_people(term, people)
        assert await ids(alice, [positive, positive | {"negated": True}]) == [], term


async def test_unread_and_the_rest_are_everything(alice, said):
    unread = await ids(alice, [["is", "unread"]])
    read = await ids(alice, [{"operator": "is", "operand": "unread", "negated": True}])
    assert sorted(unread + read) == [said[name] for name in FEED]
    assert said["plain"] in unread


async def test_a_minus_before_the_operator_negates(alice, said):
    assert await ids(alice, [["-is", "dm"]]) == await ids(
        alice, [{"operator": "is", "operand": "dm", "negated": True}]
    )


async def test_around_a_message(alice, said):
    near = [["channel", "general"], ["near", said["link"]]]
    found = await ids(alice, near, anchor=None, num_before=1, num_after=1)
    assert found == [said["resolved"], said["link"], said["mention"]]
    assert await ids(alice, near) == await ids(alice, [["channel", "general"]])


async def test_states_of_topics_hold_for_what_the_feed_has_of_elsewhere(alice, bob, said, make):
    async def sent(topic: str) -> int:
        text = {"type": "channel", "to": "elsewhere", "topic": topic, "content": "x"}
        message_id: int = (await bob.post("/messages", **text))["id"]
        return message_id

    done, plain, other = await sent("✔ done"), await sent("plain"), await sent("✔ done")
    await alice.post("/messages/flags", messages=[done, plain], op="add", flag="starred")
    for _ in range(2):
        feed = await ids(alice, [])
        assert {done, plain} <= {*feed}
        assert other not in feed
        resolved = await ids(alice, [["is", "resolved"]])
        assert resolved == [said["resolved"], done]
        assert await ids(alice, [["-is", "resolved"]]) == [i for i in feed if i not in resolved]
        assert await ids(alice, [["is", "resolved"], ["is", "starred"]]) == [done]
        assert await ids(alice, [["is", "resolved"], ["channel", "elsewhere"]]) == [done, other]
        named = [["is", "resolved"], ["topic", "✔ done"]]
        assert await ids(alice, named) == [said["resolved"], done]
        first = {"anchor": "first_unread", "num_before": 0, "num_after": 0}
        assert await ids(alice, [["is", "resolved"]], **first) == [said["resolved"]]
        asked = {"msg_ids": [done, plain]}
        for narrow, met in (("is", done), ("-is", plain)):
            answer = await alice.get(
                "/messages/matches_narrow", **asked, narrow=[[narrow, "resolved"]]
            )
            assert [*answer["messages"]] == [str(met)]
        # The same where there are too many topics to go through each of them.
        await make.connection.execute(
            """
            INSERT INTO topics (realm_id, channel_id, name)
            SELECT t.realm_id, t.channel_id, '✔ ' || n
              FROM messages m JOIN topics t ON t.realm_id = m.realm_id
                   AND t.topic_id = m.conversation_id
             CROSS JOIN generate_series(1, 201) AS n
             WHERE m.realm_id = %(realm)s AND m.id = %(id)s
            ON CONFLICT DO NOTHING
            """,
            realm=make.realm_id,
            id=done,
        )


async def test_a_narrow_without_a_channel_shows_what_its_reader_received(
    alice, bob, said, people, make
):
    """Whatever it asks for; and `channels:public` widens it to what the reader may read."""
    one, other, third = people
    resolved = "✔ everything"
    text = {"topic": resolved, "content": "needle https://e.example/a @**Carol**"}
    place = await make.channel("never joined", subscribers=[other, third])
    never = (await bob.post("/messages", type="channel", to="never joined", **text))["id"]
    here = (await bob.post("/messages", type="channel", to="general", **text))["id"]
    for client, message_id in ((bob, never), (bob, here)):
        await client.post(f"/messages/{message_id}/reactions", emoji_name="tada")
    for channel in (place.channel_id, said["channel"]):
        followed = {"stream_id": channel, "topic": resolved, "visibility_policy": 3}
        await alice.post("/user_topics", **followed)
    narrows: list[list[Any]] = [
        [["topic", resolved]],
        [["sender", other.user_id]],
        [["search", "needle"]],
        [["has", "link"]],
        [["has", "reaction"]],
        [["is", "resolved"]],
        [["is", "followed"]],
        [["mentions", third.user_id]],
        [["-is", "dm"]],
        [["-sender", one.user_id]],
        [["topic", resolved], ["sender", other.user_id]],
        [["topic", resolved], ["has", "link"], ["search", "needle"]],
        [["topic", resolved], ["mentions", third.user_id]],
    ]
    for narrow in narrows:
        found = await ids(alice, narrow)
        assert here in found, narrow
        assert never not in found, narrow
        assert {here, never} <= {*await ids(alice, [*narrow, ["channels", "public"]])}, narrow
        asked = {"msg_ids": [here, never], "narrow": narrow}
        matched = await alice.get("/messages/matches_narrow", **asked)
        assert [*matched["messages"]] == [str(here)], narrow
    assert await ids(alice, [["id", never]]) == []
    assert await ids(alice, [["id", never], ["channels", "public"]]) == [never]
    assert await ids(alice, [["with", never]]) == [never]
    # What one has starred is in one's history, whether one received it or not.
    await alice.post("/messages/flags", messages=[never], op="add", flag="starred")
    for narrow in [*narrows, [["id", never]]]:
        assert never in await ids(alice, narrow), narrow


async def test_a_topic_that_many_channels_have_is_found_where_its_reader_is(alice, bob, said, make):
    await make.connection.execute(
        """
        WITH made AS (
            INSERT INTO channels (realm_id, name, description, rendered_description, created_at,
                                  permissions)
            SELECT realm_id, 'many ' || n, '', '', now(), permissions
              FROM channels, generate_series(1, 250) AS n WHERE name = 'elsewhere'
            RETURNING realm_id, channel_id)
        INSERT INTO topics (realm_id, channel_id, name) SELECT realm_id, channel_id, 'T' FROM made
        """
    )
    expected = await ids(alice, [["topic", "t"], ["sender", bob.user.user_id]])
    assert expected == [
        said[name] for name in ("link", "mention", "carol", "web", "private", "archived")
    ]
    assert said["elsewhere"] in await ids(alice, [["topic", "t"], ["channels", "public"]])
    await alice.post("/messages/flags", messages=[said["elsewhere"]], op="add", flag="starred")
    assert said["elsewhere"] in await ids(alice, [["topic", "t"]])


async def test_with_a_message_is_its_conversation(alice, said, people):
    topic = [said[name] for name in ("own", "link", "mention", "carol")]
    assert await ids(alice, [["with", said["link"]]]) == topic
    named = [["channel", "web"], ["topic", "x"], ["with", str(said["link"])]]
    assert await ids(alice, named) == topic
    assert await ids(alice, [["with", said["group"]]]) == [said["group"]]
    own = [["with", said["link"]], ["sender", people[0].user_id]]
    assert await ids(alice, own) == [said["own"]]
    # An unreadable message is not disclosed: the conversation of the other terms is left.
    assert await ids(alice, [["with", 10**9]]) == []
    gone = [["channel", "general"], ["topic", "other"], ["with", 10**9]]
    assert await ids(alice, gone) == [said["plain"]]


async def test_a_guest_sees_of_public_channels_what_guests_see(said, log_in, make):
    guest = await log_in(role=GUEST)
    assert await ids(guest, [["channels", "public"]]) == [said["web"]]
    assert await ids(guest, [["has", "link"]]) == []


async def test_operands_that_mean_nothing_are_refused(alice, said):
    refused: list[Any] = [
        [["channels", "secret"]],
        [["channels", 1]],
        [["has", "nothing"]],
        [["is", "nothing"]],
        [["near", "x"]],
        [["with", "x"]],
        [["with", 1], ["with", 2]],
        [{"operator": "with", "operand": 1, "negated": True}],
        [["mentions", "nobody@example.com"]],
        [["dm-including", [10**9]]],
        [["group-pm-with", "nobody@example.com"]],
        [{"operator": "is", "operand": "dm", "negated": "yes"}],
        [{"operator": ["is"], "operand": "dm"}],
        [["is", "dm"]] * 101,
    ]
    for narrow in refused:
        asked = {"anchor": "newest", "num_before": 1, "num_after": 0, "narrow": narrow}
        (await alice.call("GET", "/messages", **asked)).refused("BAD_NARROW")
