"""Which tables an export contains, and which not and why: lists every table with a realm."""

from dataclasses import dataclass
from typing import Final, LiteralString

HERE: Final[LiteralString] = "t.user_id = ANY(%(people)s::bigint[])"
READABLE: Final[LiteralString] = """
    (m.channel_id = ANY(%(channels)s::bigint[])
     OR m.channel_id = ANY(%(protected)s::bigint[]) AND EXISTS (
            SELECT FROM subscriptions s
             WHERE s.realm_id = m.realm_id AND s.user_id = ANY(%(people)s::bigint[])
               AND s.channel_id IN (m.origin_channel_id, m.channel_id) AND was_given(s, m))
     OR m.channel_id IS NULL AND EXISTS (
            SELECT FROM dm_groups d
             WHERE d.realm_id = m.realm_id AND d.dm_group_id = m.conversation_id
               AND d.user_ids && %(people)s::bigint[]))"""
"""Messages `m` that every member may read, or that a consenting user may read."""
ABOUT_READABLE: Final[LiteralString] = f"""
    EXISTS (SELECT FROM messages m
             WHERE m.realm_id = t.realm_id AND m.id = t.message_id AND {READABLE})"""
NOTHING: Final[LiteralString] = "false"
KNOWN_EMAIL: Final[LiteralString] = """
    CASE WHEN t.user_id = ANY(%(people)s::bigint[])
           OR coalesce((t.settings ->> 'email_address_visibility')::int, 1) <> 4
         THEN t.email ELSE 'user' || t.user_id || '@hidden.invalid' END"""
"""The email address, unless not even administrators may know it."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A table that exports contain."""

    name: str
    limited: LiteralString | None = None
    """Which rows `t` a partial export contains; None: all."""
    secrets: tuple[str, ...] = ()
    """Columns that are NULL in an export without secrets."""
    is_secret: bool = False
    """Whether an export without secrets omits the table."""
    withheld: tuple[tuple[str, LiteralString], ...] = ()
    """Expressions that replace columns in a partial export."""
    imported: tuple[tuple[str, str | bool | None], ...] = ()
    """Values that columns have after an import, whatever the export holds."""


EXPORTED: Final = (
    Exported("realms"),
    Exported(
        "users",
        secrets=("api_key", "password_hash", "webhook_secret"),
        withheld=(
            ("email", KNOWN_EMAIL),
            (
                "settings",
                "CASE WHEN t.user_id = ANY(%(people)s::bigint[]) THEN t.settings ELSE '{}' END",
            ),
        ),
    ),
    Exported("user_groups"),
    Exported("group_members"),
    Exported("group_subgroups"),
    Exported("profile_fields"),
    Exported("profile_values"),
    Exported("user_statuses"),
    Exported("api_keys", NOTHING, is_secret=True),
    Exported("linkifiers"),
    Exported("playgrounds"),
    Exported("realm_domains"),
    Exported("realm_emoji"),
    Exported("channel_folders"),
    Exported(
        "channels",
        "t.channel_id = ANY(%(channels)s::bigint[]) OR t.channel_id = ANY(%(protected)s::bigint[])",
    ),
    Exported(
        "topics",
        "t.channel_id = ANY(%(channels)s::bigint[]) OR EXISTS ("
        "    SELECT FROM messages m WHERE m.realm_id = t.realm_id"
        f"      AND m.conversation_id = t.topic_id AND {READABLE})",
    ),
    Exported("default_channel_groups"),
    Exported("dm_groups", "t.user_ids && %(people)s::bigint[]"),
    Exported(
        "dm_group_members",
        "EXISTS (SELECT FROM dm_groups d WHERE d.realm_id = t.realm_id"
        "           AND d.dm_group_id = t.dm_group_id AND d.user_ids && %(people)s::bigint[])",
    ),
    Exported("subscriptions", HERE),
    Exported("messages", READABLE.replace("m.", "t.").replace("(s, m)", "(s, t)")),
    Exported("reactions", ABOUT_READABLE),
    Exported("submessages", ABOUT_READABLE),
    Exported("attachment_messages", ABOUT_READABLE),
    Exported(
        "attachments",
        "t.owner_id = ANY(%(people)s::bigint[]) OR EXISTS ("
        "    SELECT FROM attachment_messages h"
        "      JOIN messages m ON m.realm_id = h.realm_id AND m.id = h.message_id"
        f"    WHERE h.realm_id = t.realm_id AND h.attachment_id = t.attachment_id AND {READABLE})",
    ),
    Exported("upload_space"),
    Exported("message_flags", HERE),
    Exported("channel_read", HERE),
    Exported("conversation_read", HERE),
    Exported("user_topics", HERE),
    Exported("muted_users", HERE),
    Exported("unread_notices", HERE),
    Exported("alert_words", HERE),
    Exported("navigation_views", HERE),
    Exported("onboarding_steps", HERE),
    Exported("drafts", HERE),
    Exported("saved_snippets", HERE),
    Exported("scheduled_messages", "t.sender_id = ANY(%(people)s::bigint[])"),
    Exported("reminders", HERE),
    Exported("presences", HERE),
    Exported("presence_clocks"),
    Exported("imported_ranges"),
    Exported("user_activity", HERE),
    Exported("undeliverable_addresses", HERE),
    Exported("bot_storage", HERE),
    Exported("bot_services", NOTHING, secrets=("token",)),
    Exported("bot_defaults", NOTHING),
    Exported("slash_commands", NOTHING),
    Exported("expired_messages", NOTHING),
    Exported("legal_holds", NOTHING),
    Exported("former_attachment_messages", NOTHING),
    Exported("audit_log", NOTHING),
    Exported(
        "realm_exports",
        NOTHING,
        secrets=("blob_key", "link_secret"),
        imported=(
            *(("blob_key", None), ("size", None), ("digest", None), ("link_secret", None)),
            ("from_prior_server", True),
        ),
    ),
)
"""In the order of an import."""

