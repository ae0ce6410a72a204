"""Notices about new channels and new subscriptions."""

from collections.abc import Mapping, Sequence
from typing import Final

from server.actions.messages.notices import Notice
from server.domain.channels import CHANNEL_EVENTS_TOPIC
from server.domain.markdown.writing import channel_link, mention
from server.domain.messages import MAX_MESSAGE_LENGTH
from server.domain.realm_settings import NO_CHANNEL, RealmSettings
from server.i18n import _, ngettext, translated
from storage.channels import ChannelRow
from storage.ids import ChannelId, UserId
from storage.users import UserRow

MAX_NOTIFIED_USERS = 100
"""Maximum number of newly subscribed users who get a direct message."""
NEW_CHANNELS_TOPIC = "new channels"
_MAX_LISTED: Final = MAX_MESSAGE_LENGTH - 500
"""Maximum length of a list of channels in a message: the text before it needs less than the
rest."""


def of_new_channels(
    actor: UserRow, created: Sequence[ChannelRow], settings: RealmSettings
) -> list[Notice]:
    """Return announcements of new public channels, if the realm has a channel for them.

    A realm without one gets a message in the channel itself, unless it wants none there.
    """
    announcements, language = settings.new_stream_announcements_stream_id, settings.language
    public = [channel for channel in created if not channel.invite_only]
    if not public:
        return []
    if announcements == NO_CHANNEL and not settings.send_channel_events_messages:
        return []
    if announcements == NO_CHANNEL:
        said = translated(_("{person} created this channel.", person=mention(actor)), language)
        return [
            Notice(to=each.channel_id, topic=CHANNEL_EVENTS_TOPIC, content=said) for each in public
        ]
    names = _names(public, language)
    facts = {"person": mention(actor), "names": ", ".join(names)}
    text = _("{person} created the following new channels: {names}.", **facts)
    if len(names) == 1:
        text = _("{person} created a new channel {names}.", **facts)
    said = translated(text, language)
    return [Notice(to=ChannelId(announcements), topic=NEW_CHANNELS_TOPIC, content=said)]


def of_subscriptions(
    actor: UserRow,
    joined: Mapping[UserId, Sequence[ChannelRow]],
    people: Mapping[UserId, UserRow],
    language: str,
) -> list[Notice]:
    """Return direct messages to users that another user has subscribed."""
    return [
        Notice(to=[user_id], content=_subscribed(actor, channels, language))
        for user_id, channels in joined.items()
        if user_id != actor.user_id and people[user_id].bot_type is None and channels
    ]


def _subscribed(actor: UserRow, channels: Sequence[ChannelRow], language: str) -> str:
    names, person = _names(channels, language), mention(actor)
    if len(names) == 1:
        text = _("{person} subscribed you to the channel {name}.", person=person, name=names[0])
        return translated(text, language)
    listed = "\n".join(f"* {name}" for name in names)
    text = _("{person} subscribed you to the following channels:", person=person)
    return f"{translated(text, language)}\n\n{listed}"


def _names(channels: Sequence[ChannelRow], language: str) -> list[str]:
    """Return links to the channels.

    If a message has no room for all, the last says how many are missing.
    """
    names: list[str] = []
    left = _MAX_LISTED
    for channel in channels:
        name = channel_link(channel.channel_id, channel.name)
        left -= len(f"* {name}\n")
        if left < 0:
            more = ngettext("{count} more", "{count} more", len(channels) - len(names))
            return [*names, translated(more, language)]
        names.append(name)
    return names
