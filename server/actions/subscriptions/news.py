"""Notices about new channels and new subscriptions."""

from collections.abc import Mapping, Sequence
from typing import Final

from server.actions.messages.notices import Notice
from server.domain.channels import CHANNEL_EVENTS_TOPIC
from server.domain.markdown.writing import channel_link, mention
from server.domain.messages import MAX_MESSAGE_LENGTH
from server.domain.realm_settings import NO_CHANNEL
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
    actor: UserRow, created: Sequence[ChannelRow], announcements: ChannelId
) -> list[Notice]:
    """Return announcements of new public channels, if the realm has a channel for them.

    A realm without one gets a message in the channel itself.
    """
    public = [channel for channel in created if not channel.invite_only]
    if not public:
        return []
    if announcements == NO_CHANNEL:
        said = f"{mention(actor)} created this channel."
        return [
            Notice(to=each.channel_id, topic=CHANNEL_EVENTS_TOPIC, content=said) for each in public
        ]
    names = _names(public)
    said = (
        f"{mention(actor)} created a new channel {names[0]}."
        if len(names) == 1
        else f"{mention(actor)} created the following new channels: {', '.join(names)}."
    )
    return [Notice(to=announcements, topic=NEW_CHANNELS_TOPIC, content=said)]


def of_subscriptions(
    actor: UserRow, joined: Mapping[UserId, Sequence[ChannelRow]], people: Mapping[UserId, UserRow]
) -> list[Notice]:
    """Return direct messages to users that another user has subscribed."""
    return [
        Notice(to=[user_id], content=_subscribed(actor, channels))
        for user_id, channels in joined.items()
        if user_id != actor.user_id and people[user_id].bot_type is None and channels
    ]


def _subscribed(actor: UserRow, channels: Sequence[ChannelRow]) -> str:
    names = _names(channels)
    if len(names) == 1:
        return f"{mention(actor)} subscribed you to the channel {names[0]}."
    listed = "\n".join(f"* {name}" for name in names)
    return f"{mention(actor)} subscribed you to the following channels:\n\n{listed}"


def _names(channels: Sequence[ChannelRow]) -> list[str]:
    """Return links to the channels.

    If a message has no room for all, the last says how many are missing.
    """
    names: list[str] = []
    left = _MAX_LISTED
    for channel in channels:
        name = channel_link(channel.channel_id, channel.name)
        left -= len(f"* {name}\n")
        if left < 0:
            return [*names, f"{len(channels) - len(names)} more"]
        names.append(name)
    return names
