"""What an export of a user's own data contains: one query for each file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, LiteralString


@dataclass(frozen=True, slots=True)
class AccountSection:
    """A file of JSON lines, with the rows of a query about one user."""

    name: str
    about: str
    """What it contains, for the manifest."""
    tables: tuple[str, ...]
    """The tables with rows of the user that it shows."""
    query: LiteralString


PLACE: Final[LiteralString] = """
    m.channel_id,
    CASE WHEN reads.here THEN c.name END AS channel,
    CASE WHEN reads.here THEN t.name END AS topic,
    CASE WHEN m.channel_id IS NULL THEN d.user_ids END AS user_ids"""
"""Where a message is; names of channels that the user may not read now are left out."""
FROM_PLACE: Final[LiteralString] = """
      LEFT JOIN channels c ON c.realm_id = m.realm_id AND c.channel_id = m.channel_id
      LEFT JOIN topics t ON t.realm_id = m.realm_id AND t.topic_id = m.conversation_id
           AND m.channel_id IS NOT NULL
      LEFT JOIN dm_groups d ON d.realm_id = m.realm_id AND d.dm_group_id = m.conversation_id
           AND m.channel_id IS NULL
      LEFT JOIN subscriptions s ON s.realm_id = m.realm_id AND s.user_id = %(user_id)s::bigint
           AND s.channel_id = m.channel_id
     CROSS JOIN (SELECT u.role FROM users u
                  WHERE u.realm_id = %(realm_id)s::bigint AND u.user_id = %(user_id)s::bigint) own
     CROSS JOIN LATERAL (
           SELECT c.channel_id IS NOT NULL
              AND channel_access(%(user_id)s::bigint, own.role, s.active, c) > 0) AS reads(here)"""


def _own(table: LiteralString, columns: LiteralString, order: LiteralString) -> LiteralString:
    """Return the query of the user's rows of a table."""
    return (
        f"SELECT {columns} FROM {table}"  # noqa: S608 - names from below
        f" WHERE realm_id = %(realm_id)s::bigint AND user_id = %(user_id)s::bigint ORDER BY {order}"
    )


_ACCOUNT: Final = (
    AccountSection(
        "profile",
        "the account",
        ("users",),
        _own(
            "users",
            "user_id, email, email_confirmed, full_name, role, is_active, date_joined, timezone,"
            " avatar_key IS NOT NULL AS has_picture",
            "user_id",
        ),
    ),
    AccountSection(
        "profile_fields",
        "answers to the organization's profile fields",
        ("profile_values",),
        """
        SELECT f.name, v.value FROM profile_values v
          JOIN profile_fields f ON f.realm_id = v.realm_id AND f.field_id = v.field_id
         WHERE v.realm_id = %(realm_id)s::bigint AND v.user_id = %(user_id)s::bigint
         ORDER BY f.sort_order
        """,
    ),
    AccountSection(
        "status",
        "the status",
        ("user_statuses",),
        _own("user_statuses", "status_text, emoji_name, emoji_code, reaction_type", "1"),
    ),
    AccountSection(
        "settings",
        "personal settings that differ from the defaults",
        (),
        """
        SELECT e.key AS name, e.value FROM users u CROSS JOIN jsonb_each(u.settings) e
         WHERE u.realm_id = %(realm_id)s::bigint AND u.user_id = %(user_id)s::bigint ORDER BY e.key
        """,
    ),
    AccountSection(
        "groups",
        "user groups that the account is in",
        ("group_members",),
        """
        SELECT g.group_id, g.name FROM group_members m
          JOIN user_groups g ON g.realm_id = m.realm_id AND g.group_id = m.group_id
         WHERE m.realm_id = %(realm_id)s::bigint AND m.user_id = %(user_id)s::bigint
         ORDER BY g.group_id
        """,
    ),
    AccountSection(
        "subscriptions",
        "channels, present and former, with their personal settings",
        ("subscriptions",),
        """
        SELECT s.channel_id,
               CASE WHEN channel_access(s.user_id, u.role, s.active, c) > 0 THEN c.name END
               AS channel,
               s.active AS is_subscribed, s.color, s.is_muted, s.pin_to_top,
               s.desktop_notifications, s.audible_notifications, s.push_notifications,
               s.email_notifications, s.wildcard_mentions_notify
          FROM subscriptions s
          JOIN users u ON u.realm_id = s.realm_id AND u.user_id = s.user_id
          JOIN channels c ON c.realm_id = s.realm_id AND c.channel_id = s.channel_id
         WHERE s.realm_id = %(realm_id)s::bigint AND s.user_id = %(user_id)s::bigint
         ORDER BY s.channel_id
        """,
    ),
    AccountSection(
        "bots",
        "bots of the account",
        (),
        """
        SELECT user_id, full_name, email, bot_type, is_active FROM users
         WHERE realm_id = %(realm_id)s::bigint AND bot_owner_id = %(user_id)s::bigint
         ORDER BY user_id
        """,
    ),
)

