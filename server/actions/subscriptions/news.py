"""What people are told in messages when channels are made or others subscribe them."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from server.actions.messages.decide import Draft
from server.domain.realm_settings import NO_CHANNEL
from storage.channels import ChannelRow
from storage.ids import ChannelId, UserId
from storage.users import UserRow

MAX_TOLD = 100
"""More people who are subscribed at once are not written to."""
NEW_CHANNELS_TOPIC = "new channels"
CHANNEL_EVENTS_TOPIC = "channel events"


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the notification bot: to a channel's topic, or to somebody."""

    channel_id: ChannelId | None = None
    topic: str | None = None
    user_id: UserId | None = None
    content: str

    def draft(self, work_id: str) -> Draft:
        """The letter, under a name by which it is sent once however often it is tried."""
        digest = hashlib.sha256(msgspec.json.encode(self)).digest()
        key = f"subscribing:{work_id}:{self.channel_id or ''}:{self.user_id or ''}"
        if self.channel_id is not None:
            return Draft(
                type="channel",
                to=self.channel_id,
                topic=self.topic,
                content=self.content,
                idempotency_key=key,
                idempotency_digest=digest,
            )
        assert self.user_id is not None
        return Draft(
            type="direct",
            to=[self.user_id],
            topic=None,
            content=self.content,
            idempotency_key=key,
            idempotency_digest=digest,
        )


def of_new_channels(
    actor: UserRow, created: Sequence[ChannelRow], announcements: ChannelId
) -> list[Letter]:
    """Announces those that everybody may know of, where the organization does that.

    An organization without such a place finds it in the channel itself.
    """
    public = [channel for channel in created if not channel.invite_only]
    if not public:
        return []
    if announcements == NO_CHANNEL:
        said = f"{_mention(actor)} created this channel."
        return [
            Letter(channel_id=each.channel_id, topic=CHANNEL_EVENTS_TOPIC, content=said)
            for each in public
        ]
    names = _names(public)
    said = (
        f"{_mention(actor)} created a new channel {names[0]}."
        if len(names) == 1
        else f"{_mention(actor)} created the following new channels: {', '.join(names)}."
    )
    return [Letter(channel_id=announcements, topic=NEW_CHANNELS_TOPIC, content=said)]


def of_subscriptions(
    actor: UserRow, joined: Mapping[UserId, Sequence[ChannelRow]], people: Mapping[UserId, UserRow]
) -> list[Letter]:
    """Tells people that somebody else has subscribed them, and to what."""
    return [
        Letter(user_id=user_id, content=_subscribed(actor, channels))
        for user_id, channels in joined.items()
        if user_id != actor.user_id and people[user_id].bot_type is None and channels
    ]


def _subscribed(actor: UserRow, channels: Sequence[ChannelRow]) -> str:
    names = _names(channels)
    if len(names) == 1:
        return f"{_mention(actor)} subscribed you to the channel {names[0]}."
    listed = "\n".join(f"* {name}" for name in names)
    return f"{_mention(actor)} subscribed you to the following channels:\n\n{listed}"


def _names(channels: Iterable[ChannelRow]) -> list[str]:
    return [f"#**{channel.name}**" for channel in channels]


def _mention(actor: UserRow) -> str:
    return f"@_**{actor.full_name}|{actor.user_id}**"
