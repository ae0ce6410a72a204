"""Subscriptions to channels, present and past."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from storage.database import Connection, Statement
from storage.ids import ChannelId, Position, RealmId, UserId


@dataclass(frozen=True, slots=True)
class SubscriptionRow:
    user_id: UserId
    channel_id: ChannelId
    active: bool
    color: str
    is_muted: bool
    pin_to_top: bool
    desktop_notifications: bool | None
    audible_notifications: bool | None
    push_notifications: bool | None
    email_notifications: bool | None
    wildcard_mentions_notify: bool | None
    changed_at: Position


@dataclass(frozen=True, slots=True)
class Membership:
    """A user and a channel to join or leave. The other fields are for first-time subscribers."""

    user_id: UserId
    channel_id: ChannelId
    color: str = ""
    push_notifications: bool | None = None

    @property
    def pair(self) -> tuple[UserId, ChannelId]:
        return self.user_id, self.channel_id


def new_row(membership: Membership) -> SubscriptionRow:
    """Return the row that `activate` inserts for a first-time subscriber."""
    return SubscriptionRow(
        user_id=membership.user_id,
        channel_id=membership.channel_id,
        active=True,
        color=membership.color,
        is_muted=False,
        pin_to_top=False,
        desktop_notifications=None,
        audible_notifications=None,
        push_notifications=membership.push_notifications,
        email_notifications=None,
        wildcard_mentions_notify=None,
        changed_at=Position(0),
    )


@dataclass(frozen=True, slots=True)
class SubscribersRow:
    """Subscribers of a channel, as JSON: large lists are passed on without parsing."""

    channel_id: ChannelId
    user_ids: str


_SELECT: LiteralString = """
    SELECT user_id, channel_id, active, color, is_muted, pin_to_top, desktop_notifications,
           audible_notifications, push_notifications, email_notifications,
           wildcard_mentions_notify, changed_at
      FROM subscriptions """


async def of_user_in(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    channel_id: ChannelId,
    *,
    share: bool = False,
) -> SubscriptionRow | None:
    """Return the user's subscription, active or past; `share` takes a shared lock."""
    sql = (
        _SELECT
        + """
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND channel_id = %(channel_id)s"""
    )
    params = {"realm_id": realm_id, "user_id": user_id, "channel_id": channel_id}
    if share:
        return await connection.one(SubscriptionRow, sql + " FOR SHARE", **params)
    return await connection.one(SubscriptionRow, sql, **params)


async def of_user(
    connection: Connection, realm_id: RealmId, user_id: UserId
) -> list[SubscriptionRow]:
    """Return the user's subscriptions, active and past, by channel."""
    return await connection.many(
        SubscriptionRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s ORDER BY channel_id",
        realm_id=realm_id,
        user_id=user_id,
    )


async def of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> list[SubscriptionRow]:
    """Return these users' subscriptions, active and past."""
    return await connection.many(
        SubscriptionRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)",
        realm_id=realm_id,
        user_ids=list(user_ids),
    )