_WRITTEN: Final = (
    AccountSection(
        "sent_messages",
        "messages that the account has sent, with their former texts",
        ("messages",),
        f"""
        SELECT m.id, m.sent_at, m.edited_at, {PLACE}, m.content,
               (SELECT jsonb_agg(jsonb_build_object(
                           'content', e -> 'prev_content', 'until', e -> 'timestamp'))
                  FROM jsonb_array_elements(m.edit_history) e
                 WHERE e ? 'prev_content') AS former_contents
          FROM messages m {FROM_PLACE}
         WHERE m.realm_id = %(realm_id)s::bigint AND m.sender_id = %(user_id)s::bigint
         ORDER BY m.id
        """,  # noqa: S608 - fragments from above
    ),
    AccountSection(
        "direct_messages",
        "messages of others in the account's direct conversations",
        ("dm_group_members",),
        """
        SELECT m.id, m.sent_at, m.edited_at, m.sender_id, u.full_name AS sender, d.user_ids,
               m.content
          FROM dm_group_members g
          JOIN dm_groups d ON d.realm_id = g.realm_id AND d.dm_group_id = g.dm_group_id
          JOIN messages m ON m.realm_id = g.realm_id AND m.conversation_id = g.dm_group_id
               AND m.channel_id IS NULL AND m.sender_id <> g.user_id
          JOIN users u ON u.realm_id = m.realm_id AND u.user_id = m.sender_id
         WHERE g.realm_id = %(realm_id)s::bigint AND g.user_id = %(user_id)s::bigint
         ORDER BY m.id
        """,
    ),
    AccountSection(
        "reactions",
        "reactions to messages",
        ("reactions",),
        _own("reactions", "message_id, emoji_name, emoji_code, reaction_type", "position"),
    ),
    AccountSection(
        "votes",
        "answers to polls and to-do lists",
        ("submessages",),
        """
        SELECT message_id, msg_type, content FROM submessages
         WHERE realm_id = %(realm_id)s::bigint AND sender_id = %(user_id)s::bigint ORDER BY id
        """,
    ),
    AccountSection(
        "starred_messages",
        "messages with a star",
        ("message_flags",),
        f"""
        SELECT m.id, m.sent_at, {PLACE}
          FROM message_flags f
          JOIN messages m ON m.realm_id = f.realm_id AND m.id = f.message_id {FROM_PLACE}
         WHERE f.realm_id = %(realm_id)s::bigint AND f.user_id = %(user_id)s::bigint
           AND f.flags & %(starred)s::integer <> 0
         ORDER BY m.id
        """,  # noqa: S608 - fragments from above
    ),
    AccountSection(
        "drafts",
        "drafts",
        ("drafts",),
        _own("drafts", "draft_id, type, to_ids, topic, content, edited_at", "draft_id"),
    ),
    AccountSection(
        "scheduled_messages",
        "messages that are scheduled",
        ("scheduled_messages",),
        """
        SELECT scheduled_message_id, channel_id, topic, user_ids, content, due_at
          FROM scheduled_messages
         WHERE realm_id = %(realm_id)s::bigint AND sender_id = %(user_id)s::bigint
         ORDER BY scheduled_message_id
        """,
    ),
    AccountSection(
        "saved_snippets",
        "saved snippets",
        ("saved_snippets",),
        _own("saved_snippets", "saved_snippet_id, title, content, created_at", "1"),
    ),
    AccountSection(
        "reminders",
        "reminders",
        ("reminders",),
        _own("reminders", "reminder_id, message_id, note, content, due_at", "1"),
    ),
    AccountSection(
        "attachments",
        "uploaded files; each is in the folder `files`, by `attachment_id`",
        ("attachments",),
        """
        SELECT attachment_id, name, content_type, size, created_at, path_id FROM attachments
         WHERE realm_id = %(realm_id)s::bigint AND owner_id = %(user_id)s::bigint
         ORDER BY attachment_id
        """,
    ),
)

