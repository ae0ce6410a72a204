"""Descriptions of parameters with names from lists of settings and permissions."""

from collections.abc import Mapping
from typing import Final

PERSONAL: Final[Mapping[str, str]] = {
    # Appearance.
    "color_scheme": "Colors of the client: 1 as the system has them, 2 dark, 3 light.",
    "default_language": "Language of the interface and of emails, as a language code.",
    "demote_inactive_streams": (
        "Move channels without recent messages to the end of the list: 1 automatic, 2 always,"
        " 3 never."
    ),
    "display_emoji_reaction_users": "Show the names of who reacted, while they are few.",
    "emojiset": "Style in which emoji are drawn.",
    "enter_sends": "Enter sends the message, instead of beginning a new line.",
    "fluid_layout_width": "Use the whole width of a wide window.",
    "hide_ai_features": "Hide features that rely on language models.",
    "high_contrast_mode": "Draw with higher contrast.",
    "left_side_userlist": "In narrow windows, show the list of users on the left.",
    "starred_message_counts": "Show how many messages are starred.",
    "translate_emoticons": "Turn emoticons such as `:)` into emoji when a message is sent.",
    "twenty_four_hour_time": (
        "Show times with 24 hours; false with 12. null follows the language of the user."
    ),
    "user_list_style": "Rows of the user list: 1 compact, 2 with status, 3 with avatar and status.",
    "web_animate_image_previews": "When animated pictures move.",
    "web_channel_default_view": (
        "What a click on a channel opens: 1 its newest topic, 2 all of its messages, 3 the list of"
        " its topics, 4 its newest unread topic."
    ),
    "web_escape_navigates_to_home_view": "Escape leads to the home view.",
    "web_font_size_px": "Font size of the web client, in pixels.",
    "web_home_view": "View with which the client opens. `recent_topics` means `recent`.",
    "web_inbox_show_channel_folders": "Group the channels of the inbox by folder.",
    "web_left_sidebar_show_channel_folders": "Group the channels in the sidebar by folder.",
    "web_left_sidebar_unreads_count_summary": "Show sums of unread messages in the sidebar.",
    "web_line_height_percent": "Line height of the web client, in percent of the font size.",
    "web_mark_read_on_scroll_policy": (
        "Mark messages as read while scrolling: 1 always, 2 only in views of one conversation,"
        " 3 never."
    ),
    "web_navigate_to_sent_message": "Go to the conversation to which a message was sent.",
    "web_stream_unreads_count_display_policy": (
        "Channels that show their count of unread messages: 1 all, 2 those not muted, 3 none."
    ),
    "web_suggest_update_timezone": "Suggest another time zone when that of the device differs.",
    # Notifications.
    "desktop_icon_count_display": (
        "Unread messages that the icon counts: 1 all, 2 direct messages, mentions and followed"
        " topics, 3 direct messages and mentions, 4 none."
    ),
    "email_notifications_batching_period_seconds": (
        "Seconds for which notification emails are collected before one is sent; at most a week."
    ),
    "enable_desktop_notifications": (
        "Show desktop notifications of direct messages, mentions and alert words."
    ),
    "enable_digest_emails": "Receive digest emails.",
    "enable_followed_topic_audible_notifications": "Play a sound for messages in followed topics.",
    "enable_followed_topic_desktop_notifications": (
        "Show desktop notifications of messages in followed topics."
    ),
    "enable_followed_topic_email_notifications": "Send emails about messages in followed topics.",
    "enable_followed_topic_push_notifications": (
        "Send push notifications of messages in followed topics."
    ),
    "enable_followed_topic_wildcard_mentions_notify": (
        "In followed topics, a mention of everyone notifies as a personal mention does."
    ),
    "enable_login_emails": "Receive an email when a new device signs in.",
    "enable_marketing_emails": "Receive news by email.",
    "enable_offline_email_notifications": (
        "Send emails about direct messages, mentions and alert words that were not read in time."
    ),
    "enable_offline_push_notifications": (
        "Send push notifications of direct messages, mentions and alert words while away."
    ),
    "enable_online_push_notifications": "Send push notifications while a client is in use, too.",
    "enable_reaction_notifications": "Send notifications of reactions to the user's messages.",
    "enable_sounds": "Play a sound for direct messages, mentions and alert words.",
    "enable_stream_audible_notifications": "Play a sound for every channel message.",
    "enable_stream_desktop_notifications": "Show desktop notifications of every channel message.",
    "enable_stream_email_notifications": "Send emails about every channel message.",
    "enable_stream_push_notifications": "Send push notifications of every channel message.",
    "message_content_in_email_notifications": "Quote the messages in notification emails.",
    "notification_sound": "Sound of notifications: `ding`, `zulip`, or `none`.",
    "pm_content_in_desktop_notifications": "Show the text of direct messages on the desktop.",
    "realm_name_in_email_notifications_policy": (
        "Name the organization in the subjects of emails: 1 automatic, 2 always, 3 never."
    ),
    "wildcard_mentions_notify": "A mention of everyone notifies as a personal mention does.",
    # Topics and drafts.
    "automatically_follow_topics_policy": (
        "Topics followed automatically: 1 those in which the user participates, 2 those to which"
        " the user sends, 3 those that the user starts, 4 none."
    ),
    "automatically_follow_topics_where_mentioned": "Follow topics in which the user is mentioned.",
    "automatically_unmute_topics_in_muted_streams_policy": (
        "Topics of muted channels that are unmuted automatically: 1 those in which the user"
        " participates, 2 those to which the user sends, 3 those that the user starts, 4 none."
    ),
    "enable_drafts_synchronization": (
        "Keep drafts on the server. Turning it off deletes those that are there."
    ),
    "resolved_topic_notice_auto_read_policy": (
        "Mark notices that a topic was resolved as read: `always`, `except_followed` (unless the"
        " topic is followed), or `never`."
    ),
    # Privacy.
    "allow_private_data_export": "Let exports of the organization hold the user's private data.",
    "email_address_visibility": (
        "Who sees the user's email address: 1 everyone, 2 members, 3 administrators, 4 nobody,"
        " 5 moderators."
    ),
    "presence_enabled": "Show to others when the user is active.",
    "receives_typing_notifications": "Receive typing notifications from others.",
    "send_private_typing_notifications": "Send typing notifications in direct messages.",
    "send_read_receipts": "Let others see which messages the user has read.",
    "send_stream_typing_notifications": "Send typing notifications in channels.",
}

