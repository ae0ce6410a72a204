"""What is too old is found among much that is not, and costs no more than itself."""

from datetime import UTC, datetime, timedelta

import pytest

from storage import retention
from storage.ids import MessageId
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHANNELS = 20
EACH = 500


async def rows_read(make: Make) -> int:
    """How many messages this transaction has looked at, in whichever way."""
    count: int = await make.connection.value(
        """
        SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
         WHERE relname = 'messages'
        """
    )
    return count


async def fill(make: Make) -> None:
    """Channels that keep messages for a week, and direct messages; all are a day old."""
    await make.connection.execute(
        """
        INSERT INTO channels (realm_id, name, created_at, message_retention_days)
        SELECT %(r)s, 'c' || n, %(now)s, 7 FROM generate_series(1, %(channels)s) AS n
        """,
        r=make.realm_id,
        now=NOW,
        channels=CHANNELS,
    )
    await make.connection.execute(
        """
        INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
               origin_conversation_id, sent_at, client, content, rendered_content)
        SELECT %(r)s, row_number() OVER (), 1, place, coalesce(place, 7), coalesce(place, 7),
               %(sent_at)s, '', '', ''
          FROM (SELECT channel_id FROM channels WHERE realm_id = %(r)s
                UNION ALL SELECT NULL) AS p (place)
         CROSS JOIN generate_series(1, %(each)s)
        """,
        r=make.realm_id,
        sent_at=NOW - timedelta(days=1),
        each=EACH,
    )
    await make.connection.execute("ANALYZE messages, channels")


async def age(make: Make, *message_ids: int) -> None:
    await make.connection.execute(
        """
        UPDATE messages SET sent_at = %(sent_at)s
         WHERE realm_id = %(r)s AND id = ANY(%(ids)s)
        """,
        r=make.realm_id,
        ids=list(message_ids),
        sent_at=NOW - timedelta(days=8),
    )


async def in_channels(make: Make, *, realm_days: int = -1):
    return await retention.in_channels(
        make.connection, make.realm_id, realm_days=realm_days, now=NOW, limit=EACH
    )


async def test_of_a_channel_that_is_young_one_row_is_looked_at(make_here):
    await fill(make_here)
    before = await rows_read(make_here)
    assert await in_channels(make_here) == []
    assert await rows_read(make_here) - before <= 2 * CHANNELS


async def test_what_is_too_old_is_found_by_conversation(make_here):
    await fill(make_here)
    first, last = [
        await make_here.connection.values(
            """
            SELECT id FROM messages WHERE realm_id = %(r)s AND channel_id IS NOT DISTINCT FROM %(c)s
             ORDER BY id LIMIT 2
            """,
            r=make_here.realm_id,
            c=place,
        )
        for place in (
            await make_here.connection.value(
                "SELECT min(channel_id) FROM channels WHERE realm_id = %(r)s", r=make_here.realm_id
            ),
            None,
        )
    ]
    await age(make_here, *first, *last)
    [found] = await in_channels(make_here)
    assert found.message_ids == first
    assert found.channel_id == found.conversation_id
    week = NOW - timedelta(days=7)
    [direct] = await retention.directly(
        make_here.connection, make_here.realm_id, before=week, limit=EACH
    )
    assert (direct.channel_id, direct.conversation_id) == (None, 7)
    assert direct.message_ids == [MessageId(each) for each in last]
