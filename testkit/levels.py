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
    "427": "`channel_creator` is the default of `can_administer_channel_group`",
    "429, 430": "`recipient_user_ids` of encrypted pushes; `email_address_visibility` of consents",
    "431": "the setting `web_inbox_show_channel_folders`",
    "434": "the organization's setting `send_channel_events_messages`",
    "435": "`server_report_message_types`, in the user's language",
    "438": "`realm_owner_full_content_access` is always false",
    "439": "the older events of settings are still sent to clients without `user_settings_object`",
    "441": "`can_create_topic_group` of channels; in private channels with protected history it is"
    " everyone. A topic without messages is new; marking a topic as resolved begins none",
    "440": "`GET /users/{user_id}/channels`",
    "442, 453": "`gif_rating_policy` and `giphy_rating`: both are sent and accepted;"
    " `tenor_api_key`",
    "445, 446": "the anchor `date`; the operator `mentions`",
    "447, 461": "`short_name` of `PATCH /bots/{bot_id}`; `realm_user` events have the new address",
    "451, 452": "invalid times are plain text; expiring messages are announced (`delete_message`)",
    "454": "`web_home_view` is `recent`; `recent_topics` is accepted",
    "455, 476": "`use_for_user_matching` of profile fields; long texts may be in the summary",
    "458, 463": "channels of bots can be asked; `GET /bots/{bot_id}/api_key`",
    "462, 464": "`description` comes as `update_dict` with `rendered_description`",
    "466": "`realm_uuid`; users without a picture have the `avatar_source` `J`",
    "469": "the organization's setting `media_preview_size`",
    "471, 478": "`example_input`, `reverse_template` and `alternative_url_templates` of linkifiers."
    " What `PATCH` leaves out stays; empty values remove",
    "472": "`message_ids` of attachments beside `messages`",
    "474": "bots' keys, names, types and owners are not in `realm_bot` events and `realm_bots`",
    "477": "`workplace_users_group`, which has no effect",
    "480, 489": "archived channels can be asked for; the operator `channels:archived`",
    "481, 491": "`idle_queue_timeout`; the capability `individual_emoji_changes`",
    "484": "reactions still have `user`",
    "486": "`klipy_api_key`",
    "487, 497": "the presence of one person in both forms, with `server_timestamp`",
    "494": "`bot_storage` is for bots only",
    "496": "bots may make groups, if `can_create_groups` permits",
    "503, 511": "times are ISO 8601; a report fails if it cannot be delivered",
    "508": "`message_url` and `message_link` of a send. A bot that only sends to a channel by its"
    " owner's permission gets the channel's id, not its name. A repeated send has none if its"
    " sender may not send there any more",
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
