/** The personal settings, by section. The organization's defaults for new users use the same. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { amount } from "../../ui/time";
import { languageChoices } from "../../languages";
import type { Section, Setting } from "./parts/settings";

const toggle = (name: string, label: string, hint?: string): Setting => ({ kind: "toggle", name, label, ...(hint ? { hint } : {}) });

const choice = (name: string, label: string, options: readonly (readonly [unknown, string])[]): Setting => ({ kind: "choice", name, label, options });

export function appearanceSections(): Section[] {
  return [
    {
      title: i18n.t("Looks"),
      settings: [
        choice("color_scheme", i18n.t("Theme"), [
          [1, i18n.t("As the system has it")],
          [3, i18n.t("Light")],
          [2, i18n.t("Dark")],
        ]),
        choice(
          "web_font_size_px",
          i18n.t("Font size"),
          [12, 13, 14, 15, 16, 17, 18, 20].map((size) => [size, i18n.t("{size} pixels", { size })]),
        ),
        choice("web_line_height_percent", i18n.t("Density"), [
          [122, i18n.t("Compact")],
          [130, i18n.t("Dense")],
          [140, i18n.t("Normal")],
          [158, i18n.t("Spacious")],
        ]),
        choice(
          "emojiset",
          i18n.t("Emoji"),
          // The older artwork of Google is drawn as the present one is: it is offered to those who have it only.
          ((state().settings.emojiset_choices ?? []) as { key: string; text: string }[])
            .filter(({ key }) => key !== "google-blob" || state().settings.emojiset === key)
            .map(({ key, text }) => [key, key === "text" ? i18n.t("Plain text") : text]),
        ),
        toggle("high_contrast_mode", i18n.t("High contrast")),
        choice("web_animate_image_previews", i18n.t("Animated pictures move"), [
          ["always", i18n.t("Always")],
          ["on_hover", i18n.t("Under the pointer")],
          ["never", i18n.t("Never")],
        ]),
        toggle("fluid_layout_width", i18n.t("Use the whole width of wide windows")),
      ],
    },
    {
      title: i18n.t("Language and time"),
      settings: [
        choice("default_language", i18n.t("Language"), languageChoices(state().settings.default_language)),
        choice("twenty_four_hour_time", i18n.t("Time format"), [
          [null, i18n.t("As the language has it")],
          [true, i18n.t("24 hours (17:00)")],
          [false, i18n.t("12 hours (5:00 PM)")],
        ]),
      ],
    },
    {
      title: i18n.t("Reading"),
      settings: [
        choice("web_home_view", i18n.t("Home view"), [
          ["inbox", i18n.t("Inbox")],
          ["recent", i18n.t("Recent conversations")],
          ["all_messages", i18n.t("Combined feed")],
        ]),
        toggle("web_escape_navigates_to_home_view", i18n.t("Escape leads to the home view")),
        choice("web_mark_read_on_scroll_policy", i18n.t("Mark messages as read while scrolling"), [
          [1, i18n.t("Always")],
          [2, i18n.t("Only in views of one conversation")],
          [3, i18n.t("Never")],
        ]),
        choice("web_channel_default_view", i18n.t("A click on a channel opens"), [
          [1, i18n.t("Its newest topic")],
          [4, i18n.t("Its newest unread topic")],
          [2, i18n.t("All of its messages")],
          [3, i18n.t("The list of its topics")],
        ]),
        toggle("display_emoji_reaction_users", i18n.t("Show names beside reactions while they are few")),
        toggle("web_navigate_to_sent_message", i18n.t("Go to the conversation to which a message was sent")),
      ],
    },
    {
      title: i18n.t("Lists on the sides"),
      settings: [
        toggle("web_left_sidebar_show_channel_folders", i18n.t("Group channels by folder")),
        toggle("web_inbox_show_channel_folders", i18n.t("Group the channels of the inbox by folder")),
        toggle("web_left_sidebar_unreads_count_summary", i18n.t("Show sums of unread messages")),
        toggle("starred_message_counts", i18n.t("Show how many messages are starred")),
        choice("web_stream_unreads_count_display_policy", i18n.t("Show unread counts of"), [
          [1, i18n.t("All channels")],
          [2, i18n.t("Channels that are not muted")],
          [3, i18n.t("No channels")],
        ]),
        choice("demote_inactive_streams", i18n.t("Move quiet channels to the end"), [
          [1, i18n.t("Automatically")],
          [2, i18n.t("Always")],
          [3, i18n.t("Never")],
        ]),
        choice("user_list_style", i18n.t("List of people"), [
          [1, i18n.t("Compact")],
          [2, i18n.t("With status")],
          [3, i18n.t("With picture and status")],
        ]),
      ],
    },
    {
      title: i18n.t("Writing"),
      settings: [
        toggle("enter_sends", i18n.t("Enter sends the message"), i18n.t("Otherwise it begins a new line, and Ctrl+Enter sends.")),
        toggle("translate_emoticons", i18n.t("Turn emoticons such as :) into emoji")),
        toggle("enable_drafts_synchronization", i18n.t("Keep drafts on the server"), i18n.t("Turning it off deletes those that are there.")),
        toggle("web_suggest_update_timezone", i18n.t("Suggest another time zone when the device's differs")),
      ],
    },
  ];
}

export function notificationSections(): Section[] {
  const sounds = (state().settings.available_notification_sounds ?? []) as string[];
  const waits = [
    ...[1, 2, 5, 10, 30].map((count) => [count * 60, amount(count, "minute")] as const),
    ...[1, 6].map((count) => [count * 3600, amount(count, "hour")] as const),
    [86_400, amount(1, "day")],
    [604_800, amount(1, "week")],
  ] as const;
  const automatic = [
    [1, i18n.t("In which you take part")],
    [2, i18n.t("To which you send")],
    [3, i18n.t("Which you start")],
    [4, i18n.t("Never")],
  ] as const;
  return [
    {
      title: i18n.t("Direct messages, mentions and alert words"),
      settings: [
        toggle("enable_desktop_notifications", i18n.t("On the desktop")),
        toggle("enable_sounds", i18n.t("With a sound")),
        toggle("enable_offline_push_notifications", i18n.t("On the phone, while you are away")),
        toggle("enable_online_push_notifications", i18n.t("On the phone, while you are here, too")),
        toggle("enable_offline_email_notifications", i18n.t("By email, if you have not read them in time")),
        toggle("wildcard_mentions_notify", i18n.t("When all in a channel are mentioned")),
        toggle("pm_content_in_desktop_notifications", i18n.t("Show the text of direct messages on the desktop")),
      ],
    },
    {
      title: i18n.t("Followed topics"),
      settings: [
        toggle("enable_followed_topic_desktop_notifications", i18n.t("On the desktop")),
        toggle("enable_followed_topic_audible_notifications", i18n.t("With a sound")),
        toggle("enable_followed_topic_push_notifications", i18n.t("On the phone")),
        toggle("enable_followed_topic_email_notifications", i18n.t("By email")),
        toggle("enable_followed_topic_wildcard_mentions_notify", i18n.t("When all in a topic are mentioned")),
      ],
    },
    {
      title: i18n.t("All messages of channels"),
      note: i18n.t("Each channel can have its own, in its settings."),
      settings: [
        toggle("enable_stream_desktop_notifications", i18n.t("On the desktop")),
        toggle("enable_stream_audible_notifications", i18n.t("With a sound")),
        toggle("enable_stream_push_notifications", i18n.t("On the phone")),
        toggle("enable_stream_email_notifications", i18n.t("By email")),
      ],
    },
    {
      title: i18n.t("Desktop"),
      settings: [
        toggle("enable_reaction_notifications", i18n.t("Reactions to your messages, collected for two minutes")),
        choice("notification_sound", i18n.t("Sound"), [...new Set([...sounds, "none"])].map((each) => [each, each === "none" ? i18n.t("None") : each])),
        choice("desktop_icon_count_display", i18n.t("The icon counts"), [
          [1, i18n.t("All unread messages")],
          [2, i18n.t("Direct messages, mentions and followed topics")],
          [3, i18n.t("Direct messages and mentions")],
          [4, i18n.t("Nothing")],
        ]),
      ],
    },
    {
      title: i18n.t("Emails"),
      settings: [
        choice("email_notifications_batching_period_seconds", i18n.t("Wait before an email is sent"), waits),
        toggle("message_content_in_email_notifications", i18n.t("Quote the messages")),
        choice("realm_name_in_email_notifications_policy", i18n.t("Name the organization in subjects"), [
          [1, i18n.t("Automatically")],
          [2, i18n.t("Always")],
          [3, i18n.t("Never")],
        ]),
        toggle("enable_login_emails", i18n.t("When a new device signs in")),
        toggle("enable_digest_emails", i18n.t("Digests of what was missed")),
        toggle("enable_marketing_emails", i18n.t("News about the product")),
      ],
    },
    {
      title: i18n.t("Topics"),
      settings: [
        choice("automatically_follow_topics_policy", i18n.t("Follow topics"), automatic),
        toggle("automatically_follow_topics_where_mentioned", i18n.t("Follow topics in which you are mentioned")),
        choice("automatically_unmute_topics_in_muted_streams_policy", i18n.t("Unmute topics of muted channels"), automatic),
        choice("resolved_topic_notice_auto_read_policy", i18n.t("Mark notices of resolved topics as read"), [
          ["always", i18n.t("Always")],
          ["except_followed", i18n.t("Unless the topic is followed")],
          ["never", i18n.t("Never")],
        ]),
      ],
    },
  ];
}

export function privacySections(): Section[] {
  return [
    {
      title: i18n.t("What others see"),
      settings: [
        toggle("presence_enabled", i18n.t("Whether you are active")),
        toggle("send_read_receipts", i18n.t("Which messages you have read")),
        toggle("send_private_typing_notifications", i18n.t("That you type in direct messages")),
        toggle("send_stream_typing_notifications", i18n.t("That you type in channels")),
        choice("email_address_visibility", i18n.t("Your email address is shown to"), [
          [1, i18n.t("Everyone, including guests")],
          [2, i18n.t("Members")],
          [5, i18n.t("Moderators")],
          [3, i18n.t("Administrators")],
          [4, i18n.t("No one")],
        ]),
      ],
    },
    {
      title: i18n.t("What you see, and exports"),
      settings: [
        toggle("receives_typing_notifications", i18n.t("Show when others type")),
        toggle("allow_private_data_export", i18n.t("Let exports of the organization hold your private data")),
        toggle("hide_ai_features", i18n.t("Hide features that rely on language models")),
      ],
    },
  ];
}
