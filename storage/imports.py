"""Imports: their progress, the keys of their records, and bulk inserts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from storage.array_literals import int_array, moment_array, text_array
from storage.database import Connection, Statement
from storage.ids import (
    ChannelId,
    DmGroupId,
    MessageId,
    Position,
    ProfileFieldId,
    RealmId,
    TopicId,
    UserId,
)
from storage.name_folding import fold_name

CLIENT: Final = "import"
"""What messages name as the client that sent them."""

Kind = Literal[
    "person", "account", "channel", "conversation", "thread", "message", "file", "link", "unnamed"
]
"""Kinds of keys. `person`: people who got an account, `account`: people who had one already.
`link`: messages that hold links to others, by their own ids. `unnamed`: topics of threads of which
the root, which names them, has not come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRow:
    import_id: int
    source: str
    options: dict[str, Any]
    phase: str
    done: int
    """Progress within the phase."""
    total: int
    """Number of messages."""
    first_position: Position
    """The position below those of its messages."""
    report: dict[str, Any]
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMessage:
    message_id: MessageId
    sender_id: UserId
    channel_id: ChannelId | None
    conversation_id: int
    sent_at: datetime
    edited_at: datetime | None
    traits: int
    content: str
    rendered_content: str


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTopic:
    topic_id: TopicId
    channel_id: ChannelId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedReaction:
    message_id: MessageId
    user_id: UserId
    reaction_type: str
    emoji_code: str
    emoji_name: str


@dataclass(frozen=True, slots=True)
class ImportedValue:
    """A user's value of a custom profile field."""

    user_id: UserId
    field_id: ProfileFieldId
    value: str
    rendered_value: str | None


async def insert(
    connection: Connection,
    realm_id: RealmId,
    row: ImportRow,
    *,
    fingerprint: bytes,
    now: datetime,
) -> int:
    """Insert an import that begins now; return its id. The row's own id is ignored."""
    import_id: int = await connection.value(
        """
        INSERT INTO imports (realm_id, source, fingerprint, options, phase, done, total,
                             first_position, report, started_at)
        VALUES (%(realm_id)s, %(source)s, %(fingerprint)b, %(options)s, %(phase)s, %(done)s,
                %(total)s, %(first_position)s, %(report)s, %(now)s)
        RETURNING import_id
        """,
        realm_id=realm_id,
        source=row.source,
        fingerprint=fingerprint,
        options=connection.json(row.options),
        phase=row.phase,
        done=row.done,
        total=row.total,
        first_position=row.first_position,
        report=connection.json(row.report),
        now=now,
    )
    return import_id


async def by_id(connection: Connection, realm_id: RealmId, import_id: int) -> ImportRow | None:
    """Return the import as it is now."""
    return await connection.one(
        ImportRow,
        """
        SELECT import_id, source, options, phase, done, total, first_position, report, ended_at
          FROM imports WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s
        """,
        realm_id=realm_id,
        import_id=import_id,
    )


async def of_file(
    connection: Connection, realm_id: RealmId, fingerprint: bytes
) -> ImportRow | None:
    """Return the import of this file into the realm, if it was begun."""
    return await connection.one(
        ImportRow,
        """
        SELECT import_id, source, options, phase, done, total, first_position, report, ended_at
          FROM imports
         WHERE realm_id = %(realm_id)s AND fingerprint = %(fingerprint)b
         ORDER BY import_id DESC LIMIT 1
        """,
        realm_id=realm_id,
        fingerprint=fingerprint,
    )


def advance(
    realm_id: RealmId,
    row: ImportRow,
    *,
    phase: str,
    done: int,
    report: Mapping[str, Any],
    ended_at: datetime | None = None,
) -> Statement:
    """Record progress since `row`; returns a row unless another process has done so meanwhile."""
    return Statement(
        """
        UPDATE imports SET phase = %(phase)s, done = %(done)s, report = %(report)s,
                           ended_at = %(ended_at)s
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s
           AND phase = %(old_phase)s AND done = %(old_done)s AND ended_at IS NULL
        RETURNING import_id
        """,
        {
            "realm_id": realm_id,
            "import_id": row.import_id,
            "phase": phase,
            "done": done,
            "report": Connection.json(report),
            "ended_at": ended_at,
            "old_phase": row.phase,
            "old_done": row.done,
        },
    )


