"""Channels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString

from storage.database import Connection, Locking, Statement
from storage.ids import ChannelId, GroupId, MessageId, Position, RealmId, UserId
from storage.name_folding import FoldedName, fold_name


@dataclass(frozen=True, slots=True)
class ChannelRow:
    channel_id: ChannelId
    name: str
    description: str
    rendered_description: str
    creator_id: UserId | None
    created_at: datetime
    invite_only: bool
    is_web_public: bool
    history_public_to_subscribers: bool
    is_archived: bool
    is_default: bool
    topics_policy: str
    folder_id: int | None
    message_retention_days: int | None
    permissions: dict[str, Any]
    subscriber_count: int
    """Number of subscribed active users."""
    changed_at: Position
    default_push_notifications: bool = False
    """Whether first-time subscribers get push notifications, whatever their own default is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChannel:
    name: str
    description: str = ""
    rendered_description: str = ""
    creator_id: UserId | None = None
    created_at: datetime
    invite_only: bool = False
    is_web_public: bool = False
    history_public_to_subscribers: bool = True
    is_default: bool = False
    topics_policy: str = "inherit"
    folder_id: int | None = None
    message_retention_days: int | None = None
    default_push_notifications: bool = False
    permissions: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NamedChannel:
    """A channel that was looked up by name."""

    name: str
    key: FoldedName
    channel_id: ChannelId | None


@dataclass(frozen=True, slots=True)
class ActivityRow:
    """First and last message of a channel, and how many were sent recently."""

    channel_id: ChannelId
    first_message_id: MessageId | None
    last_sent_at: datetime | None
    recent_messages: int
    """As last counted by storage/channel_traffic.py."""


_SELECT: LiteralString = """
    SELECT channel_id, name, description, rendered_description, creator_id, created_at,
           invite_only, is_web_public, history_public_to_subscribers, is_archived, is_default,
           topics_policy, folder_id, message_retention_days, permissions, subscriber_count,
           changed_at, default_push_notifications
      FROM channels """


async def by_ids(
    connection: Connection,
    realm_id: RealmId,
    channel_ids: Sequence[ChannelId],
    *,
    share: bool = False,
) -> list[ChannelRow]:
    """Return the channels that exist, archived or not, by id; `share` takes shared locks."""
    sql = (
        _SELECT + "WHERE realm_id = %(realm_id)s AND channel_id = ANY(%(ids)s) ORDER BY channel_id"
    )
    if share:
        return await connection.many(
            ChannelRow, sql + " FOR SHARE", realm_id=realm_id, ids=list(channel_ids)
        )
    return await connection.many(ChannelRow, sql, realm_id=realm_id, ids=list(channel_ids))


def locking(realm_id: RealmId, channel_ids: Sequence[ChannelId]) -> Locking[ChannelRow]:
    """Return the query that locks these channels, to change subscribers or settings."""
    return Locking(
        ChannelRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND channel_id = ANY(%(ids)s) ORDER BY channel_id",
        {"realm_id": realm_id, "ids": list(channel_ids)},
        expected=len(set(channel_ids)),
    )


async def by_names(
    connection: Connection, realm_id: RealmId, names: Sequence[str]
) -> list[ChannelRow]:
    """Return the channels with these names."""
    found = await named(connection, realm_id, names)
    ids = [each.channel_id for each in found if each.channel_id is not None]
    return await by_ids(connection, realm_id, ids)


async def sharing_name(connection: Connection, realm_id: RealmId, name: str) -> list[ChannelRow]:
    """Return all channels of this name, oldest first: at most one once names are unique."""
    return await connection.many(
        ChannelRow,
        _SELECT
        + """
        WHERE realm_id = %(realm_id)s AND folded_name = %(folded_name)s ORDER BY channel_id""",
        realm_id=realm_id,
        folded_name=fold_name(name),
    )


async def named(
    connection: Connection, realm_id: RealmId, names: Sequence[str]
) -> list[NamedChannel]:
    """Return the channel for each of these names, in their order.

    Several channels can have a name only until `parley migrate` has renamed duplicates of an older
    release: then an exact match wins, or else the oldest.
    """
    return await connection.many(
        NamedChannel,
        """
        SELECT n.name, n.folded_name AS key, c.channel_id
          FROM unnest(%(names)s::text[], %(folded_names)s::text[])
               WITH ORDINALITY AS n(name, folded_name, place)
          LEFT JOIN LATERAL (
               SELECT c.channel_id FROM channels c
                WHERE c.realm_id = %(realm_id)s AND c.folded_name = n.folded_name
                ORDER BY c.name = n.name DESC, c.channel_id LIMIT 1) AS c ON true
         ORDER BY n.place
        """,
        realm_id=realm_id,
        names=list(names),
        folded_names=[fold_name(name) for name in names],
    )


