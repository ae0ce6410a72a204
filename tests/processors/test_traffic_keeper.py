"""How much is sent to each channel is counted once a day, and told by register."""

from datetime import timedelta

import pytest

from queue_processors.traffic_keeper import TrafficKeeper
from server.domain.channels import TRAFFIC_WEEKS
from storage import channels
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio


@pytest.fixture
def keeper(hall):
    return TrafficKeeper(hall.stage.database, hall.stage.clock)


async def counted(make, *rows):
    """What has been counted for these channels."""
    ids = [row.channel_id for row in rows]
    found = await channels.activity(make.connection, make.realm_id, ids)
    by_id = {row.channel_id: row.recent_messages for row in found}
    return [by_id[channel_id] for channel_id in ids]


async def send(hall, make, channel, count, *, days_ago):
    topic = await make.topic(channel, f"{days_ago} days ago")
    for _ in range(count):
        sent_at = hall.stage.clock.now() - timedelta(days=days_ago)
        await make.message(hall.member, topic, sent_at=sent_at)


async def test_the_messages_of_the_last_weeks_are_counted(hall, make, keeper):
    busy, old, empty = [await make.channel() for _ in range(3)]
    await send(hall, make, busy, 1, days_ago=7 * TRAFFIC_WEEKS + 1)
    await send(hall, make, old, 2, days_ago=7 * TRAFFIC_WEEKS + 1)
    await send(hall, make, busy, 3, days_ago=20)
    await send(hall, make, busy, 2, days_ago=0)
    await keeper.count()
    assert await counted(make, busy, old, empty) == [5, 0, 0]


async def test_it_is_counted_again_on_the_next_day_and_not_before(hall, make, keeper):
    channel = await make.channel()
    await send(hall, make, channel, 2, days_ago=20)
    await keeper.count()
    await send(hall, make, channel, 1, days_ago=0)
    await keeper.count()
    assert await counted(make, channel) == [2]
    hall.stage.clock.advance(timedelta(days=1))
    await keeper.count()
    assert await counted(make, channel) == [3]


async def test_what_was_counted_once_is_gone_with_its_messages(hall, make, keeper):
    channel, other = await make.channel(), await make.channel()
    await send(hall, make, channel, 2, days_ago=20)
    await keeper.count()
    hall.stage.clock.advance(timedelta(days=10))
    await send(hall, make, other, 1, days_ago=0)
    await keeper.count()
    assert await counted(make, channel, other) == [0, 1]


async def test_each_organization_is_counted_by_itself(hall, make, keeper):
    elsewhere = await new_realm(make.connection)
    stranger, there = await elsewhere.user(), await elsewhere.channel()
    here = await make.channel()
    await send(hall, make, here, 1, days_ago=1)
    await elsewhere.message(
        stranger, await elsewhere.topic(there, "soup"), sent_at=hall.stage.clock.now()
    )
    await make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(r)s", r=elsewhere.realm_id
    )
    await keeper.count()
    assert (await counted(make, here), await counted(elsewhere, there)) == ([1], [0])
    await make.connection.execute("UPDATE realms SET deactivated = false")
    await keeper.count()
    assert (await counted(make, here), await counted(elsewhere, there)) == ([1], [1])


async def test_a_count_that_is_cut_off_is_made_again(hall, make, keeper):
    channel = await make.channel()
    await send(hall, make, channel, 1, days_ago=1)
    await make.connection.execute("ALTER TABLE channel_traffic ADD CONSTRAINT no CHECK (false)")
    with pytest.raises(Exception, match="no"):
        await keeper.count()
    await make.connection.execute("ALTER TABLE channel_traffic DROP CONSTRAINT no")
    await keeper.count()
    assert await counted(make, channel) == [1]