REALM: Final[Mapping[str, str]] = {
    # Messages.
    "allow_edit_history": (
        "Older form of `message_edit_history_visibility_policy`: true is `all`, false `none`."
    ),
    "allow_message_editing": "Whether senders may edit their messages.",
    "default_avatar_source": (
        "Pictures of new accounts without one of their own: `J` is a pattern that this server"
        " makes, `G` the picture at gravatar.com, where the server permits that. Existing accounts"
        " keep theirs."
    ),
    "default_code_block_language": "Language of code blocks that name none; empty for plain text.",
    "enable_read_receipts": "Whether users can see who has read a message.",
    "gif_rating_policy": (
        "Strictest audience of GIFs that can be picked: 0 no GIFs, 1 Y, 2 G, 3 PG, 4 PG-13, 5 R."
    ),
    "giphy_rating": "Older form of `gif_rating_policy`.",
    "inline_image_preview": "Show linked pictures below messages.",
    "inline_url_embed_preview": "Show previews of linked pages below messages.",
    "mandatory_topics": (
        "Older form of `topics_policy`: true is `disable_empty_topic`, false `allow_empty_topic`."
    ),
    "media_preview_size": "Height of previews of pictures and videos: 100, 150 or 200.",
    "message_content_delete_limit_seconds": (
        "Seconds for which senders may delete their messages, or `unlimited`."
    ),
    "message_content_edit_limit_seconds": (
        "Seconds for which senders may edit their messages, or `unlimited`."
    ),
    "message_edit_history_visibility_policy": (
        "Earlier versions of messages that users see: `all`, `moves` (only changes of channel and"
        " topic), or `none`."
    ),
    "message_retention_days": (
        "Days after which messages are deleted, or `unlimited`. Only owners may change it."
    ),
    "move_messages_between_streams_limit_seconds": (
        "Seconds for which messages may be moved to another channel, or `unlimited`. Moderators"
        " are not bound by it."
    ),
    "move_messages_within_stream_limit_seconds": (
        "Seconds for which messages may be moved to another topic, or `unlimited`. Moderators are"
        " not bound by it."
    ),
    "topics_policy": "Whether channel messages may go without a topic.",
    # Joining.
    "second_factor_required_of": (
        "Who needs a second factor to sign in with a password: users of this role, and of higher"
        " ones. Only owners with a second factor may change it."
    ),
    "second_factor_grace_days": (
        "For how many days these users sign in without one, counted from their first sign-in."
    ),
    "second_factor_after_provider": (
        "Ask for the second factor after a sign-in through an identity provider, too."
    ),
    "authentication_methods": (
        "Methods to sign in by name, each true or false. At least one must stay; only owners may"
        " change it."
    ),
    "disallow_disposable_email_addresses": (
        "Refuse addresses of providers that give them out for a few minutes. Only owners may"
        " change it."
    ),
    "emails_restricted_to_domains": (
        "Let only people with an address in one of the organization's domains join. Only owners"
        " may change it."
    ),
    "enable_spectator_access": "Let visitors read web-public channels without an account.",
    "invite_required": "Let people join only by an invitation. Only owners may change it.",
    "send_welcome_emails": "Send an email of welcome to new users.",
    "waiting_period_threshold": (
        "Days after which a new member counts as a full member. Only owners may change it."
    ),
    # People.
    "avatar_changes_disabled": "Let only administrators change avatars.",
    "email_changes_disabled": "Let only administrators change email addresses.",
    "enable_guest_user_dm_warning": "Warn users who write a direct message to a guest.",
    "enable_guest_user_indicator": "Mark guests as such beside their name.",
    "name_changes_disabled": "Let only administrators change names.",
    "presence_disabled": "Do not show who is active.",
    "require_unique_names": "Refuse names that another active user has.",
    # Email and notifications.
    "digest_emails_enabled": "Send digest emails to users who have been away.",
    "digest_weekday": "Day on which digests are sent: 0 Monday to 6 Sunday.",
    "message_content_allowed_in_email_notifications": "Quote messages in notification emails.",
    "require_e2ee_push_notifications": (
        "Send phones no push notifications except those that are encrypted end to end."
    ),
    # The organization.
    "send_channel_events_messages": (
        "Post in a channel that it was created, renamed or otherwise changed."
    ),
    "default_language": "Language in which automatic messages are written, and new users start.",
    "moderation_request_channel_id": "Private channel that receives reports; -1 for none.",
    "new_stream_announcements_stream_id": "Channel that announces new channels; -1 for none.",
    "org_type": (
        "Kind of the organization: 0 unspecified, 10 business, 20 open source, 30 non-profit"
        " education, 35 education, 40 research, 50 event, 60 non-profit, 70 government,"
        " 80 political group, 90 community, 100 personal, 1000 other."
    ),
    "signup_announcements_stream_id": "Channel that announces new users; -1 for none.",
    "video_chat_provider": (
        "Provider of video calls by id. `realm_available_video_chat_providers` of `POST /register`"
        " lists what this server offers."
    ),
    "want_advertise_in_communities_directory": "Agree to be listed in directories of communities.",
    "zulip_update_announcements_stream_id": "Channel that announces new features; -1 for none.",
}