@dataclass(frozen=True, slots=True)
class VersionRow:
    """Version of a channel's row, and the columns that change without a new version."""

    channel_id: ChannelId
    changed_at: Position
    subscriber_count: int


async def versions(connection: Connection, realm_id: RealmId) -> list[VersionRow]:
    """Return the versions of all channels, archived or not, by id."""
    return await connection.many(
        VersionRow,
        """
        SELECT channel_id, changed_at, subscriber_count FROM channels
         WHERE realm_id = %(realm_id)s ORDER BY channel_id
        """,
        realm_id=realm_id,
    )


async def naming(
    connection: Connection, realm_id: RealmId, group_ids: Iterable[GroupId]
) -> list[ChannelRow]:
    """Return the channels that have a permission set to one of these groups."""
    return await connection.many(
        ChannelRow,
        _SELECT
        + """
        WHERE realm_id = %(realm_id)s
          AND EXISTS (
              SELECT FROM jsonb_each(permissions) AS p
                JOIN unnest(%(group_ids)s::bigint[]) AS g (group_id)
                  ON p.value = to_jsonb(g.group_id)
                  OR p.value -> 'direct_subgroups' @> to_jsonb(g.group_id))
        ORDER BY channel_id""",
        realm_id=realm_id,
        group_ids=list(group_ids),
    )


async def naming_people(
    connection: Connection, realm_id: RealmId, user_ids: Iterable[UserId]
) -> list[ChannelRow]:
    """Return the channels that these users created, or that have a permission naming them."""
    return await connection.many(
        ChannelRow,
        _SELECT
        + """
        WHERE realm_id = %(realm_id)s
          AND (creator_id = ANY(%(user_ids)s)
               OR EXISTS (
                   SELECT FROM jsonb_each(permissions) AS p
                     JOIN unnest(%(user_ids)s::bigint[]) AS u (user_id)
                       ON p.value -> 'direct_members' @> to_jsonb(u.user_id)))
        ORDER BY channel_id""",
        realm_id=realm_id,
        user_ids=list(user_ids),
    )


async def default_ids(connection: Connection, realm_id: RealmId) -> list[ChannelId]:
    """Return the ids of the default channels, archived ones excluded."""
    return await connection.values(
        """
        SELECT channel_id FROM channels
         WHERE realm_id = %(realm_id)s AND is_default AND NOT is_archived
         ORDER BY channel_id
        """,
        realm_id=realm_id,
    )


async def activity(
    connection: Connection, realm_id: RealmId, channel_ids: Sequence[ChannelId]
) -> list[ActivityRow]:
    """Return the activity of each of these channels."""
    return await connection.many(
        ActivityRow,
        """
        SELECT c.channel_id, first.id AS first_message_id, last.sent_at AS last_sent_at,
               coalesce(t.messages, 0) AS recent_messages
          FROM unnest(%(ids)s::bigint[]) AS c(channel_id)
          LEFT JOIN channel_traffic t
            ON t.realm_id = %(realm_id)s AND t.channel_id = c.channel_id
          LEFT JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = %(realm_id)s AND m.channel_id = c.channel_id
                ORDER BY m.id LIMIT 1) AS first ON true
          LEFT JOIN LATERAL (
               SELECT m.sent_at FROM messages m
                WHERE m.realm_id = %(realm_id)s AND m.channel_id = c.channel_id
                ORDER BY m.id DESC LIMIT 1) AS last ON true
        """,
        realm_id=realm_id,
        ids=list(channel_ids),
    )