async def set_report(
    connection: Connection, realm_id: RealmId, import_id: int, report: Mapping[str, Any]
) -> None:
    await connection.execute(
        """
        UPDATE imports SET report = %(report)s
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s
        """,
        realm_id=realm_id,
        import_id=import_id,
        report=connection.json(report),
    )


async def unfinished(connection: Connection, realm_id: RealmId) -> list[str]:
    """Return the sources of imports into the realm that have not ended."""
    return await connection.values(
        """
        SELECT source FROM imports WHERE realm_id = %(realm_id)s AND ended_at IS NULL
         ORDER BY import_id
        """,
        realm_id=realm_id,
    )


# -- keys


def keep_keys(realm_id: RealmId, import_id: int, kind: Kind, ids: Mapping[str, int]) -> Statement:
    """Remember which rows records have become, by their keys in the file."""
    return Statement(
        """
        INSERT INTO import_keys (realm_id, import_id, kind, key, id)
        SELECT %(realm_id)s, %(import_id)s, %(kind)s, k.key, k.id
          FROM unnest(%(keys)s::text[], %(ids)s::bigint[]) AS k(key, id)
        """,
        {
            "realm_id": realm_id,
            "import_id": import_id,
            "kind": kind,
            "keys": text_array(ids),
            "ids": int_array(ids.values()),
        },
    )


async def keys_of(
    connection: Connection, realm_id: RealmId, import_id: int, kind: Kind
) -> dict[str, int]:
    """Return all ids of a kind by their keys."""
    rows = await connection.tuples(
        """
        SELECT key, id FROM import_keys
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s AND kind = %(kind)s
        """,
        realm_id=realm_id,
        import_id=import_id,
        kind=kind,
    )
    return dict(rows)


async def ids_of(
    connection: Connection,
    realm_id: RealmId,
    import_id: int,
    kind: Kind,
    keys: Sequence[str],
) -> dict[str, int]:
    """Return the ids of those of the keys that are known."""
    # One look-up for each: without statistics, of a table that has just been filled, `key = ANY`
    # becomes a filter over all keys of the kind.
    rows = await connection.tuples(
        """
        SELECT k.key, i.id
          FROM unnest(%(keys)s::text[]) AS k(key)
         CROSS JOIN LATERAL (
                SELECT id FROM import_keys
                 WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s
                   AND kind = %(kind)s AND key = k.key
                 LIMIT 1) i
        """,
        realm_id=realm_id,
        import_id=import_id,
        kind=kind,
        keys=list(keys),
    )
    return dict(rows)


async def some_ids(
    connection: Connection, realm_id: RealmId, import_id: int, kind: Kind, *, limit: int
) -> list[int]:
    """Return some ids of a kind, always the first ones that are left."""
    return await connection.values(
        """
        SELECT id FROM import_keys
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s AND kind = %(kind)s
         ORDER BY key LIMIT %(limit)s
        """,
        realm_id=realm_id,
        import_id=import_id,
        kind=kind,
        limit=limit,
    )


def forget_keys(realm_id: RealmId, import_id: int, kind: Kind, keys: Sequence[str]) -> Statement:
    return Statement(
        """
        DELETE FROM import_keys
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s AND kind = %(kind)s
           AND ctid = ANY(ARRAY(
                SELECT i.ctid
                  FROM unnest(%(keys)s::text[]) AS k(key)
                 CROSS JOIN LATERAL (
                        SELECT ctid FROM import_keys
                         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s
                           AND kind = %(kind)s AND key = k.key
                         LIMIT 1) i))
        """,
        {"realm_id": realm_id, "import_id": import_id, "kind": kind, "keys": list(keys)},
    )


