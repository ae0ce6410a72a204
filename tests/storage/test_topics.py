"""The topics of a channel, as far as a user may read them."""

from datetime import UTC, datetime

import pytest

from storage import conversations, message_moves
from storage.message_moves import TopicMove
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


async def test_topics_come_with_their_newest_message_the_latest_first(make_here: Make):
    make = make_here
    sender, channel = await make.user(), await make.channel()
    one, two, empty = [await make.topic(channel, name) for name in ("one", "two", "empty")]
    await make.message(sender, one)
    last_of_two = await make.message(sender, two)
    last_of_one = await make.message(sender, one)

    heads = await conversations.topics_of(make.connection, make.realm_id, channel.channel_id)

    assert [(h.name, h.max_id) for h in heads] == [("one", last_of_one), ("two", last_of_two)]
    assert empty.topic_id not in {head.topic_id for head in heads}


async def given(make, channel, user):
    rows = await conversations.topics_given_to(
        make.connection, make.realm_id, channel.channel_id, user.user_id
    )
    return [(row.name, row.max_id) for row in rows]


async def test_of_a_protected_channel_one_reads_what_one_given(make_here: Make):
    make = make_here
    sender, reader = await make.users(2)
    channel = await make.channel(invite_only=True, subscribers=[sender])
    before, during, both = [
        await make.topic(channel, name) for name in ("before", "during", "both")
    ]
    await make.message(sender, before)
    await make.message(sender, both)
    await make.subscribe(channel, [reader])
    in_both = await make.message(sender, both)
    in_during = await make.message(sender, during)
    await make.unsubscribe(channel, [reader])
    await make.message(sender, during)
    await make.message(sender, both)
    await make.subscribe(channel, [reader])

    assert await given(make, channel, reader) == [("during", in_during), ("both", in_both)]
    assert await given(make, channel, await make.user()) == []


async def test_what_was_moved_in_was_received_where_it_was_sent(make_here: Make):
    make = make_here
    sender, both, only_here = await make.users(3)
    there = await make.channel(invite_only=True, subscribers=[sender, both])
    here = await make.channel(invite_only=True, subscribers=[sender, both, only_here])
    origin, moved = await make.topic(there, "t"), await make.topic(here, "moved")
    message_id = await make.message(sender, moved, origin=origin)

    assert await given(make, here, both) == [("moved", message_id)]
    assert await given(make, here, only_here) == []


@pytest.mark.parametrize("is_back", [False, True])
async def test_what_is_moved_in_comes_to_those_who_are_there(make_here: Make, is_back):
    make = make_here
    sender, early, late = await make.users(3)
    there = await make.channel(invite_only=True, subscribers=[sender])
    here = await make.channel(invite_only=True, subscribers=[sender])
    away, topic = await make.topic(there, "t"), await make.topic(here, "moved")
    message_id = await make.message(sender, away, origin=topic if is_back else away)
    await make.subscribe(here, [early])

    await message_moves.move(
        make.connection,
        make.realm_id,
        [message_id],
        [TopicMove(away.topic_id, topic.topic_id, {"timestamp": 0})],
        channel_id=here.channel_id,
        moved_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    await make.subscribe(here, [late])

    assert await given(make, here, early) == [("moved", message_id)]
    assert await given(make, here, late) == []
