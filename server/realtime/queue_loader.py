"""Load event queues from their rows, with their users, from one snapshot."""

from collections.abc import Sequence
from typing import NamedTuple

from server.domain.access import GUEST
from server.realm_cache import RealmCache
from server.realtime.audience import LiveUser
from server.realtime.contacts import ContactTables, LoadedContacts, load_contacts
from storage import clock as clocks
from storage import event_queues, muted_users, subscription_spans, users
from storage.database import Database
from storage.event_queues import EventQueueRow
from storage.ids import Position, QueueId, UserId
from storage.subscription_spans import SpanRow


class LoadedQueue(NamedTuple):
    """A queue's row, with its user."""

    row: EventQueueRow
    live_user: LiveUser
    read_at: Position
    """The position of both."""
    contacts: LoadedContacts | None
    """Of a restricted guest."""


async def load_queues(
    database: Database,
    realm_cache: RealmCache,
    tables: ContactTables,
    queue_ids: Sequence[QueueId],
) -> dict[QueueId, LoadedQueue]:
    """Return those of the queues that exist and have not expired."""
    realm_id = realm_cache.realm_id
    async with database.snapshot() as connection:
        now, rows = await connection.together(
            clocks.read(connection, realm_id),
            event_queues.live(connection, realm_id, queue_ids),
        )
        user_ids = list({row.user_id for row in rows})
        spans, senders_read, roles = await connection.together(
            subscription_spans.of_users(connection, realm_id, user_ids),
            muted_users.senders_read(connection, realm_id, user_ids),
            users.roles(connection, realm_id, user_ids),
        )
        guests = [row for row in rows if roles[row.user_id] == GUEST]
        contacts = await load_contacts(
            connection,
            realm_cache,
            tables,
            guests,
            spans,
        )
    assert now is not None, "every realm has a clock"
    by_user: dict[UserId, list[SpanRow]] = {}
    for span in spans:
        by_user.setdefault(span.user_id, []).append(span)
    live = {
        user_id: LiveUser(user_id, role, by_user.get(user_id, ()), senders_read.get(user_id))
        for user_id, role in roles.items()
    }
    return {
        row.queue_id: LoadedQueue(row, live[row.user_id], now.position, contacts.get(row.user_id))
        for row in rows
    }