_CHOICES: Final = (
    AccountSection(
        "alert_words", "alert words", ("alert_words",), _own("alert_words", "word", "word")
    ),
    AccountSection(
        "muted_users",
        "muted users",
        ("muted_users",),
        _own("muted_users", "muted_user_id, muted_at", "1"),
    ),
    AccountSection(
        "topics",
        "topics that are muted, unmuted or followed (1, 2, 3)",
        ("user_topics",),
        """
        SELECT t.channel_id, ut.topic_id, ut.visibility_policy, ut.last_updated FROM user_topics ut
          JOIN topics t ON t.realm_id = ut.realm_id AND t.topic_id = ut.topic_id
         WHERE ut.realm_id = %(realm_id)s::bigint AND ut.user_id = %(user_id)s::bigint
         ORDER BY ut.topic_id
        """,
    ),
    AccountSection(
        "navigation_views",
        "views in the sidebar",
        ("navigation_views",),
        _own("navigation_views", "fragment, is_pinned, name", "view_id"),
    ),
    AccountSection(
        "onboarding_steps",
        "introductions that have been shown",
        ("onboarding_steps",),
        _own("onboarding_steps", "step", "step"),
    ),
)

_USE: Final = (
    AccountSection(
        "sessions",
        "browsers that are signed in",
        ("sessions",),
        _own("sessions", "user_agent, began_at, ends_at", "began_at"),
    ),
    AccountSection(
        "api_keys",
        "named API keys, without the keys",
        ("api_keys",),
        _own("api_keys", "name, scopes, created_at, expires_at, last_used_at", "key_id"),
    ),
    AccountSection(
        "second_factors",
        "second factors, without their secrets",
        ("second_factors",),
        _own("second_factors", "kind, name, created_at, last_used_at", "factor_id"),
    ),
    AccountSection(
        "devices",
        "phones and browsers that get push notifications",
        ("push_devices",),
        _own("push_devices", "kind, app_id, user_agent, created_at", "device_id"),
    ),
    AccountSection(
        "activity",
        "which programs have used the account, and when",
        ("user_activity",),
        _own("user_activity", "client, what, count, last_at", "last_at"),
    ),
    AccountSection(
        "presence",
        "when the account was last seen",
        ("presences",),
        _own("presences", "active_at, seen_at", "1"),
    ),
    AccountSection(
        "invitations",
        "invitations that the account has sent",
        ("invitations",),
        """
        SELECT email, role, invited_at, ends_at, state FROM invitations
         WHERE realm_id = %(realm_id)s::bigint AND inviter_id = %(user_id)s::bigint
         ORDER BY invitation_id
        """,
    ),
    AccountSection(
        "directory",
        "what the organization's directory says of the account",
        ("scim_accounts", "directory_ids"),
        """
        SELECT 'scim' AS source, user_name, external_id, attributes FROM scim_accounts
         WHERE realm_id = %(realm_id)s::bigint AND user_id = %(user_id)s::bigint
        UNION ALL
        SELECT 'ldap', NULL, directory_id, NULL FROM directory_ids
         WHERE realm_id = %(realm_id)s::bigint AND user_id = %(user_id)s::bigint
        """,
    ),
    AccountSection(
        "undeliverable_addresses",
        "addresses of the account that refused emails",
        ("undeliverable_addresses",),
        _own("undeliverable_addresses", "address, times, reason, refused_at", "refused_at"),
    ),
    AccountSection(
        "audit_log",
        "entries of the audit log about the account",
        ("audit_log",),
        """
        SELECT happened_at, actor_id, action, before, after FROM audit_log
         WHERE realm_id = %(realm_id)s::bigint AND subject_id = %(user_id)s::bigint
           AND action ~ %(about_users)s::text
         ORDER BY audit_id
        """,
    ),
)

SECTIONS: Final = (*_ACCOUNT, *_WRITTEN, *_CHOICES, *_USE)

LEFT_OUT: Final[Mapping[str, str]] = {
    "account_exports": "are the exports themselves",
    "bot_storage": "is of bots",
    "button_clicks": "wait for answers for minutes",
    "call_tokens": "admit to other services: secrets",
    "compliance_officers": "say who may search, as the audit log does",
    "channel_read": "say how far the user has read",
    "command_calls": "wait for answers for minutes",
    "confirmations": "are links in emails: secrets",
    "conversation_read": "say how far the user has read",
    "digests": "say on which days there was a digest",
    "email_batches": "are emails of this moment",
    "event_queues": "say where clients stand",
    "idempotency_keys": "repeat answers for a day",
    "notifications": "are emails and pushes of this moment",
    "reaction_notifications": "collect reactions for minutes",
    "recovery_codes": "are secrets",
    "resumable_uploads": "are files that are still coming in",
    "second_factor_deadlines": "follow from a setting of the organization",
    "unread_notices": "say how far the user has read",
}
"""Tables with rows of one user that the export does not show, and why."""