def append_activity_event(
    realm_id: RealmId,
    before: ActivityRow,
    *,
    now: datetime,
    recently: timedelta,
    audience: bytes,
    write_id: str,
) -> Statement:
    """Under the clock's lock: append an event if the channel's activity has changed."""
    return Statement(
        """
        SELECT tell_channel_activity(%(realm_id)s, %(channel_id)s, %(first)s, %(last)s, %(now)s,
                                     %(recently)s, %(audience)b, %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "channel_id": before.channel_id,
            "first": before.first_message_id,
            "last": before.last_sent_at,
            "now": now,
            "recently": recently,
            "audience": audience,
            "write_id": write_id,
        },
    )


async def insert(connection: Connection, realm_id: RealmId, new: NewChannel) -> ChannelRow:
    """Insert a channel without subscribers.

    The caller has locked the realm's row, which guards names.
    """
    row = await connection.one(
        ChannelRow,
        """
        INSERT INTO channels (realm_id, name, folded_name, description, rendered_description,
                              creator_id, created_at, invite_only, is_web_public,
                              history_public_to_subscribers, is_default, topics_policy, folder_id,
                              message_retention_days, default_push_notifications, permissions)
        VALUES (%(realm_id)s, %(name)s, %(folded_name)s, %(description)s,
                %(rendered_description)s, %(creator_id)s, %(created_at)s, %(invite_only)s,
                %(is_web_public)s, %(history_public_to_subscribers)s, %(is_default)s,
                %(topics_policy)s, %(folder_id)s, %(message_retention_days)s,
                %(default_push_notifications)s, %(permissions)s)
        RETURNING channel_id, name, description, rendered_description, creator_id, created_at,
                  invite_only, is_web_public, history_public_to_subscribers, is_archived,
                  is_default, topics_policy, folder_id, message_retention_days, permissions,
                  subscriber_count, changed_at, default_push_notifications
        """,
        realm_id=realm_id,
        name=new.name,
        folded_name=fold_name(new.name),
        description=new.description,
        rendered_description=new.rendered_description,
        creator_id=new.creator_id,
        created_at=new.created_at,
        invite_only=new.invite_only,
        is_web_public=new.is_web_public,
        history_public_to_subscribers=new.history_public_to_subscribers,
        is_default=new.is_default,
        topics_policy=new.topics_policy,
        folder_id=new.folder_id,
        message_retention_days=new.message_retention_days,
        default_push_notifications=new.default_push_notifications,
        permissions=connection.json(new.permissions),
    )
    assert row is not None
    return row


async def change_subscriber_counts(
    connection: Connection, realm_id: RealmId, changes: Mapping[ChannelId, int]
) -> None:
    """Add to the subscriber counts of these channels, which the caller has locked."""
    await connection.execute(
        """
        UPDATE channels c SET subscriber_count = c.subscriber_count + change.by
          FROM unnest(%(ids)s::bigint[], %(changes)s::integer[]) AS change(channel_id, by)
         WHERE c.realm_id = %(realm_id)s AND c.channel_id = change.channel_id
        """,
        realm_id=realm_id,
        ids=list(changes),
        changes=list(changes.values()),
    )


async def update(connection: Connection, realm_id: RealmId, row: ChannelRow) -> None:
    """Update the channel, except its subscribers.

    The caller has locked the channel's row, and to change the name, the realm's.
    """
    await connection.execute(
        """
        UPDATE channels
           SET name = %(name)s, folded_name = %(folded_name)s, description = %(description)s,
               rendered_description = %(rendered_description)s, invite_only = %(invite_only)s,
               is_web_public = %(is_web_public)s, history_public_to_subscribers = %(history)s,
               is_archived = %(is_archived)s, is_default = %(is_default)s,
               topics_policy = %(topics_policy)s, folder_id = %(folder_id)s,
               message_retention_days = %(retention_days)s, permissions = %(permissions)s,
               default_push_notifications = %(default_push_notifications)s
         WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s
        """,
        realm_id=realm_id,
        channel_id=row.channel_id,
        name=row.name,
        folded_name=fold_name(row.name),
        description=row.description,
        rendered_description=row.rendered_description,
        invite_only=row.invite_only,
        is_web_public=row.is_web_public,
        history=row.history_public_to_subscribers,
        is_archived=row.is_archived,
        is_default=row.is_default,
        topics_policy=row.topics_policy,
        folder_id=row.folder_id,
        retention_days=row.message_retention_days,
        default_push_notifications=row.default_push_notifications,
        permissions=connection.json(row.permissions),
    )


async def has_named_topics(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId
) -> bool:
    """Return whether the channel holds a message outside the empty topic."""
    found: bool = await connection.value(
        """
        SELECT EXISTS (
            SELECT FROM topics t
             WHERE t.realm_id = %(realm_id)s AND t.channel_id = %(channel_id)s AND t.name <> ''
               AND EXISTS (SELECT FROM messages m
                            WHERE m.realm_id = %(realm_id)s AND m.conversation_id = t.topic_id))
        """,
        realm_id=realm_id,
        channel_id=channel_id,
    )
    return found


def changed(realm_id: RealmId, channel_ids: Sequence[ChannelId]) -> Statement:
    """Invalidate decisions that rest on older rows of these channels, from this position on."""
    return Statement(
        """
        UPDATE channels SET changed_at = current_position()
         WHERE realm_id = %(realm_id)s AND channel_id = ANY(%(ids)s)
        """,
        {"realm_id": realm_id, "ids": list(channel_ids)},
    )


async def has_web_public(connection: Connection, realm_id: RealmId) -> bool:
    """Return whether the realm has a channel that is readable without an account."""
    found: bool = await connection.value(
        """
        SELECT EXISTS (SELECT FROM channels
                        WHERE realm_id = %(realm_id)s AND is_web_public AND NOT is_archived)
        """,
        realm_id=realm_id,
    )
    return found
