"""Bulk writes of imports: people, what they have, and where they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection, Statement
from storage.ids import (
    ChannelId,
    DmGroupId,
    Position,
    ProfileFieldId,
    RealmId,
    TopicId,
    UserId,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSubscription:
    user_id: UserId
    color: str
    first: Position
    """The first position of which they received the message."""
    is_muted: bool = False
    pin_to_top: bool = False
    desktop_notifications: bool | None = None
    audible_notifications: bool | None = None
    push_notifications: bool | None = None
    email_notifications: bool | None = None
    wildcard_mentions_notify: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTopicPolicy:
    user_id: UserId
    topic_id: TopicId
    policy: int
    moment: datetime


@dataclass(frozen=True, slots=True)
class ImportedValue:
    """A user's value of a custom profile field."""

    user_id: UserId
    field_id: ProfileFieldId
    value: str
    rendered_value: str | None


def insert_profile_values(realm_id: RealmId, rows: Sequence[ImportedValue]) -> Statement:
    """Insert values that the users do not have yet."""
    return Statement(
        """
        INSERT INTO profile_values (realm_id, user_id, field_id, value, rendered_value)
        SELECT %(realm_id)s, n.user_id, n.field_id, n.value, n.rendered_value
          FROM unnest(%(user_ids)s::bigint[], %(field_ids)s::bigint[], %(values)s::text[],
                      %(rendered)s::text[]) AS n(user_id, field_id, value, rendered_value)
        """,
        {
            "realm_id": realm_id,
            "user_ids": [row.user_id for row in rows],
            "field_ids": [row.field_id for row in rows],
            "values": [row.value for row in rows],
            "rendered": [row.rendered_value for row in rows],
        },
    )


async def set_bot_owners(
    connection: Connection, realm_id: RealmId, owners: Mapping[UserId, UserId]
) -> None:
    """Give bots these owners, except other bots."""
    await connection.execute(
        """
        UPDATE users b SET bot_owner_id = o.owner_id
          FROM unnest(%(bot_ids)s::bigint[], %(owner_ids)s::bigint[]) AS o(bot_id, owner_id)
          JOIN users p ON p.realm_id = %(realm_id)s AND p.user_id = o.owner_id
               AND p.bot_type IS NULL
         WHERE b.realm_id = %(realm_id)s AND b.user_id = o.bot_id AND NOT b.is_system_bot
        """,
        realm_id=realm_id,
        bot_ids=list(owners),
        owner_ids=list(owners.values()),
    )


async def mute_people(
    connection: Connection,
    realm_id: RealmId,
    pairs: Sequence[tuple[UserId, UserId]],
    *,
    now: datetime,
) -> None:
    """Let the first of each pair mute the second, in a new realm."""
    await connection.execute(
        """
        INSERT INTO muted_users (realm_id, user_id, muted_user_id, muted_at, read_below)
        SELECT %(realm_id)s, p.user_id, p.muted_user_id, %(now)s, 9223372036854775807
          FROM unnest(%(user_ids)s::bigint[], %(muted_ids)s::bigint[])
               AS p(user_id, muted_user_id)
        """,
        realm_id=realm_id,
        user_ids=[user_id for user_id, _ in pairs],
        muted_ids=[muted_id for _, muted_id in pairs],
        now=now,
    )


async def archive_channels(
    connection: Connection, realm_id: RealmId, channel_ids: Sequence[ChannelId]
) -> None:
    await connection.execute(
        """
        UPDATE channels SET is_archived = true
         WHERE realm_id = %(realm_id)s AND channel_id = ANY(%(channel_ids)s::bigint[])
        """,
        realm_id=realm_id,
        channel_ids=list(channel_ids),
    )


