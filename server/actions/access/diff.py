"""What users gain and lose when groups, permissions, subscriptions or channels change."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from server.actions.locked_realm import LockedRealm
from server.domain.channels import Standing
from storage import subscriptions
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, UserId

Pair = tuple[UserId, ChannelId]


class AccessLevel(NamedTuple):
    """What a user may do with a channel."""

    metadata: bool
    """See its name, settings and subscribers."""
    content: bool
    """Read the messages that arrive while they are subscribed."""
    history: bool
    """Read all messages."""


@dataclass(frozen=True, slots=True)
class AccessState:
    """Everything that access follows from, at one point in time."""

    context: LockedRealm
    """Groups, settings, and the users concerned."""
    channels: Mapping[ChannelId, ChannelRow]
    subscribed: Collection[Pair]

    @classmethod
    async def read(
        cls, connection: Connection, context: LockedRealm, channels: Mapping[ChannelId, ChannelRow]
    ) -> "AccessState":
        """Return the present state of the context's users and these locked channels."""
        rows = await subscriptions.in_channels(
            connection,
            context.realm.realm_id,
            user_ids=sorted(context.people),
            channel_ids=sorted(channels),
        )
        return cls(context, channels, {(row.user_id, row.channel_id) for row in rows if row.active})

    def access(self, standing: Standing, pair: Pair) -> AccessLevel:
        channel, subscribed = self.channels[pair[1]], pair in self.subscribed
        return AccessLevel(
            standing.sees(channel, subscribed=subscribed),
            standing.reads(channel, subscribed=subscribed),
            standing.reads_history(channel, subscribed=subscribed),
        )


@dataclass(frozen=True, slots=True)
class AccessDiff:
    """The difference between two states."""

    metadata_gained: list[Pair] = field(default_factory=list)
    metadata_lost: list[Pair] = field(default_factory=list)
    content_gained: list[Pair] = field(default_factory=list)
    """Users who may read a channel now, or its history where they could read only some of it."""
    content_lost: list[Pair] = field(default_factory=list)
    """Users who may not read a channel any more. None of them is subscribed to it."""
    joined: list[Pair] = field(default_factory=list)
    left: list[Pair] = field(default_factory=list)
    history_hidden: list[ChannelId] = field(default_factory=list)
    """Channels with a history that their subscribers do not share any more."""

    def with_metadata(self, pairs: Iterable[Pair]) -> set[Pair]:
        """Return those of these pairs, which had metadata access before, that still have it."""
        return set(pairs).difference(self.metadata_lost)


def compare(before: AccessState, after: AccessState) -> AccessDiff:
    """Return what users gain and lose. The states have the same users and channels."""
    diff = AccessDiff()
    for user_id in after.context.people:
        was, now = before.context.standing(user_id), after.context.standing(user_id)
        for channel_id in after.channels:
            pair = user_id, channel_id
            old, new = before.access(was, pair), after.access(now, pair)
            if new.metadata != old.metadata:
                (diff.metadata_gained if new.metadata else diff.metadata_lost).append(pair)
            if new.content and (not old.content or (new.history and not old.history)):
                diff.content_gained.append(pair)
            elif old.content and not new.content:
                diff.content_lost.append(pair)
            if (pair in before.subscribed) != (pair in after.subscribed):
                (diff.joined if pair in after.subscribed else diff.left).append(pair)
    for channel_id, channel in after.channels.items():
        was_shared = before.channels[channel_id].history_public_to_subscribers
        if was_shared and not channel.history_public_to_subscribers:
            diff.history_hidden.append(channel_id)
    return diff