_VALUE = "a group by id, or an object with `direct_members` and `direct_subgroups`"
_CHANGE = f"An object with `new` (and, to detect a concurrent change, `old`): {_VALUE}."


def _changes(who_may: Mapping[str, str]) -> Mapping[str, str]:
    return {name: f"{sentence} {_CHANGE}" for name, sentence in who_may.items()}


def _values(who_may: Mapping[str, str]) -> Mapping[str, str]:
    value = _VALUE[0].upper() + _VALUE[1:]
    return {name: f"{sentence} {value}. Default if left out." for name, sentence in who_may.items()}


REALM_PERMISSIONS: Final = _changes(
    {
        "can_access_all_users_group": (
            "Who knows of all users; other users know only those that share a channel or a"
            " conversation with them. Everyone or members."
        ),
        "can_add_custom_emoji_group": "Who may add custom emoji.",
        "can_add_subscribers_group": "Who may subscribe others to channels.",
        "can_create_bots_group": "Who may create bots of every kind.",
        "can_create_groups": "Who may create user groups. Only owners may change it.",
        "can_create_private_channel_group": "Who may create private channels.",
        "can_create_public_channel_group": "Who may create public channels.",
        "can_create_web_public_channel_group": "Who may create web-public channels.",
        "can_create_write_only_bots_group": "Who may create bots that can only send messages.",
        "can_delete_any_message_group": "Who may delete messages of others.",
        "can_delete_own_message_group": "Who may delete their own messages, within the time limit.",
        "can_invite_users_group": "Who may invite people. Only owners may change it.",
        "can_manage_all_groups": "Who may manage every user group. Only owners may change it.",
        "can_manage_billing_group": "Who may manage billing. Only owners may change it.",
        "can_mention_many_users_group": (
            "Who may mention everyone in a channel or topic with many participants."
        ),
        "can_move_messages_between_channels_group": "Who may move messages to another channel.",
        "can_move_messages_between_topics_group": "Who may move messages to another topic.",
        "can_pin_group": "Who may pin topics and messages in channels.",
        "can_resolve_topics_group": "Who may mark topics as resolved.",
        "can_set_delete_message_policy_group": (
            "Who may decide for a channel which messages can be deleted there."
        ),
        "can_set_topics_policy_group": "Who may decide for a channel whether topics may be empty.",
        "can_summarize_topics_group": "Who may have topics summarized.",
        "create_multiuse_invite_group": (
            "Who may create invitation links for many people. Only owners may change it."
        ),
        "direct_message_initiator_group": "Who may start a new direct message conversation.",
        "direct_message_permission_group": (
            "Group of which each direct message conversation needs at least one member."
        ),
        "workplace_users_group": (
            "Who counts as a user at work for billing, of which this server has none. Only owners"
            " may change it."
        ),
    }
)
_ALL_ROLES: Final = (
    "1 members, 2 administrators, 3 full members, 4 moderators, 5 everyone, 6 nobody, 7 owners"
)
_CHANNEL_ROLES: Final = "1 members, 2 administrators, 3 full members, 4 moderators"
OLD_POLICIES: Final[Mapping[str, str]] = {
    name: f"Older form of `{permission}`, as a number: {numbers}."
    for name, permission, numbers in (
        ("add_custom_emoji_policy", "can_add_custom_emoji_group", _ALL_ROLES),
        ("bot_creation_policy", "can_create_bots_group", "1 members, 3 administrators"),
        ("create_private_stream_policy", "can_create_private_channel_group", _CHANNEL_ROLES),
        ("create_public_stream_policy", "can_create_public_channel_group", _CHANNEL_ROLES),
        (
            "create_web_public_stream_policy",
            "can_create_web_public_channel_group",
            "2 administrators, 4 moderators, 6 nobody, 7 owners",
        ),
        ("delete_own_message_policy", "can_delete_own_message_group", _ALL_ROLES),
        ("edit_topic_policy", "can_move_messages_between_topics_group", _ALL_ROLES),
        ("invite_to_realm_policy", "can_invite_users_group", _ALL_ROLES),
        ("invite_to_stream_policy", "can_add_subscribers_group", _ALL_ROLES),
        (
            "move_messages_between_streams_policy",
            "can_move_messages_between_channels_group",
            _ALL_ROLES,
        ),
        ("private_message_policy", "direct_message_permission_group", "1 everyone, 2 nobody"),
        ("user_group_edit_policy", "can_manage_all_groups", _ALL_ROLES),
        (
            "wildcard_mention_policy",
            "can_mention_many_users_group",
            "1 everyone, 2 members, 3 full members, 5 administrators, 6 nobody, 7 moderators",
        ),
    )
}