async def subscribe(
    connection: Connection,
    realm_id: RealmId,
    channel_id: ChannelId,
    subscriptions: Sequence[ImportedSubscription],
    *,
    last: Position,
) -> None:
    """Subscribe to a new channel; everything up to `last` counts as read."""
    user_ids = [each.user_id for each in subscriptions]
    await connection.execute(
        """
        INSERT INTO subscriptions (realm_id, user_id, channel_id, active, color, spans, is_muted,
                                   pin_to_top, desktop_notifications, audible_notifications,
                                   push_notifications, email_notifications,
                                   wildcard_mentions_notify)
        SELECT %(realm_id)s, s.user_id, %(channel_id)s, true, s.color,
               int8multirange(int8range(s.first, NULL)), s.is_muted, s.pin_to_top, s.desktop,
               s.audible, s.push, s.email, s.wildcards
          FROM unnest(%(user_ids)s::bigint[], %(colors)s::text[], %(firsts)s::bigint[],
                      %(muted)s::boolean[], %(pinned)s::boolean[], %(desktop)s::boolean[],
                      %(audible)s::boolean[], %(push)s::boolean[], %(email)s::boolean[],
                      %(wildcards)s::boolean[])
               AS s(user_id, color, first, is_muted, pin_to_top, desktop, audible, push, email,
                    wildcards)
        """,
        realm_id=realm_id,
        channel_id=channel_id,
        user_ids=user_ids,
        colors=[each.color for each in subscriptions],
        firsts=[each.first for each in subscriptions],
        muted=[each.is_muted for each in subscriptions],
        pinned=[each.pin_to_top for each in subscriptions],
        desktop=[each.desktop_notifications for each in subscriptions],
        audible=[each.audible_notifications for each in subscriptions],
        push=[each.push_notifications for each in subscriptions],
        email=[each.email_notifications for each in subscriptions],
        wildcards=[each.wildcard_mentions_notify for each in subscriptions],
    )
    await connection.execute(
        """
        INSERT INTO channel_read (realm_id, user_id, channel_id, read)
        SELECT %(realm_id)s, s.user_id, %(channel_id)s,
               int8multirange(int8range(1, greatest(%(last)s::bigint + 1, 1)))
          FROM unnest(%(user_ids)s::bigint[]) AS s(user_id)
        """,
        realm_id=realm_id,
        channel_id=channel_id,
        user_ids=user_ids,
        last=last,
    )


async def open_dm_group(
    connection: Connection,
    realm_id: RealmId,
    user_ids: Sequence[UserId],
    *,
    first: Position,
    last: Position,
) -> DmGroupId:
    """Insert a group of these users (sorted), in which everything up to `last` is read."""
    dm_group_id: DmGroupId = await connection.value(
        """
        INSERT INTO dm_groups (realm_id, user_ids) VALUES (%(realm_id)s, %(user_ids)s::bigint[])
        RETURNING dm_group_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
    await connection.execute(
        """
        INSERT INTO dm_group_members (realm_id, user_id, dm_group_id)
        SELECT %(realm_id)s, unnest(%(user_ids)s::bigint[]), %(dm_group_id)s
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        dm_group_id=dm_group_id,
    )
    await connection.execute(
        """
        INSERT INTO conversation_read (realm_id, user_id, conversation_id, read)
        SELECT %(realm_id)s, unnest(%(user_ids)s::bigint[]), %(dm_group_id)s,
               int8multirange(int8range(%(first)s::bigint,
                                        greatest(%(last)s::bigint + 1, %(first)s::bigint)))
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        dm_group_id=dm_group_id,
        first=first,
        last=last,
    )
    return dm_group_id


# -- a batch of messages


def insert_topic_policies(realm_id: RealmId, policies: Sequence[ImportedTopicPolicy]) -> Statement:
    """Let people follow and mute topics of channels that they may read; returns the topics' ids."""
    return Statement(
        """
        INSERT INTO user_topics (realm_id, user_id, topic_id, visibility_policy, last_updated)
        SELECT %(realm_id)s, p.user_id, p.topic_id, p.policy, p.moment
          FROM unnest(%(user_ids)s::bigint[], %(topic_ids)s::bigint[], %(policies)s::smallint[],
                      %(moments)s::timestamptz[]) AS p(user_id, topic_id, policy, moment)
          JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = p.topic_id
          JOIN channels c ON c.realm_id = %(realm_id)s AND c.channel_id = t.channel_id
          JOIN users u ON u.realm_id = %(realm_id)s AND u.user_id = p.user_id
         WHERE c.is_web_public OR NOT c.invite_only AND u.role < 600
            OR EXISTS (SELECT FROM subscriptions s
                        WHERE s.realm_id = %(realm_id)s AND s.user_id = p.user_id
                          AND s.channel_id = t.channel_id AND s.active)
            ON CONFLICT DO NOTHING
        RETURNING topic_id
        """,
        {
            "realm_id": realm_id,
            "user_ids": [each.user_id for each in policies],
            "topic_ids": [each.topic_id for each in policies],
            "policies": [each.policy for each in policies],
            "moments": [each.moment for each in policies],
        },
    )


async def people_without_password(
    connection: Connection, realm_id: RealmId, above: UserId, *, limit: int
) -> list[UserId]:
    """Return active people with imported accounts and no password, in the order of their ids."""
    return await connection.values(
        """
        SELECT u.user_id FROM users u
         WHERE u.realm_id = %(realm_id)s AND u.user_id > %(above)s AND u.is_active
           AND u.bot_type IS NULL AND u.password_hash IS NULL
           AND u.user_id IN (SELECT k.id FROM import_keys k
                              WHERE k.realm_id = %(realm_id)s AND k.kind = 'person')
         ORDER BY u.user_id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        above=above,
        limit=limit,
    )
