"""Imports into organizations in use: their positions, memberships, conversations and accounts."""

from collections.abc import Mapping, Sequence

from storage.database import Connection, Statement
from storage.ids import ChannelId, RealmId, UserId


def set_range(realm_id: RealmId, import_id: int, count: int) -> Statement:
    """Give the import the positions that the current entry has reserved."""
    return Statement(
        """
        WITH moved AS (
            UPDATE imports SET first_position = current_position() - %(count)s - 1
             WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s)
        INSERT INTO imported_ranges (realm_id, first_id, last_id)
        SELECT %(realm_id)s, current_position() - %(count)s, current_position() - 1
         WHERE %(count)s > 0
        """,
        {"realm_id": realm_id, "import_id": import_id, "count": count},
    )


def subscribe_deactivated(
    realm_id: RealmId, channel_id: ChannelId, user_ids: Sequence[UserId], color: str
) -> Statement:
    """Subscribe deactivated people, who receive nothing before they are reactivated."""
    return Statement(
        """
        INSERT INTO subscriptions (realm_id, user_id, channel_id, active, color, spans, changed_at)
        SELECT %(realm_id)s, unnest(%(user_ids)s::bigint[]), %(channel_id)s, true, %(color)s,
               '{}', current_position()
            ON CONFLICT DO NOTHING
        """,
        {
            "realm_id": realm_id,
            "channel_id": channel_id,
            "user_ids": list(user_ids),
            "color": color,
        },
    )


def mark_channel_read(
    realm_id: RealmId, channel_id: ChannelId, *, first: int, last: int
) -> Statement:
    """Mark these positions as read for all who received what was sent to the channel then."""
    return Statement(
        """
        INSERT INTO channel_read AS r (realm_id, user_id, channel_id, read)
        SELECT s.realm_id, s.user_id, s.channel_id,
               int8multirange(int8range(%(first)s, %(last)s, '[]'))
          FROM subscriptions s
         WHERE s.realm_id = %(realm_id)s AND s.channel_id = %(channel_id)s
           AND s.spans && int8range(%(first)s, %(last)s, '[]')
            ON CONFLICT (realm_id, user_id, channel_id) DO UPDATE SET read = r.read + excluded.read
        """,
        {"realm_id": realm_id, "channel_id": channel_id, "first": first, "last": last},
    )


def cut_spans(
    realm_id: RealmId, channel_id: ChannelId, unreceived: Mapping[UserId, int], *, first: int
) -> Statement:
    """Take from the subscribers' spans so many positions from `first` on, of each their number."""
    return Statement(
        """
        UPDATE subscriptions s
           SET spans = s.spans - int8multirange(int8range(%(first)s, %(first)s + c.count)),
               changed_at = current_position()
          FROM unnest(%(user_ids)s::bigint[], %(counts)s::bigint[]) AS c(user_id, count)
         WHERE s.realm_id = %(realm_id)s AND s.channel_id = %(channel_id)s
           AND s.user_id = c.user_id AND c.count > 0
        """,
        {
            "realm_id": realm_id,
            "channel_id": channel_id,
            "user_ids": list(unreceived),
            "counts": list(unreceived.values()),
            "first": first,
        },
    )


def join_dm_group(
    realm_id: RealmId,
    import_id: int,
    keys: Sequence[str],
    user_ids: Sequence[UserId],
    *,
    first: int,
    last: int,
) -> Statement:
    """Find or insert the group of these users (sorted), with these positions read, and the keys."""
    return Statement(
        """
        WITH made AS (
            INSERT INTO dm_groups (realm_id, user_ids)
            VALUES (%(realm_id)s, %(user_ids)s::bigint[])
                ON CONFLICT DO NOTHING RETURNING dm_group_id
        ), members AS (
            INSERT INTO dm_group_members (realm_id, user_id, dm_group_id)
            SELECT %(realm_id)s, unnest(%(user_ids)s::bigint[]), dm_group_id FROM made
        ), place AS (
            SELECT dm_group_id FROM made
            UNION ALL
            SELECT dm_group_id FROM dm_groups
             WHERE realm_id = %(realm_id)s AND user_ids = %(user_ids)s::bigint[]
        ), marked AS (
            INSERT INTO conversation_read AS r (realm_id, user_id, conversation_id, read)
            SELECT %(realm_id)s, unnest(%(user_ids)s::bigint[]), dm_group_id,
                   int8multirange(int8range(%(first)s, %(last)s, '[]'))
              FROM place
                ON CONFLICT (realm_id, user_id, conversation_id)
                DO UPDATE SET read = r.read + excluded.read
        )
        INSERT INTO import_keys (realm_id, import_id, kind, key, id)
        SELECT %(realm_id)s, %(import_id)s, 'conversation', k.key, place.dm_group_id
          FROM unnest(%(keys)s::text[]) AS k(key) CROSS JOIN place
        """,
        {
            "realm_id": realm_id,
            "import_id": import_id,
            "keys": list(keys),
            "user_ids": list(user_ids),
            "first": first,
            "last": last,
        },
    )


async def imported_accounts(
    connection: Connection, realm_id: RealmId, source: str, user_ids: Sequence[UserId]
) -> set[UserId]:
    """Return those of the accounts that came with imports from this program."""
    return set(
        await connection.values(
            """
            SELECT k.id FROM import_keys k
              JOIN imports i ON i.realm_id = k.realm_id AND i.import_id = k.import_id
             WHERE k.realm_id = %(realm_id)s AND k.kind = 'person' AND i.source = %(source)s
               AND k.id = ANY(%(user_ids)s::bigint[])
            """,
            realm_id=realm_id,
            source=source,
            user_ids=list(user_ids),
        )
    )