async def forget_some_keys(
    connection: Connection, realm_id: RealmId, import_id: int, first: tuple[str, str], *, limit: int
) -> tuple[str, str] | None:
    """Delete `limit` keys from the kind and key `first` on; return the next one, if there are more.

    Those of people stay: they tell the accounts that have come with the import.
    """
    # Ranges of the primary key, each from where the last one ended: a join would get a bad plan for
    # want of statistics, and a search from the start would pass everything that was deleted.
    rows = await connection.tuples(
        """
        SELECT kind, key FROM import_keys
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s AND kind <> 'person'
           AND (kind, key) >= (%(first_kind)s, %(first_key)s)
         ORDER BY kind, key OFFSET %(limit)s LIMIT 1
        """,
        realm_id=realm_id,
        import_id=import_id,
        first_kind=first[0],
        first_key=first[1],
        limit=limit,
    )
    kind, key = rows[0] if rows else (None, None)
    await connection.execute(
        """
        DELETE FROM import_keys
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s AND kind <> 'person'
           AND (kind, key) >= (%(first_kind)s, %(first_key)s)
           AND (%(kind)s::text IS NULL OR (kind, key) < (%(kind)s, %(key)s))
        """,
        realm_id=realm_id,
        import_id=import_id,
        first_kind=first[0],
        first_key=first[1],
        kind=kind,
        key=key,
    )
    return rows[0] if rows else None


# -- a new realm


async def reserve_positions(connection: Connection, realm_id: RealmId, count: int) -> None:
    """Begin the clock of a new realm at `count`: the positions up to there are the import's."""
    await connection.execute(
        """
        UPDATE realm_clock SET position = %(count)s
         WHERE realm_id = %(realm_id)s AND position = 0
        """,
        realm_id=realm_id,
        count=count,
    )
    await connection.execute(
        """
        INSERT INTO shipper_cursors (realm_id, position, epoch)
        SELECT realm_id, position, epoch FROM realm_clock WHERE realm_id = %(realm_id)s
        """,
        realm_id=realm_id,
    )


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
               int8multirange(int8range(1, %(last)s, '[]'))
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
               int8multirange(int8range(%(first)s, %(last)s, '[]'))
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        dm_group_id=dm_group_id,
        first=first,
        last=last,
    )
    return dm_group_id


# -- a batch of messages


async def new_topic_ids(connection: Connection, count: int) -> list[TopicId]:
    """Reserve ids of topics."""
    return await connection.values(
        "SELECT nextval('conversation_ids') FROM generate_series(1, %(count)s)", count=count
    )


async def taken_names(
    connection: Connection,
    realm_id: RealmId,
    names: Sequence[tuple[ChannelId, str]],
    *,
    ignoring: Sequence[TopicId] = (),
) -> set[tuple[ChannelId, str]]:
    """Return those channels and folded names that topics have, except for those to be ignored."""
    rows = await connection.tuples(
        """
        SELECT t.channel_id, t.folded_name
          FROM unnest(%(channel_ids)s::bigint[], %(names)s::text[]) AS n(channel_id, folded_name)
          JOIN topics t ON t.realm_id = %(realm_id)s AND t.channel_id = n.channel_id
               AND t.folded_name = n.folded_name
         WHERE t.topic_id <> ALL (%(ignoring)s::bigint[])
        """,
        realm_id=realm_id,
        ignoring=list(ignoring),
        channel_ids=[channel_id for channel_id, _ in names],
        names=[name for _, name in names],
    )
    return {(channel_id, name) for channel_id, name in rows}


def insert_topics(realm_id: RealmId, topics: Sequence[ImportedTopic]) -> Statement:
    """Insert topics; returns the ids of those whose names were free."""
    return Statement(
        """
        INSERT INTO topics (realm_id, topic_id, channel_id, name, folded_name)
        SELECT %(realm_id)s, t.*
          FROM unnest(%(topic_ids)s::bigint[], %(channel_ids)s::bigint[], %(names)s::text[],
                      %(folded_names)s::text[]) AS t
            ON CONFLICT (realm_id, channel_id, folded_name) DO NOTHING
        RETURNING topic_id
        """,
        {
            "realm_id": realm_id,
            "topic_ids": [each.topic_id for each in topics],
            "channel_ids": [each.channel_id for each in topics],
            "names": [each.name for each in topics],
            "folded_names": [fold_name(each.name) for each in topics],
        },
    )


