"""Read a queue continuously, by successive polls, until another client reads it."""

from collections.abc import AsyncGenerator

from server.realtime.poll import poll
from server.realtime.queue import WireEvent
from server.realtime.queues import Realtime
from storage.ids import QueueId, RealmId, UserId


async def follow(
    realtime: Realtime,
    *,
    realm_id: RealmId,
    user_id: UserId,
    queue_id: QueueId,
    last_event_id: int | None,
    may_know_secrets: bool = True,
) -> AsyncGenerator[list[WireEvent], None]:
    """Yield the queue's events after `last_event_id` in batches, including heartbeats.

    The first batch comes at once and may be empty; errors of the request are raised before it.
    Ends when a newer reader takes over the queue, in any process, when the queue ends, and when
    the server stops: the next request reveals which.
    """
    reader = object()
    dont_block = True
    while True:
        events = await poll(
            realtime,
            realm_id=realm_id,
            user_id=user_id,
            queue_id=queue_id,
            last_event_id=last_event_id,
            may_know_secrets=may_know_secrets,
            dont_block=dont_block,
            reader=reader,
        )
        yield events
        if realtime.stopping or realtime.reader(realm_id, queue_id) is not reader:
            return
        last_event_id = events[-1][0] if events else last_event_id
        dont_block = False
