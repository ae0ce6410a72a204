"""Delete a user's messages and data from the database, one bounded step at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, LiteralString

from storage.address_folding import fold_address
from storage.database import Connection, Statement
from storage.ids import MessageId, Position, RealmId, UserId
from storage.name_folding import fold_name
from storage.reactions import ReactionRow

OWNED_TABLES: Final[Mapping[LiteralString, LiteralString]] = {
    "account_exports": "user_id",
    "alert_words": "user_id",
    "api_keys": "user_id",
    "bot_storage": "user_id",
    "button_clicks": "user_id",
    "call_tokens": "user_id",
    "channel_read": "user_id",
    "command_calls": "caller_id",
    "compliance_officers": "user_id",
    "confirmations": "user_id",
    "conversation_read": "user_id",
    "digests": "user_id",
    "drafts": "user_id",
    "directory_ids": "user_id",
    "email_batches": "user_id",
    "event_queues": "user_id",
    "idempotency_keys": "user_id",
    "invitations": "inviter_id",
    "message_flags": "user_id",
    "muted_users": "user_id",
    "navigation_views": "user_id",
    "notifications": "user_id",
    "onboarding_steps": "user_id",
    "presences": "user_id",
    "profile_values": "user_id",
    "push_devices": "user_id",
    "recovery_codes": "user_id",
    "reaction_notifications": "user_id",
    "reminders": "user_id",
    "resumable_uploads": "owner_id",
    "saved_snippets": "user_id",
    "scheduled_messages": "sender_id",
    "scim_accounts": "user_id",
    "second_factor_deadlines": "user_id",
    "second_factors": "user_id",
    "sessions": "user_id",
    "submessages": "sender_id",
    "undeliverable_addresses": "user_id",
    "unread_notices": "user_id",
    "user_activity": "user_id",
    "user_statuses": "user_id",
    "user_topics": "user_id",
}
"""Tables with rows that belong to one user, and the column that names the user."""

RETAINED_TABLES: Final = {
    "attachments": "go one by one, with their content",
    "bot_services": "are those of bots, which are closed with their owner",
    "bot_defaults": "are those of bots, which are closed with their owner",
    "webhook_deliveries": "are those of bots, which are closed with their owner",
    "slash_commands": "are those of bots, which are closed with their owner",
    "integration_messages": "are those of bots, which are closed with their owner",
    "channel_folders": "name the creator of shared things: by then, a number without a name",
    "channels": "name the creator of shared things: by then, a number without a name",
    "dm_group_members": "say who the others have written to: by then, a number without a name",
    "expired_messages": "go with the last step, unless a legal hold has come meanwhile",
    "compliance_cases": "say who has searched, for what reason: by then, a number without a name",
    "legal_holds": "say what must be kept: erasing waits for their release",
    "group_members": "say what the number may do when it is opened again",
    "messages": "are deleted by conversation, with events to all who saw them",
    "reactions": "are deleted by conversation, with events to all who saw them",
    "import_requests": "say who has asked, and go within 30 days: by then, a number without a name",
    "realm_exports": "say who has asked for a file, which goes: by then, a number without a name",
    "scim_tokens": "name the creator of shared things: by then, a number without a name",
    "realm_emoji": "name the creator of shared things: by then, a number without a name",
    "subscriptions": "say which channels the number was in, for what others have read there",
    "user_groups": "name the creator of shared things: by then, a number without a name",
    "users": "keeps the number, without anything that identifies the person",
    "webhook_calls": "are of bots and messages, by number, and go within eight days",
    "audit_log": "loses what it says of the person, and keeps what was done to the organization",
}
"""Other tables that name users, and what becomes of their rows."""


Place = Literal["public channel", "private channel", "direct"]
"""Where a message is."""


@dataclass(frozen=True, slots=True)
class ConversationMessages:
    """Messages of one conversation that a user has sent, or reacted to."""

    channel_id: int | None
    conversation_id: int
    message_ids: list[MessageId]


async def some_messages(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, limit: int
) -> ConversationMessages | None:
    """Return the user's oldest messages in one conversation; None if there are none."""
    return await connection.one(
        ConversationMessages,
        """
        SELECT m.channel_id, m.conversation_id, array_agg(m.id ORDER BY m.id) AS message_ids
          FROM (SELECT id, channel_id, conversation_id FROM messages
                 WHERE realm_id = %(realm_id)s AND sender_id = %(user_id)s
                 ORDER BY id LIMIT %(limit)s) m
         GROUP BY 1, 2 ORDER BY count(*) DESC, 2 LIMIT 1
        """,
        realm_id=realm_id,
        user_id=user_id,
        limit=limit,
    )