CHANNEL_PERMISSIONS: Final[Mapping[str, str]] = {
    "can_add_subscribers_group": "Who may subscribe others to the channel.",
    "can_administer_channel_group": "Who may change the channel's settings.",
    "can_create_topic_group": (
        "Who may begin new topics. Everyone in private channels with protected history."
    ),
    "can_delete_any_message_group": "Who may delete messages of others in the channel.",
    "can_delete_own_message_group": "Who may delete their own messages in the channel.",
    "can_move_messages_out_of_channel_group": "Who may move messages to another channel.",
    "can_move_messages_within_channel_group": "Who may move messages between its topics.",
    "can_pin_group": "Who may pin its topics and messages.",
    "can_remove_subscribers_group": "Who may unsubscribe others from the channel.",
    "can_resolve_topics_group": "Who may mark its topics as resolved.",
    "can_send_message_group": "Who may send messages to the channel.",
    "can_subscribe_group": "Who may subscribe by themselves, even if the channel is private.",
}
CHANNEL_PERMISSION_CHANGES: Final = _changes(CHANNEL_PERMISSIONS)

_GROUP_PERMISSIONS: Final[Mapping[str, str]] = {
    "can_add_members_group": "Who may add members to the group.",
    "can_join_group": "Who may join the group by themselves.",
    "can_leave_group": "Who may leave the group.",
    "can_manage_group": "Who may change the group and its members.",
    "can_mention_group": "Who may mention the group.",
    "can_remove_members_group": "Who may remove members from the group.",
}
GROUP_PERMISSIONS: Final = _values(_GROUP_PERMISSIONS)
GROUP_PERMISSION_CHANGES: Final = _changes(_GROUP_PERMISSIONS)
