"""Ten thousand messages move in bounded steps, while life goes on."""

from dataclasses import dataclass

import msgspec
import pytest

from queue_processors.deferred_work import KINDS
from server.actions.messages.moving_steps import MOVING
from server.actions.stepped_work import Finish, take_step
from server.events.message_changes import MessagesChanged
from server.jobs import DeferredWork
from storage import stepped_work
from storage.channels import ChannelRow
from storage.ids import MessageId
from testkit.factories import Make
from testkit.message_changes import Changes
from testkit.realm_with_roles import Hall

pytestmark = pytest.mark.asyncio

COUNT = 10_000


@dataclass(frozen=True, slots=True)
class Place:
    """A channel with a topic of ten thousand messages, and one where they go."""

    make: Make
    old: ChannelRow
    new: ChannelRow
    first: MessageId
    last: MessageId

    async def ids_in(self, channel: ChannelRow) -> list[int]:
        return await self.make.connection.values(
            """
            SELECT id FROM messages
             WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s ORDER BY id
            """,
            realm_id=self.make.realm_id,
            channel_id=channel.channel_id,
        )

    async def commits_that_moved(self) -> list[int]:
        """How many messages each transaction has moved, in order."""
        return await self.make.connection.values(
            """
            SELECT count(*) FROM messages
             WHERE realm_id = %(realm_id)s AND moved_at IS NOT NULL
             GROUP BY xmin::text ORDER BY min(id)
            """,
            realm_id=self.make.realm_id,
        )


async def long_topic(hall: Hall) -> Place:
    make = hall.make
    old = await make.channel("plans", subscribers=hall.everyone)
    new = await make.channel("target", subscribers=[hall.member, hall.guest])
    topic = await make.topic(old, "t")
    start = await make.at_position()
    async with make.connection.raw.transaction():
        await make.connection.execute(
            """
            INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
                                  origin_channel_id, origin_conversation_id, sent_at, client,
                                  content, rendered_content)
            SELECT %(realm_id)s, %(start)s + g, %(sender_id)s, %(channel_id)s, %(topic_id)s,
                   %(channel_id)s, %(topic_id)s, %(now)s, 'test', 'hello', '<p>hello</p>'
              FROM generate_series(1, %(count)s) AS g
            """,
            realm_id=make.realm_id,
            start=start,
            sender_id=hall.other.user_id,
            channel_id=old.channel_id,
            topic_id=topic.topic_id,
            now=hall.stage.clock.now(),
            count=COUNT,
        )
        await make.connection.execute(
            """
            UPDATE realm_clock SET position = position + %(count)s, epoch = epoch + 1
             WHERE realm_id = %(realm_id)s
            """,
            realm_id=make.realm_id,
            count=COUNT,
        )
    return Place(make, old, new, MessageId(start + 1), MessageId(start + COUNT))


async def test_a_long_move_is_bounded_seen_and_taken_over(hall: Hall, changes: Changes) -> None:
    place = await long_topic(hall)
    make, realm_id = hall.make, hall.make.realm_id
    every = list(range(place.first, place.last + 1))
    writer = hall.stage.writers.of(realm_id)

    # The process that began dies after the third step, and was seen to come on until then.
    work_id = await changes.begin(
        hall.member, place.first, channel_id=place.new.channel_id, notify_new=True
    )
    assert work_id is not None
    sent = []
    for step in range(1, 4):
        work = await stepped_work.by_id(make.connection, realm_id, work_id)
        assert work is not None
        assert work.done == every[step * changes.steps - 1]
        here = [i for i in await place.ids_in(place.new) if i <= place.last]
        assert here == every[: step * changes.steps]
        sent.append(await changes.send(hall.other, "plans", topic="t"))
        sent.append(await changes.send(hall.guest, "target", topic="t"))
        if step < 3:
            assert await writer.write(
                lambda tx: take_step(tx, MOVING, work_id, changes.steps, now=hall.stage.clock.now())
            )

    [job] = [each.event for each in hall.told("job")]
    payload = msgspec.json.decode(job.job, type=DeferredWork)
    assert payload.step in KINDS
    arguments = msgspec.json.decode(payload.arguments, type=Finish)
    await changes.finish(arguments.work_id)

    # What was sent meanwhile is where it was sent, and everything else has arrived once.
    *moved, notice = await place.ids_in(place.new)
    assert moved == [*every, *sent[1::2]]
    assert notice > sent[-1]
    assert await place.ids_in(place.old) == sent[0::2]
    assert await stepped_work.by_id(make.connection, realm_id, work_id) is None
    assert await place.commits_that_moved() == [changes.steps] * (COUNT // changes.steps)
    told = [each.event for each in hall.told("update_message")]
    by_audience = [event.message_ids for event in told if isinstance(event, MessagesChanged)]
    assert {len(ids) for ids in by_audience} == {changes.steps}
    assert sorted({i for ids in by_audience for i in ids}) == every
