"""Every event that the log may hold, by its kind."""

from typing import Final

import msgspec

from server.events import (
    alert_words,
    bots,
    channels,
    drafts,
    groups,
    linkifiers,
    log,
    message_changes,
    message_flags,
    messages,
    muted_users,
    navigation_views,
    reactions,
    realm,
    saved_snippets,
    submessages,
    subscriptions,
    typing,
    user_settings,
    user_topics,
    users,
)
from server.events.base import Event

EVENTS: Final[tuple[type[Event], ...]] = (
    alert_words.AlertWordsChanged,
    bots.BotAdded,
    bots.BotChanged,
    bots.BotDeleted,
    channels.ChannelUpdated,
    channels.ChannelsCreated,
    channels.ChannelsDeleted,
    channels.DefaultChannelsChanged,
    drafts.DraftRemoved,
    drafts.DraftsAdded,
    drafts.DraftUpdated,
    groups.GroupAdded,
    groups.GroupChanged,
    groups.MembersAdded,
    groups.MembersRemoved,
    groups.SubgroupsAdded,
    groups.SubgroupsRemoved,
    linkifiers.LinkifiersChanged,
    linkifiers.PlaygroundsChanged,
    log.JobEnqueued,
    log.QueuesEnded,
    log.Tick,
    message_changes.EditTyping,
    message_changes.MessagesChanged,
    message_changes.MessagesGone,
    message_flags.MessageFlagsChanged,
    messages.MessageSent,
    navigation_views.NavigationViewAdded,
    navigation_views.NavigationViewChanged,
    navigation_views.NavigationViewRemoved,
    muted_users.MutedUsersChanged,
    reactions.ReactionAdded,
    reactions.ReactionRemoved,
    realm.RealmDeactivated,
    realm.RealmSettingChanged,
    realm.RealmSettingsChanged,
    submessages.SubmessageAdded,
    saved_snippets.SnippetAdded,
    saved_snippets.SnippetRemoved,
    saved_snippets.SnippetUpdated,
    subscriptions.PeersAdded,
    subscriptions.PeersRemoved,
    subscriptions.SubscriptionUpdated,
    subscriptions.SubscriptionsAdded,
    subscriptions.SubscriptionsRemoved,
    typing.ChannelTyping,
    typing.DirectTyping,
    user_settings.NotificationDefaultChanged,
    user_settings.OldDisplaySettingChanged,
    user_settings.OldNotificationSettingChanged,
    user_settings.SettingsDefaultChanged,
    user_settings.UserSettingChanged,
    user_topics.MutedTopicsChanged,
    user_topics.UserTopicChanged,
    users.EmailChanged,
    users.InaccessibleUserAdded,
    users.UserAdded,
    users.UserChanged,
    users.UserRemoved,
    users.UsersForgotten,
    users.UsersIntroduced,
)

_DECODERS: Final = {event.kind: msgspec.json.Decoder(event) for event in EVENTS}
assert len(_DECODERS) == len(EVENTS), "two events share a kind"


def decode(kind: str, body: bytes) -> Event:
    """The event as it was appended. Raises KeyError for a kind that this release does not know."""
    return _DECODERS[kind].decode(body)