def rename_topics(realm_id: RealmId, topics: Sequence[ImportedTopic]) -> Statement:
    """Name topics anew, unless they were renamed meanwhile or the name is taken."""
    return Statement(
        """
        UPDATE topics t SET name = n.name, folded_name = n.folded_name
          FROM unnest(%(topic_ids)s::bigint[], %(names)s::text[], %(folded_names)s::text[])
               AS n(topic_id, name, folded_name)
         WHERE t.realm_id = %(realm_id)s AND t.topic_id = n.topic_id AND t.renames IS NULL
           AND NOT EXISTS (
               SELECT FROM topics o
                WHERE o.realm_id = t.realm_id AND o.channel_id = t.channel_id
                  AND o.folded_name = n.folded_name AND o.topic_id <> t.topic_id)
        """,
        {
            "realm_id": realm_id,
            "topic_ids": [each.topic_id for each in topics],
            "names": [each.name for each in topics],
            "folded_names": [fold_name(each.name) for each in topics],
        },
    )


def insert_messages(realm_id: RealmId, messages: Sequence[ImportedMessage]) -> Statement:
    return Statement(
        """
        INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
                              origin_channel_id, origin_conversation_id, sent_at, edited_at,
                              traits, client, content, rendered_content)
        SELECT %(realm_id)s, m.id, m.sender_id, m.channel_id, m.conversation_id, m.channel_id,
               m.conversation_id, m.sent_at, m.edited_at, m.traits, %(client)s, m.content,
               m.rendered_content
          FROM unnest(%(ids)s::bigint[], %(sender_ids)s::bigint[], %(channel_ids)s::bigint[],
                      %(conversation_ids)s::bigint[], %(sent)s::timestamptz[],
                      %(edited)s::timestamptz[], %(traits)s::integer[], %(contents)s::text[],
                      %(rendered)s::text[])
               AS m(id, sender_id, channel_id, conversation_id, sent_at, edited_at, traits,
                    content, rendered_content)
        """,
        {
            "realm_id": realm_id,
            "client": CLIENT,
            "ids": int_array(each.message_id for each in messages),
            "sender_ids": int_array(each.sender_id for each in messages),
            "channel_ids": int_array(each.channel_id for each in messages),
            "conversation_ids": int_array(each.conversation_id for each in messages),
            "sent": moment_array(each.sent_at for each in messages),
            "edited": moment_array(each.edited_at for each in messages),
            "traits": int_array(each.traits for each in messages),
            "contents": text_array(each.content for each in messages),
            "rendered": text_array(each.rendered_content for each in messages),
        },
    )


def insert_reactions(realm_id: RealmId, reactions: Sequence[ImportedReaction]) -> Statement:
    return Statement(
        """
        INSERT INTO reactions (realm_id, message_id, user_id, reaction_type, emoji_code,
                               emoji_name, position)
        SELECT %(realm_id)s, r.message_id, r.user_id, r.reaction_type, r.emoji_code,
               r.emoji_name, r.message_id
          FROM unnest(%(message_ids)s::bigint[], %(user_ids)s::bigint[], %(types)s::text[],
                      %(codes)s::text[], %(names)s::text[])
               AS r(message_id, user_id, reaction_type, emoji_code, emoji_name)
            ON CONFLICT DO NOTHING
        """,
        {
            "realm_id": realm_id,
            "message_ids": int_array(each.message_id for each in reactions),
            "user_ids": int_array(each.user_id for each in reactions),
            "types": text_array(each.reaction_type for each in reactions),
            "codes": text_array(each.emoji_code for each in reactions),
            "names": text_array(each.emoji_name for each in reactions),
        },
    )


