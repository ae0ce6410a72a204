"""All sections of register's answer."""

from typing import Final

from server.initial_state import (
    alert_words,
    bots,
    channel_folders,
    channels,
    drafts,
    groups,
    linkifiers,
    messages,
    muted_users,
    navigation_views,
    not_yet_kept,
    presence,
    profile_fields,
    push_devices,
    realm,
    reminders,
    scheduled_messages,
    subscriptions,
    user_settings,
    user_status,
    user_topics,
    users,
)
from server.initial_state.base import Section

SECTIONS: Final[tuple[Section, ...]] = (
    realm.SECTION,
    *channels.SECTIONS,
    channel_folders.SECTION,
    subscriptions.SECTION,
    *user_topics.SECTIONS,
    users.SECTION,
    groups.SECTION,
    *linkifiers.SECTIONS,
    alert_words.SECTION,
    bots.SECTION,
    *user_settings.SECTIONS,
    *messages.SECTIONS,
    navigation_views.SECTION,
    *drafts.SECTIONS,
    muted_users.SECTION,
    presence.SECTION,
    push_devices.SECTION,
    profile_fields.SECTION,
    user_status.SECTION,
    reminders.SECTION,
    scheduled_messages.SECTION,
    *not_yet_kept.SECTIONS,
)