async def in_channels(
    connection: Connection,
    realm_id: RealmId,
    *,
    user_ids: Sequence[UserId],
    channel_ids: Sequence[ChannelId],
) -> list[SubscriptionRow]:
    """Return these users' subscriptions to these channels, active and past."""
    # OFFSET 0 keeps it one look-up by key for each pair, whatever the statistics are.
    return await connection.many(
        SubscriptionRow,
        """
        SELECT s.user_id, s.channel_id, s.active, s.color, s.is_muted, s.pin_to_top,
               s.desktop_notifications, s.audible_notifications, s.push_notifications,
               s.email_notifications, s.wildcard_mentions_notify, s.changed_at
          FROM unnest(%(user_ids)s::bigint[]) AS u(user_id)
         CROSS JOIN unnest(%(channel_ids)s::bigint[]) AS c(channel_id)
         CROSS JOIN LATERAL (
               SELECT * FROM subscriptions x
                WHERE x.realm_id = %(realm_id)s AND x.user_id = u.user_id
                  AND x.channel_id = c.channel_id OFFSET 0) AS s
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        channel_ids=list(channel_ids),
    )


async def active_in(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId
) -> list[SubscriptionRow]:
    """Return the active subscriptions to the channel, deactivated users' included."""
    return await connection.many(
        SubscriptionRow,
        _SELECT
        + """
         WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s AND active
         ORDER BY user_id
        """,
        realm_id=realm_id,
        channel_id=channel_id,
    )


async def active_user_ids(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId
) -> list[UserId]:
    """Return the present subscribers who are active users."""
    return await connection.values(
        """
        SELECT s.user_id FROM subscriptions s
          JOIN users u ON u.realm_id = s.realm_id AND u.user_id = s.user_id AND u.is_active
         WHERE s.realm_id = %(realm_id)s AND s.channel_id = %(channel_id)s AND s.active
         ORDER BY s.user_id
        """,
        realm_id=realm_id,
        channel_id=channel_id,
    )


async def subscribers(
    connection: Connection,
    realm_id: RealmId,
    channel_ids: Sequence[ChannelId],
    *,
    at_most: int | None = None,
) -> list[SubscribersRow]:
    """Return the active users in each channel, by id; the first `at_most` of each if given."""
    # Excluding the few inactive users is three times as fast as joining the many active ones.
    return await connection.many(
        SubscribersRow,
        """
        SELECT c.channel_id,
               '[' || array_to_string(ARRAY(
                   SELECT s.user_id FROM subscriptions s
                    WHERE s.realm_id = %(realm_id)s AND s.channel_id = c.channel_id AND s.active
                      AND s.user_id NOT IN (
                          SELECT u.user_id FROM users u
                           WHERE u.realm_id = %(realm_id)s AND NOT u.is_active)
                    ORDER BY s.user_id
                    LIMIT %(at_most)s::bigint), ',') || ']' AS user_ids
          FROM unnest(%(channel_ids)s::bigint[]) AS c(channel_id)
        """,
        realm_id=realm_id,
        channel_ids=list(channel_ids),
        at_most=at_most,
    )


async def subscribers_with(
    connection: Connection, realm_id: RealmId, memberships: Sequence[Membership]
) -> list[SubscribersRow]:
    """Return the active users in these channels, as if the memberships were written."""
    return await connection.many(
        SubscribersRow,
        """
        WITH joining AS (
            SELECT * FROM unnest(%(user_ids)s::bigint[], %(channel_ids)s::bigint[])
                       AS m(user_id, channel_id))
        SELECT c.channel_id,
               '[' || array_to_string(ARRAY(
                   SELECT s.user_id FROM subscriptions s
                    WHERE s.realm_id = %(realm_id)s AND s.channel_id = c.channel_id AND s.active
                      AND s.user_id NOT IN (
                          SELECT u.user_id FROM users u
                           WHERE u.realm_id = %(realm_id)s AND NOT u.is_active)
                    UNION
                   SELECT j.user_id FROM joining j WHERE j.channel_id = c.channel_id
                    ORDER BY user_id), ',') || ']' AS user_ids
          FROM (SELECT DISTINCT channel_id FROM joining) AS c
        """,
        **_pairs(realm_id, memberships),
    )


async def with_role(
    connection: Connection, realm_id: RealmId, channel_ids: Sequence[ChannelId], *, role: int
) -> set[ChannelId]:
    """Return those of these channels that have an active subscriber of this role."""
    found = await connection.values(
        """
        SELECT DISTINCT s.channel_id FROM users u
          JOIN subscriptions s ON s.realm_id = u.realm_id AND s.user_id = u.user_id
           AND s.channel_id = ANY(%(channel_ids)s) AND s.active
         WHERE u.realm_id = %(realm_id)s AND u.role = %(role)s AND u.is_active
        """,
        realm_id=realm_id,
        channel_ids=list(channel_ids),
        role=role,
    )
    return set(found)


async def ids_with_role(
    connection: Connection, realm_id: RealmId, channel_ids: Sequence[ChannelId], *, role: int
) -> list[UserId]:
    """Return the active users of this role who are in any of these channels."""
    return await connection.values(
        """
        SELECT DISTINCT s.user_id FROM users u
          JOIN subscriptions s ON s.realm_id = u.realm_id AND s.user_id = u.user_id
           AND s.channel_id = ANY(%(channel_ids)s) AND s.active
         WHERE u.realm_id = %(realm_id)s AND u.role = %(role)s AND u.is_active
        """,
        realm_id=realm_id,
        channel_ids=list(channel_ids),
        role=role,
    )


async def colors(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> dict[UserId, set[str]]:
    """Return the colors that each user has for their channels."""
    rows = await connection.tuples(
        """
        SELECT user_id, array_agg(DISTINCT color) FROM subscriptions
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s) AND active
         GROUP BY user_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
    return {user_id: set(used) for user_id, used in rows}


async def activate(
    connection: Connection, realm_id: RealmId, memberships: Iterable[Membership]
) -> None:
    """Subscribe; former subscribers keep their settings. The channels are locked."""
    joining = list(memberships)
    await connection.execute(
        """
        INSERT INTO subscriptions (realm_id, user_id, channel_id, active, color,
                                   push_notifications)
        SELECT %(realm_id)s, m.user_id, m.channel_id, true, m.color, m.push
          FROM unnest(%(user_ids)s::bigint[], %(channel_ids)s::bigint[], %(colors)s::text[],
                      %(push)s::boolean[])
               AS m(user_id, channel_id, color, push)
            ON CONFLICT (realm_id, user_id, channel_id) DO UPDATE SET active = true
        """,
        colors=[m.color for m in joining],
        push=[m.push_notifications for m in joining],
        **_pairs(realm_id, joining),
    )


async def deactivate(
    connection: Connection, realm_id: RealmId, memberships: Iterable[Membership]
) -> None:
    """Unsubscribe; settings are kept for a later return. The channels are locked."""
    await connection.execute(
        """
        UPDATE subscriptions s SET active = false
          FROM unnest(%(user_ids)s::bigint[], %(channel_ids)s::bigint[])
               AS m(user_id, channel_id)
         WHERE s.realm_id = %(realm_id)s AND s.user_id = m.user_id
           AND s.channel_id = m.channel_id
        """,
        **_pairs(realm_id, list(memberships)),
    )


async def update_settings(
    connection: Connection, realm_id: RealmId, rows: Sequence[SubscriptionRow]
) -> None:
    """Update subscription settings. The caller has locked the users' rows."""
    await connection.execute(
        """
        UPDATE subscriptions s
           SET color = n.color, is_muted = n.is_muted, pin_to_top = n.pin_to_top,
               desktop_notifications = n.desktop, audible_notifications = n.audible,
               push_notifications = n.push, email_notifications = n.email,
               wildcard_mentions_notify = n.wildcard
          FROM unnest(%(user_ids)s::bigint[], %(channel_ids)s::bigint[], %(colors)s::text[],
                      %(is_muted)s::boolean[], %(pin_to_top)s::boolean[], %(desktop)s::boolean[],
                      %(audible)s::boolean[], %(push)s::boolean[], %(email)s::boolean[],
                      %(wildcard)s::boolean[])
               AS n(user_id, channel_id, color, is_muted, pin_to_top, desktop, audible, push,
                    email, wildcard)
         WHERE s.realm_id = %(realm_id)s AND s.user_id = n.user_id AND s.channel_id = n.channel_id
        """,
        realm_id=realm_id,
        user_ids=[row.user_id for row in rows],
        channel_ids=[row.channel_id for row in rows],
        colors=[row.color for row in rows],
        is_muted=[row.is_muted for row in rows],
        pin_to_top=[row.pin_to_top for row in rows],
        desktop=[row.desktop_notifications for row in rows],
        audible=[row.audible_notifications for row in rows],
        push=[row.push_notifications for row in rows],
        email=[row.email_notifications for row in rows],
        wildcard=[row.wildcard_mentions_notify for row in rows],
    )


def changed(realm_id: RealmId, user_id: UserId, channel_ids: Sequence[ChannelId]) -> Statement:
    """Invalidate decisions on older rows of these subscriptions, from this position on."""
    return Statement(
        """
        UPDATE subscriptions SET changed_at = current_position()
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND channel_id = ANY(%(channel_ids)s)
        """,
        {"realm_id": realm_id, "user_id": user_id, "channel_ids": list(channel_ids)},
    )


def _pairs(realm_id: RealmId, memberships: Sequence[Membership]) -> dict[str, Any]:
    return {
        "realm_id": realm_id,
        "user_ids": [m.user_id for m in memberships],
        "channel_ids": [m.channel_id for m in memberships],
    }


async def wanting_typing(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId, *, limit: int
) -> list[UserId] | None:
    """Return subscribers who want typing notifications; None if more than `limit` subscribe."""
    rows = await connection.tuples(
        """
        SELECT s.user_id, coalesce((u.settings ->> 'receives_typing_notifications')::boolean, true)
          FROM subscriptions s
          JOIN users u ON u.realm_id = s.realm_id AND u.user_id = s.user_id AND u.is_active
         WHERE s.realm_id = %(realm_id)s AND s.channel_id = %(channel_id)s AND s.active
         ORDER BY s.user_id LIMIT %(limit)s + 1
        """,
        realm_id=realm_id,
        channel_id=channel_id,
        limit=limit,
    )
    return None if len(rows) > limit else [user_id for user_id, wants in rows if wants]
