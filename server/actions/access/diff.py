"""What users gain and lose when groups, permissions, subscriptions or channels change."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from server.actions.locked_realm import LockedRealm
from server.domain.channels import Standing
from storage.channels import ChannelRow
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

    metadata_gained: Mapping[UserId, tuple[ChannelId, ...]]
    metadata_lost: Mapping[UserId, tuple[ChannelId, ...]]
    content_gained: tuple[Pair, ...]
    """Users who may read a channel now, or its history where they could read only some of it."""
    content_lost: tuple[Pair, ...]
    """Users who may not read a channel any more. None of them is subscribed to it."""
    joined: tuple[Pair, ...]
    left: tuple[Pair, ...]
    history_hidden: tuple[ChannelId, ...]
    """Channels with a history that their subscribers do not share any more."""

    def with_metadata(self, pairs: Iterable[Pair]) -> set[Pair]:
        """Return those of these pairs, which had metadata access before, that still have it."""
        return {pair for pair in pairs if pair[1] not in self.metadata_lost.get(pair[0], ())}


def compare(before: AccessState, after: AccessState) -> AccessDiff:
    """Return what users gain and lose. The states have the same users and channels."""
    metadata_gained: dict[UserId, list[ChannelId]] = defaultdict(list)
    metadata_lost: dict[UserId, list[ChannelId]] = defaultdict(list)
    content_gained: list[Pair] = []
    content_lost: list[Pair] = []
    joined: list[Pair] = []
    left: list[Pair] = []
    for user_id, (old_standing, new_standing) in _standings(before, after).items():
        for channel_id in after.channels:
            pair = user_id, channel_id
            old, new = before.access(old_standing, pair), after.access(new_standing, pair)
            if new.metadata and not old.metadata:
                metadata_gained[user_id].append(channel_id)
            elif old.metadata and not new.metadata:
                metadata_lost[user_id].append(channel_id)
            if new.content and (not old.content or (new.history and not old.history)):
                content_gained.append(pair)
            elif old.content and not new.content:
                content_lost.append(pair)
            if (pair in before.subscribed) != (pair in after.subscribed):
                (joined if pair in after.subscribed else left).append(pair)
    return AccessDiff(
        _frozen(metadata_gained),
        _frozen(metadata_lost),
        tuple(content_gained),
        tuple(content_lost),
        tuple(joined),
        tuple(left),
        tuple(i for i in after.channels if _hides_history(before.channels[i], after.channels[i])),
    )


def _standings(
    before: AccessState, after: AccessState
) -> Mapping[UserId, tuple[Standing, Standing]]:
    return {
        user_id: (before.context.standing(user_id), after.context.standing(user_id))
        for user_id in after.context.people
    }


def _hides_history(old: ChannelRow, new: ChannelRow) -> bool:
    return old.history_public_to_subscribers and not new.history_public_to_subscribers


def _frozen(by_user: Mapping[UserId, list[ChannelId]]) -> Mapping[UserId, tuple[ChannelId, ...]]:
    return {user_id: tuple(ids) for user_id, ids in by_user.items()}
