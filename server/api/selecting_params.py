"""Names of parameters that select what a request acts on, at any level of the protocol.

Endpoints ignore parameters that they do not have. Of these that would do harm: without it, the
request acts on the caller instead of another user, or on all instead of some.
"""

from collections.abc import Container
from typing import Final

SELECTING: Final = frozenset(
    {
        # Users, by id or address.
        *("bot_id", "email", "emails", "invitee_emails", "muted_user_id", "principals"),
        *("sender_id", "skip_if_already_edited", "subscribers", "target_users"),
        *("user_id", "user_ids"),
        # Groups.
        *("add_subgroups", "delete_subgroups", "group_id", "group_ids", "group_name", "members"),
        *("subgroups", "user_group_id"),
        # Channels.
        *("channel_folder_id", "channel_ids", "stream", "stream_id", "stream_ids", "stream_names"),
        *("subscription_data", "subscriptions", "to"),
        # Topics.
        *("subject", "topic", "topic_name"),
        # Messages.
        *("anchor", "anchor_date", "include_anchor", "message_id", "message_ids", "messages"),
        *("msg_ids", "narrow", "num_after", "num_before", "propagate_mode"),
        # What is done to a deactivated user.
        "actions",
        # Devices of a user.
        *("device_id", "push_account_id", "subscription_id", "token", "token_id"),
        # Entries of a bot's storage.
        "keys",
        # Other objects.
        *("attachment_id", "case_id", "command_id", "draft_id", "export_id", "field_id"),
        *("filter_id", "hold_id", "import_id", "invite_id", "key_id", "playground_id"),
        *("reminder_id", "request_id", "saved_snippet_id", "scheduled_message_id"),
        # What users of the protocol take for names of the above.
        *("channel", "channel_id", "channel_name", "stream_name", "streams", "topics", "users"),
    }
)

OTHER_NAMES_OF_PATHS: Final = {"group_id": "user_group_id"}
"""Names by which published clients send a parameter of the path along."""

_SELECTED_BY_PATHS: Final = {"stream": "stream_id"}
"""Names that published clients send along with a path that selects the same thing."""


def is_selected_by(path_params: Container[str | None], name: str) -> bool:
    """Return whether the path selects what a parameter of this name would."""
    in_path = OTHER_NAMES_OF_PATHS.get(name) or _SELECTED_BY_PATHS.get(name)
    return in_path in path_params