async def some_of_departed(
    connection: Connection,
    realm_id: RealmId,
    user_ids: Sequence[UserId],
    places: Sequence[Place],
    *,
    since: MessageId,
    limit: int,
) -> ConversationMessages | None:
    """Return messages of these users in such places: some of the conversation of the oldest.

    `since` is an id below which there are none: a step need not pass over what stays again.
    """
    return await connection.one(
        ConversationMessages,
        """
        WITH found AS (
            SELECT m.id, m.channel_id, m.conversation_id
              FROM unnest(%(user_ids)s::bigint[]) AS u (user_id)
             CROSS JOIN LATERAL (
                   SELECT m.id, m.channel_id, m.conversation_id FROM messages m
                    WHERE m.realm_id = %(realm_id)s AND m.sender_id = u.user_id
                      AND m.id >= %(since)s
                      AND CASE WHEN m.channel_id IS NULL THEN 'direct'
                               WHEN (SELECT c.invite_only FROM channels c
                                      WHERE c.realm_id = m.realm_id
                                        AND c.channel_id = m.channel_id) THEN 'private channel'
                               ELSE 'public channel' END = ANY(%(places)s::text[])
                    ORDER BY m.id LIMIT %(limit)s) m
             ORDER BY m.id LIMIT %(limit)s)
        SELECT m.channel_id, m.conversation_id, array_agg(m.id ORDER BY m.id) AS message_ids
          FROM found m
         WHERE m.conversation_id = (SELECT conversation_id FROM found ORDER BY id LIMIT 1)
         GROUP BY 1, 2 ORDER BY min(m.id) LIMIT 1
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        places=list(places),
        since=since,
        limit=limit,
    )


async def some_from_the_system(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, limit: int
) -> ConversationMessages | None:
    """Return messages of system bots to the user alone, in one conversation: they name the user."""
    return await connection.one(
        ConversationMessages,
        """
        SELECT m.channel_id, m.conversation_id, array_agg(m.id ORDER BY m.id) AS message_ids
          FROM (SELECT m.id, m.channel_id, m.conversation_id
                  FROM dm_group_members d
                  JOIN dm_groups g ON g.realm_id = d.realm_id AND g.dm_group_id = d.dm_group_id
                  JOIN messages m ON m.realm_id = g.realm_id AND m.conversation_id = g.dm_group_id
                 WHERE d.realm_id = %(realm_id)s AND d.user_id = %(user_id)s
                   AND NOT EXISTS (SELECT FROM users o
                                    WHERE o.realm_id = g.realm_id AND o.user_id = ANY(g.user_ids)
                                      AND o.user_id <> d.user_id AND NOT o.is_system_bot)
                 LIMIT %(limit)s) m
         GROUP BY 1, 2 ORDER BY count(*) DESC, 2 LIMIT 1
        """,
        realm_id=realm_id,
        user_id=user_id,
        limit=limit,
    )


async def some_naming(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, limit: int
) -> ConversationMessages | None:
    """Return messages of system bots to others that name the user, in one conversation."""
    return await connection.one(
        ConversationMessages,
        """
        SELECT m.channel_id, m.conversation_id, array_agg(m.id ORDER BY m.id) AS message_ids
          FROM (SELECT m.id, m.channel_id, m.conversation_id
                  FROM users b
                  JOIN messages m ON m.realm_id = b.realm_id AND m.sender_id = b.user_id
                 WHERE b.realm_id = %(realm_id)s AND b.is_system_bot
                   AND position(%(named)s IN m.content) > 0
                 LIMIT %(limit)s) m
         GROUP BY 1, 2 ORDER BY count(*) DESC, 2 LIMIT 1
        """,
        realm_id=realm_id,
        named=f"|{user_id}**",
        limit=limit,
    )


async def some_reacted(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, limit: int
) -> ConversationMessages | None:
    """Return messages of others in one conversation to which the user has reacted."""
    return await connection.one(
        ConversationMessages,
        """
        SELECT m.channel_id, m.conversation_id, array_agg(DISTINCT m.id) AS message_ids
          FROM (SELECT message_id FROM reactions
                 WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s LIMIT %(limit)s) r
          JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = r.message_id
         GROUP BY 1, 2 ORDER BY count(*) DESC, 2 LIMIT 1
        """,
        realm_id=realm_id,
        user_id=user_id,
        limit=limit,
    )


async def reactions_to(
    connection: Connection, realm_id: RealmId, user_id: UserId, message_ids: Sequence[MessageId]
) -> list[ReactionRow]:
    """Return the user's reactions to these messages."""
    return await connection.many(
        ReactionRow,
        """
        SELECT message_id, user_id, reaction_type, emoji_code, emoji_name FROM reactions
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND message_id = ANY(%(message_ids)s::bigint[])
         ORDER BY message_id, position
        """,
        realm_id=realm_id,
        user_id=user_id,
        message_ids=list(message_ids),
    )


async def some_files(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, limit: int
) -> list[int]:
    """Return ids of files that the user uploaded."""
    return await connection.values(
        """
        SELECT attachment_id FROM attachments
         WHERE realm_id = %(realm_id)s AND owner_id = %(user_id)s
         ORDER BY attachment_id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        limit=limit,
    )


async def tables_left(
    connection: Connection, realm_id: RealmId, user_id: UserId
) -> list[LiteralString]:
    """Return the tables of `OWNED_TABLES` that still have rows of the user."""
    queries: list[LiteralString] = [
        f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table}"  # noqa: S608 - names from above
        f" WHERE realm_id = %(realm_id)s AND {column} = %(user_id)s)"
        for table, column in OWNED_TABLES.items()
    ]
    return await connection.values(" UNION ALL ".join(queries), realm_id=realm_id, user_id=user_id)


def delete_own(
    realm_id: RealmId, user_id: UserId, table: LiteralString, *, limit: int
) -> Statement:
    """Under the clock's lock: delete up to `limit` of the user's rows in this table."""
    return Statement(
        f"""
        DELETE FROM {table} WHERE realm_id = %(realm_id)s AND ctid = ANY(ARRAY(
            SELECT ctid FROM {table}
             WHERE realm_id = %(realm_id)s AND {OWNED_TABLES[table]} = %(user_id)s LIMIT %(limit)s))
        """,  # noqa: S608 - names from above
        {"realm_id": realm_id, "user_id": user_id, "limit": limit},
    )


@dataclass(frozen=True, slots=True)
class LogRange:
    """A range of the log, searched for entries of one user."""

    last: Position
    own: list[Position]
    """Entries that only the user could receive."""
    about: list[Position]
    """Entries that inform others about the user, or hold one of the words."""
    farewell: Position | None
    """Position of the entry that publishes that the account has lost its name."""


async def search_log(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    words: Sequence[str],
    farewell: str,
    since: Position,
    after: Position,
    limit: int,
) -> LogRange | None:
    """Return the next entries; None at the end of the log.

    The name `farewell` may have been the account's before, of its own choice or because its profile
    was deleted earlier: it counts after the position `since`. Jobs are skipped: they name users by
    number.
    """
    return await connection.one(
        LogRange,
        """
        SELECT max(s.position) AS last, min(s.position) FILTER (WHERE s.is_farewell) AS farewell,
               coalesce(array_agg(s.position) FILTER (WHERE s.is_own), '{}') AS own,
               coalesce(array_agg(s.position) FILTER (WHERE s.is_about), '{}') AS about
          FROM (SELECT l.position,
                       l.kind = 'realm_user/update' AND l.position > %(since)s
                       AND position(convert_to(%(farewell)s, 'UTF8') IN l.body) > 0 AS is_farewell,
                       l.body IS NOT NULL
                       AND nullif(convert_from(l.audience, 'UTF8'), '')::jsonb
                           = jsonb_build_object('users', jsonb_build_array(%(user_id)s::bigint))
                       AS is_own,
                       l.body IS NOT NULL AND l.kind <> 'job' AND (
                       l.kind ~ '^(realm_user|realm_bot|user_status|reaction)'
                          AND convert_from(l.body, 'UTF8')::jsonb
                              @? ('$.**.user_id ? (@ == ' || %(user_id)s || ')')::jsonpath
                       OR EXISTS (SELECT FROM unnest(%(words)s::text[]) AS w
                                   WHERE position(convert_to(w, 'UTF8') IN l.body) > 0)) AS is_about
                  FROM (SELECT * FROM event_log l
                         WHERE l.realm_id = %(realm_id)s AND l.position > %(after)s
                         ORDER BY l.position LIMIT %(limit)s) l) s
        HAVING count(*) > 0
        """,
        realm_id=realm_id,
        user_id=user_id,
        words=list(words),
        farewell=farewell,
        since=since,
        after=after,
        limit=limit,
    )


async def forget_person(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, email: str, full_name: str
) -> None:
    """Remove the personal data of the account's row, which the caller has locked."""
    await connection.execute(
        """
        UPDATE users
           SET email = %(email)s, folded_email = %(folded_email)s, full_name = %(full_name)s,
               folded_name = %(folded_name)s, password_hash = NULL,
               avatar_key = NULL, avatar_version = avatar_version + 1, timezone = '',
               settings = '{}', email_confirmed = true, stub = NULL, is_deleted = NOT is_active
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        email=email,
        folded_email=fold_address(email),
        full_name=full_name,
        folded_name=fold_name(full_name),
    )


async def forget_profile(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, full_name: str
) -> None:
    """Remove name, picture and time zone from the account's row, which the caller has locked.

    The account is a deleted one until it is reactivated.
    """
    await connection.execute(
        """
        UPDATE users
           SET full_name = %(full_name)s, folded_name = %(folded_name)s, timezone = '',
               avatar_key = NULL, avatar_version = avatar_version + 1, is_deleted = NOT is_active
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        full_name=full_name,
        folded_name=fold_name(full_name),
    )


async def forget_record(connection: Connection, realm_id: RealmId, user_id: UserId) -> None:
    """Remove the user's personal data from the audit log and from the archive.

    What a legal hold covers stays in the archive.
    """
    await connection.execute(
        """
        UPDATE audit_log SET before = '{}', after = '{}'
         WHERE realm_id = %(realm_id)s AND (before <> '{}' OR after <> '{}')
           AND (actor_id = %(user_id)s AND coalesce(subject_id, %(user_id)s) = %(user_id)s
                AND action ~ '^(user|profile_data|navigation_view|onboarding|alert|api_key)'
                OR subject_id = %(user_id)s AND action ~ '^(user|profile_data|bot|api_key)_')
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
    await connection.execute(
        """
        DELETE FROM expired_messages e
         WHERE e.realm_id = %(realm_id)s AND (e.message ->> 'sender_id')::bigint = %(user_id)s
           AND NOT is_held_in_archive(e)
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
