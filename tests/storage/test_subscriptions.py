"""Queries about who is, and was, in which channel."""

import pytest

from server.domain.access import GUEST
from storage import channels, subscription_spans, subscriptions
from storage.ids import ChannelId
from storage.subscriptions import Membership
from testkit.factories import Make, user_ids

pytestmark = pytest.mark.asyncio


async def spans(make, user):
    rows = await subscription_spans.of_users(make.connection, make.realm_id, [user.user_id])
    return [(row.first, row.last) for row in rows]


async def test_spans_follow_joining_and_leaving(make_here: Make):
    make = make_here
    user = await make.user()
    channel = await make.channel()

    joined = await make.subscribe(channel, [user])
    left = await make.unsubscribe(channel, [user])
    await make.at_position()
    again = await make.subscribe(channel, [user])

    assert await spans(make, user) == [(joined + 1, left), (again + 1, None)]


async def test_leaving_at_once_leaves_the_one_position(make_here: Make):
    user = await make_here.user()
    channel = await make_here.channel()

    joined = await make_here.subscribe(channel, [user])
    left = await make_here.unsubscribe(channel, [user])

    assert left == joined + 1
    assert await spans(make_here, user) == [(left, left)]


async def test_subscribers_are_listed_for_many_channels_at_once(make_here: Make):
    make = make_here
    people = await make.users(3)
    gone = await make.user(is_active=False)
    one = await make.channel(subscribers=[*people, gone])
    two = await make.channel(subscribers=people[:1])
    empty = await make.channel()

    rows = await subscriptions.subscribers(
        make.connection,
        make.realm_id,
        [one.channel_id, two.channel_id, empty.channel_id],
    )

    shown = {row.channel_id: row.user_ids for row in rows}
    assert shown == {
        one.channel_id: str(user_ids(people)).replace(" ", ""),
        two.channel_id: f"[{people[0].user_id}]",
        empty.channel_id: "[]",
    }


@pytest.mark.parametrize("written", [True, False])
async def test_those_who_join_are_listed_whether_it_is_written_yet_or_not(
    make_here: Make, *, written: bool
):
    make = make_here
    first, second, third = await make.users(3)
    one, two = await make.channel(subscribers=[first, third]), await make.channel()
    joining = [
        Membership(second.user_id, one.channel_id, "#76ce90"),
        Membership(first.user_id, two.channel_id, "#76ce90"),
    ]
    if written:
        await subscriptions.activate(make.connection, make.realm_id, joining)

    rows = await subscriptions.subscribers_with(make.connection, make.realm_id, joining)

    assert {row.channel_id: row.user_ids for row in rows} == {
        one.channel_id: str(user_ids([first, second, third])).replace(" ", ""),
        two.channel_id: f"[{first.user_id}]",
    }


async def test_some_subscribers_are_the_first(make_here: Make):
    make = make_here
    people = await make.users(3)
    channel = await make.channel(subscribers=people)

    [row] = await subscriptions.subscribers(
        make.connection, make.realm_id, [channel.channel_id], at_most=2
    )

    assert row.user_ids == f"[{people[0].user_id},{people[1].user_id}]"


async def test_channels_with_guests_are_found(make_here: Make):
    make = make_here
    guest, member = await make.user(role=GUEST), await make.user()
    one = await make.channel(subscribers=[guest])
    two = await make.channel(subscribers=[member])

    found = await subscriptions.with_role(
        make.connection, make.realm_id, [one.channel_id, two.channel_id], role=GUEST
    )

    assert found == {one.channel_id}


async def test_channels_show_their_first_and_last_message(make_here: Make):
    make = make_here
    sender = await make.user()
    full, empty = await make.channel(), await make.channel()
    topic = await make.topic(full, "t")
    first = await make.message(sender, topic)
    await make.message(sender, topic)

    rows = await channels.activity(
        make.connection, make.realm_id, [full.channel_id, empty.channel_id]
    )

    shown = {row.channel_id: row for row in rows}
    assert shown[full.channel_id].first_message_id == first
    assert shown[full.channel_id].last_sent_at is not None
    assert shown[empty.channel_id].first_message_id is None


async def test_names_are_found_in_any_case(make_here: Make):
    make = make_here
    channel = await make.channel("Ärger")

    found = await channels.named(make.connection, make.realm_id, ["ÄRGER", "none", "ärger"])

    assert [each.channel_id for each in found] == [channel.channel_id, None, channel.channel_id]
    assert found[0].key == found[2].key


async def test_another_realm_sees_nothing(make_here: Make):
    from testkit.factories import new_realm

    make, other = make_here, await new_realm(make_here.connection)
    user = await make.user()
    channel = await make.channel("plans", subscribers=[user], is_default=True)
    ids = [channel.channel_id]

    connection, realm_id = other.connection, other.realm_id
    assert await channels.by_ids(connection, realm_id, ids) == []
    assert await channels.default_ids(connection, realm_id) == []
    assert [c.channel_id for c in await channels.named(connection, realm_id, ["plans"])] == [None]
    assert await subscriptions.of_user(connection, realm_id, user.user_id) == []
    [row] = await subscriptions.subscribers(connection, realm_id, ids)
    assert row.user_ids == "[]"
    assert await subscriptions.active_user_ids(connection, realm_id, ChannelId(ids[0])) == []
    assert await subscription_spans.of_users(connection, realm_id, [user.user_id]) == []