def insert_flags(realm_id: RealmId, flags: Mapping[tuple[MessageId, UserId], int]) -> Statement:
    """Give messages these flags, for readers who received them.

    Stars of others stay if the channel's history is open to them.
    """
    return Statement(
        """
        INSERT INTO message_flags (realm_id, user_id, message_id, flags)
        SELECT %(realm_id)s, f.user_id, f.message_id,
               CASE WHEN r.received THEN f.bits ELSE {STARRED | HISTORICAL} END
          FROM unnest(%(message_ids)s::bigint[], %(user_ids)s::bigint[], %(bits)s::integer[])
               AS f(message_id, user_id, bits)
          JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = f.message_id
         CROSS JOIN LATERAL (
                SELECT EXISTS (SELECT FROM subscriptions s
                                WHERE s.realm_id = %(realm_id)s AND s.user_id = f.user_id
                                  AND s.channel_id = m.channel_id AND s.spans @> m.id)
                    OR EXISTS (SELECT FROM dm_group_members d
                                WHERE d.realm_id = %(realm_id)s AND d.user_id = f.user_id
                                  AND d.dm_group_id = m.conversation_id) AS received
               ) r
         WHERE r.received
            OR f.bits & {STARRED} <> 0
               AND EXISTS (SELECT FROM channels c, users u
                            WHERE c.realm_id = %(realm_id)s AND c.channel_id = m.channel_id
                              AND u.realm_id = %(realm_id)s AND u.user_id = f.user_id
                              AND NOT c.invite_only
                              AND (c.is_web_public OR u.role < 600))
        """,
        {
            "realm_id": realm_id,
            "message_ids": int_array(message_id for message_id, _ in flags),
            "user_ids": int_array(user_id for _, user_id in flags),
            "bits": int_array(flags.values()),
        },
    )


def insert_attachment_messages(
    realm_id: RealmId, pairs: Sequence[tuple[MessageId, int]]
) -> Statement:
    """Let new messages hold these attachments."""
    return Statement(
        """
        INSERT INTO attachment_messages (realm_id, message_id, attachment_id)
        SELECT %(realm_id)s, h.message_id, h.attachment_id
          FROM unnest(%(message_ids)s::bigint[], %(attachment_ids)s::bigint[])
               AS h(message_id, attachment_id)
            ON CONFLICT DO NOTHING
        """,
        {
            "realm_id": realm_id,
            "message_ids": [message_id for message_id, _ in pairs],
            "attachment_ids": [attachment_id for _, attachment_id in pairs],
        },
    )


# -- afterwards


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


@dataclass(frozen=True, slots=True)
class LinkedMessage:
    """What is needed for a link to a message."""

    message_id: MessageId
    channel_id: ChannelId | None
    topic: str | None
    user_ids: list[UserId] | None
    """Of a direct conversation."""


async def linked_messages(
    connection: Connection, realm_id: RealmId, message_ids: Sequence[MessageId]
) -> list[LinkedMessage]:
    return await connection.many(
        LinkedMessage,
        """
        SELECT m.id AS message_id, m.channel_id, t.name AS topic, g.user_ids
          FROM messages m
          LEFT JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = m.conversation_id
          LEFT JOIN dm_groups g ON g.realm_id = %(realm_id)s AND g.dm_group_id = m.conversation_id
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
    )


async def contents(
    connection: Connection, realm_id: RealmId, message_ids: Sequence[MessageId]
) -> dict[MessageId, str]:
    """Return the texts of those messages that have not been edited or deleted here."""
    rows = await connection.tuples(
        """
        SELECT id, content FROM messages
         WHERE realm_id = %(realm_id)s AND id = ANY(%(message_ids)s::bigint[])
           AND edit_history IS NULL
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
    )
    return dict(rows)


def update_contents(
    realm_id: RealmId, contents: Mapping[MessageId, tuple[str, str, str]]
) -> Statement:
    """Replace texts, given the old text, the new one and its HTML; the edited are left alone."""
    return Statement(
        """
        UPDATE messages m SET content = c.content, rendered_content = c.rendered
          FROM unnest(%(ids)s::bigint[], %(old)s::text[], %(contents)s::text[],
                      %(rendered)s::text[]) AS c(id, old, content, rendered)
         WHERE m.realm_id = %(realm_id)s AND m.id = c.id AND m.content = c.old
        """,
        {
            "realm_id": realm_id,
            "ids": list(contents),
            "old": [old for old, _, _ in contents.values()],
            "contents": [content for _, content, _ in contents.values()],
            "rendered": [rendered for _, _, rendered in contents.values()],
        },
    )


def index_again(realm_id: RealmId, after: Position) -> Statement:
    """Let the search index begin again after this position, if it is past it: it skips what it has.

    The last statement of a transaction that inserts messages there: the index waits for its end.
    """
    return Statement(
        """
        UPDATE search_progress SET indexed = %(after)s
         WHERE realm_id = %(realm_id)s AND indexed > %(after)s
        """,
        {"realm_id": realm_id, "after": after},
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