NOT_EXPORTED: Final = {
    "reaction_notifications": "collect reactions for minutes, for clients of this server",
    "button_clicks": "wait for answers of services, which know the old address",
    "command_calls": "wait for answers of services, which know the old address",
    "integration_messages": "name messages that deliveries to the old address would replace",
    "webhook_deliveries": "says of the last delivery only that it came",
    "realm_clock": "its position is in the manifest; an import begins a new epoch",
    "event_log": "what clients that are connected have yet to hear; they register anew",
    "event_queues": "where clients of this server stand",
    "compliance_officers": "are appointed anew, by the owners elsewhere",
    "compliance_rules": "are of the officers here",
    "compliance_cases": "are of the officers here; the audit log has what they did",
    "account_exports": "files of this server, which are made anew",
    "held_files": "their content stays on the server that holds it",
    "sessions": "who has signed in here with a browser",
    "call_tokens": "are of this server's registrations at the services, encrypted with its key",
    "second_factors": "are bound to this server: passkeys to its address, secrets to its key",
    "recovery_codes": "are of second factors, which stay behind",
    "second_factor_deadlines": "are counted anew elsewhere",
    "directory_ids": "the directory is this server's; elsewhere, addresses say who is who",
    "scim_tokens": "admit directories to this server's address",
    "scim_accounts": "the directory is this server's; elsewhere, addresses say who is who",
    "scim_groups": "the directory is this server's; elsewhere, names say which group it is",
    "scim_allowances": "are for a day, and for directories of this server",
    "ended_flows": "who has come back from other sites in the last minutes",
    "confirmations": "links in mails that this server has sent",
    "invitations": "links in mails that this server has sent, and to its own address",
    "channel_traffic": "counted from the messages, once a day",
    "digests": "which emails this server has sent",
    "idempotency_keys": "answers for sends that clients try again within a day",
    "notifications": "emails and pushes of this moment",
    "email_batches": "emails of this moment",
    "webhook_calls": "calls of this moment",
    "resumable_uploads": "files that are still coming in",
    "upload_parts": "files that are still coming in",
    "stepped_work": "work under way, which goes on here",
    "import_requests": "work under way, which goes on here",
    "imports": "work under way, which goes on here",
    "import_keys": "work under way, which goes on here",
    "jobs": "work under way, which goes on here",
    "done_jobs": "work that is done here",
    "dead_jobs": "work that has failed here",
    "shipper_cursors": "how far this server has come in its log",
    "message_terms": "the search index, which is made anew",
    "search_progress": "the search index, which is made anew",
    "search_stale": "the search index, which is made anew",
    "push_devices": "phones and browsers register anew, with keys of the server they talk to",
}
"""Tables with a realm that exports do not contain, and why."""

IDS: Final = {
    "realm_id": "realms_realm_id_seq",
    "user_id": "user_ids",
    "sender_id": "user_ids",
    "creator_id": "user_ids",
    "owner_id": "user_ids",
    "bot_owner_id": "user_ids",
    "author_id": "user_ids",
    "actor_id": "user_ids",
    "releaser_id": "user_ids",
    "acting_user_id": "user_ids",
    "bot_id": "user_ids",
    "muted_user_id": "user_ids",
    "user_ids": "user_ids",
    "direct_members": "user_ids",
    "members": "user_ids",
    "group_id": "group_ids",
    "subgroup_id": "group_ids",
    "direct_subgroups": "group_ids",
    "subgroups": "group_ids",
    "hold_id": "legal_hold_ids",
    "key_id": "api_key_ids",
    "channel_id": "channel_ids",
    "channel_ids": "channel_ids",
    "sending_channel_id": "channel_ids",
    "events_channel_id": "channel_ids",
    "origin_channel_id": "channel_ids",
    "stream": "channel_ids",
    "prev_stream": "channel_ids",
    "conversation_id": "conversation_ids",
    "origin_conversation_id": "conversation_ids",
    "topic_id": "conversation_ids",
    "dm_group_id": "conversation_ids",
    "folder_id": "channel_folder_ids",
    "attachment_id": "attachment_ids",
    "audit_id": "audit_ids",
    "draft_id": "draft_ids",
    "linkifier_id": "linkifier_ids",
    "view_id": "navigation_view_ids",
    "playground_id": "playground_ids",
    "command_id": "slash_command_ids",
    "field_id": "profile_field_ids",
    "domain_id": "realm_domain_ids",
    "emoji_id": "realm_emoji_ids",
    "export_id": "realm_export_ids",
    "saved_snippet_id": "saved_snippet_ids",
}
"""The sequence of ids with this name, in columns and within JSON. Names mean the same everywhere;
exceptions are in `renumbering`.
"""

DEFAULT_CHANNEL_GROUPS: Final = "default_channel_group_ids"
SEQUENCES: Final = frozenset({*IDS.values(), DEFAULT_CHANNEL_GROUPS})

OF_THE_REALM: Final = frozenset(
    {
        *(
            "id",
            "message_id",
            "position",
            "entry_positions",
            "entered_at",
            "changed_at",
            "groups_changed_at",
            "read_below",
            "first_id",
            "last_id",
        ),
        *("reminder_id", "scheduled_message_id", "update_id", "last_update_id"),
        *("size", "bytes", "count", "subject_id"),
    }
)
"""Numbers that stay the same: positions of the realm's clock, and amounts."""
