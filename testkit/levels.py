"""Write the table of levels in docs/protocol.md from LEVELS.

`python -m testkit.levels` writes what stands between the markers; a test compares it.
"""

from collections.abc import Mapping
from typing import Final

from testkit.sources import ROOT

DOCUMENT: Final = ROOT / "docs/protocol.md"
BEGIN: Final = "<!-- Written by `python -m testkit.levels`. -->\n"
END: Final = "<!-- End of what is written. -->\n"

LEVELS: Final[Mapping[str, str]] = {
    "426": "`realm_is_zephyr_mirror_realm` is still sent, and false",
    "427": "`channel_creator` is the default of `can_administer_channel_group`",
    "428": "deactivating a user sends `peer_remove` for archived channels, too",
    "429, 430": "`recipient_user_ids` of encrypted pushes; `email_address_visibility` of consents",
    "431": "the setting `web_inbox_show_channel_folders`",
    "432": "`push_key` is the key of a device (468); `push_public_key` that of level 420",
    "433": "`is_imported_stub` of users who have not signed in since they were imported",
    "434": "the organization's setting `send_channel_events_messages`",
    "435": "`server_report_message_types`, in the user's language",
    "437, 467": "uploads in the syntax of images are pictures and players in the text; before other"
    " addresses the syntax is `!` and a link",
    "438": "`realm_owner_full_content_access` is always false",
    "439": "the older events of settings are still sent to clients without `user_settings_object`",
    "441": "`can_create_topic_group` of channels; in private channels with protected history it is"
    " everyone. A topic without messages is new; marking a topic as resolved begins none",
    "440": "`GET /users/{user_id}/channels`",
    "442, 453": "`gif_rating_policy` and `giphy_rating`: both are sent and accepted;"
    " `tenor_api_key`",
    "443": "times of attachments are in seconds",
    "444": "`target_users` of `PATCH /settings`, for administrators; not for settings of privacy"
    " and of mail, and at most 20,000 values at once",
    "445, 446": "the anchor `date`; the operator `mentions`",
    "447, 461": "`short_name` of `PATCH /bots/{bot_id}`; `realm_user` events have the new address",
    "448": "only users who may send to a channel get its email address",
    "449": "`export_type` is a word; numbers are accepted. `full_without_consent` is refused:"
    " only the operator exports the private data of all users",
    "451, 452": "invalid times are plain text; expiring messages are announced (`delete_message`)",
    "454": "`web_home_view` is `recent`; `recent_topics` is accepted",
    "455, 476": "`use_for_user_matching` of profile fields; long texts may be in the summary",
    "456": "the organization's setting `default_avatar_source`, for new accounts",
    "457": "`delete_message` goes to readers of the message, and to the user who deletes it, as far"
    " as they may read it then",
    "458, 463": "channels of bots can be asked; `GET /bots/{bot_id}/api_key`",
    "459": "`actions` of `DELETE /users/{user_id}`; what they name is also deleted of users who are"
    " deactivated already. The address stays",
    "460, 465": "calls by Constructor Groups, and by Nextcloud Talk (`room_name`)",
    "462, 464": "`description` comes as `update_dict` with `rendered_description`",
    "466": "`realm_uuid`; users without a picture have the `avatar_source` `J`",
    "468, 470, 483, 492": "devices with pushes that are encrypted with keys of their own; the form"
    " of level 420 (`push_account_id`) goes on working",
    "469": "the organization's setting `media_preview_size`",
    "471, 478": "`example_input`, `reverse_template` and `alternative_url_templates` of linkifiers."
    " What `PATCH` leaves out of these stays, and empty values remove; `pattern` and `url_template`"
    " are required",
    "472": "`message_ids` of attachments beside `messages`",
    "473": "bots that are administrators may set the status of users",
    "474": "bots' keys, names, types and owners are not in `realm_bot` events and `realm_bots`",
    "475": "`date_joined` of imported accounts, and of those created over the API, becomes the time"
    " of the first sign-in",
    "477": "`workplace_users_group`, which has no effect",
    "479": "`GET /thumbnail/status/...`; states of thumbnails in the HTML of messages",
    "480, 489": "archived channels can be asked for; the operator `channels:archived`",
    "481, 491": "`idle_queue_timeout`; the capability `individual_emoji_changes`",
    "484": "reactions still have `user`",
    "486": "`klipy_api_key`",
    "487, 497": "the presence of one person in both forms, with `server_timestamp`",
    "488": "sign-in through Discord",
    "490": "`is_deleted` of users who are erased, or lose their profile by `actions` (459), also in"
    " `realm_user` events. It ends when they are reactivated: the event has `is_deleted: false`",
    "493": "calls by Webex; `INVALID_VIDEO_CALL_PROVIDER_TOKEN`, also for Zoom",
    "494": "`bot_storage` is for bots only",
    "496": "bots may make groups, if `can_create_groups` permits",
    "499, 506": "`export_from_prior_server`; such exports cannot be deleted",
    "500, 504": "`require_e2ee_push_notifications` switches unencrypted pushes off",
    "503, 511": "times are ISO 8601; a report fails if it cannot be delivered",
    "505": "`MOVE_MESSAGES_TIME_LIMIT_EXCEEDED` if any message of the topic may still be moved;"
    " otherwise BAD_REQUEST",
    "507": "`default_push_notifications` of channels: push notifications are on for first-time"
    " subscribers. Without it, and for former subscribers, nothing changes",
    "508": "`message_url` and `message_link` of a send. A bot that only sends to a channel by its"
    " owner's permission gets the channel's id, not its name. A repeated send has none if its"
    " sender may not send there any more",
    "509": "`stream_id` of the channel where the message already is moves nothing",
    "510": "the flag `hide_link_previews`",
}
"""What is there of levels after 421, by level."""


def table() -> str:
    """Return the rows of the table."""
    rows = "\n".join(f"| {level} | {text} |" for level, text in LEVELS.items())
    return f"| level | |\n|---|---|\n{rows}\n"


def document() -> str:
    """Return the whole document as it should be."""
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    DOCUMENT.write_text(document())
