"""Spans of positions over which users receive what is sent to channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storage.database import Connection, Statement
from storage.ids import ChannelId, Position, RealmId, UserId


@dataclass(frozen=True, slots=True)
class SpanRow:
    """The user received what was sent to the channel from `first` to `last` (None: still)."""

    user_id: UserId
    channel_id: ChannelId
    first: Position
    last: Position | None


async def of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> list[SpanRow]:
    """Return these users' spans in all channels, past subscriptions included."""
    return await connection.many(
        SpanRow,
        """
        SELECT user_id, channel_id, lower(span) AS first, upper(span) - 1 AS last
          FROM subscriptions, unnest(spans) AS span
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )


async def of_channels(
    connection: Connection, realm_id: RealmId, channel_ids: Sequence[ChannelId]
) -> list[SpanRow]:
    """Return the spans of all subscribers of these channels, past ones included."""
    return await connection.many(
        SpanRow,
        """
        SELECT user_id, channel_id, lower(span) AS first, upper(span) - 1 AS last
          FROM (SELECT user_id, channel_id, spans FROM subscriptions
                 WHERE realm_id = %(realm_id)s AND channel_id = ANY(%(channel_ids)s) AND active
                UNION ALL
                SELECT user_id, channel_id, spans FROM subscriptions
                 WHERE realm_id = %(realm_id)s AND channel_id = ANY(%(channel_ids)s)
                   AND NOT active) AS s, unnest(spans) AS span
        """,
        realm_id=realm_id,
        channel_ids=list(channel_ids),
    )


def begin(
    realm_id: RealmId,
    user_ids: Sequence[UserId],
    colors: Mapping[ChannelId, str],
    push_notifications: Sequence[bool | None],
) -> Statement:
    """Subscribe the users to each of the channels: they receive what is sent above this position.

    Former subscribers keep color and settings. `push_notifications` is in the order of the colors.
    The channels are locked.
    """
    return Statement(
        """
        INSERT INTO subscriptions AS s
               (realm_id, user_id, channel_id, active, color, push_notifications, spans, changed_at)
        SELECT %(realm_id)s, u.user_id, c.channel_id, true, c.color, c.push,
               int8multirange(int8range(n.position, NULL, '()')), n.position
          FROM (SELECT current_position() AS position OFFSET 0) AS n
         CROSS JOIN unnest(%(user_ids)s::bigint[]) AS u(user_id)
         CROSS JOIN unnest(%(channel_ids)s::bigint[], %(colors)s::text[], %(push)s::boolean[])
                    AS c(channel_id, color, push)
            ON CONFLICT (realm_id, user_id, channel_id) DO UPDATE
           SET active = true, spans = s.spans + excluded.spans, changed_at = excluded.changed_at
        """,
        {
            "realm_id": realm_id,
            "user_ids": list(user_ids),
            "channel_ids": list(colors),
            "colors": list(colors.values()),
            "push": list(push_notifications),
        },
    )


def set_receiving(
    realm_id: RealmId,
    user_ids: Sequence[UserId],
    channel_ids: Sequence[ChannelId],
    *,
    receives: bool,
) -> Statement:
    """Begin or end spans: whether the users receive what is sent above this position."""
    return Statement(
        """
        UPDATE subscriptions s
           SET spans = CASE WHEN %(receives)s THEN s.spans + above.positions
                            ELSE s.spans - above.positions END,
               changed_at = current_position()
          FROM unnest(%(user_ids)s::bigint[]) AS u(user_id)
         CROSS JOIN unnest(%(channel_ids)s::bigint[]) AS c(channel_id)
         CROSS JOIN LATERAL (
               SELECT int8multirange(int8range(current_position(), NULL, '()'))) above(positions)
         WHERE s.realm_id = %(realm_id)s AND s.user_id = u.user_id
           AND s.channel_id = c.channel_id
        """,
        {
            "realm_id": realm_id,
            "user_ids": list(user_ids),
            "channel_ids": list(channel_ids),
            "receives": receives,
        },
    )
