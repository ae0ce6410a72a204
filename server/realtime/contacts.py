"""Contacts of restricted guests with a queue in this process: the users that they may see.

A guest may see users that share a channel or a direct-message conversation with them. Subscription
spans of a channel are kept once for all guests of the process that are, or were, in it, and updated
with each entry, so that they are valid for every position. Organizations with unrestricted guests
keep none of this.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from server.domain.addresses import RealmAddress
from server.domain.realm_settings import RealmSettings
from server.events.queue_params import queue_params
from server.realm_cache import RealmCache
from server.realtime.spans import Spans, joined, left, receives, span
from storage import realms, shared_contacts, subscription_spans, users
from storage.database import Connection
from storage.event_queues import EventQueueRow
from storage.ids import ChannelId, Position, UserId
from storage.subscription_spans import SpanRow

NO_CONTACTS: Final[frozenset[UserId]] = frozenset()


@dataclass(frozen=True, slots=True)
class LoadedContacts:
    """What a guest's queue needs about other users, from one database snapshot."""

    partners: Sequence[UserId]
    """Users that share a conversation with the guest."""
    channels: Mapping[ChannelId, Sequence[SpanRow]]
    bots: Sequence[UserId]
    address: RealmAddress


class ContactTables:
    """Subscription spans by channel and user, for the channels of restricted guests."""

    def __init__(self) -> None:
        self._bots: set[UserId] = set()
        """Visible to all guests."""
        self._channels: dict[ChannelId, dict[UserId, Spans]] = {}

    def holds(self, channel_ids: Iterable[ChannelId]) -> bool:
        return all(channel_id in self._channels for channel_id in channel_ids)

    def missing(self, channel_ids: Iterable[ChannelId]) -> list[ChannelId]:
        return [channel_id for channel_id in channel_ids if channel_id not in self._channels]

    def load(self, loaded: LoadedContacts) -> list[ChannelId]:
        """Add what is missing; return the new channels, which the caller brings up to date."""
        self._bots.update(loaded.bots)
        new = self.missing(loaded.channels)
        for channel_id in new:
            people: dict[UserId, Spans] = defaultdict(tuple)
            for row in loaded.channels[channel_id]:
                people[row.user_id] += span(row.first, row.last)
            self._channels[channel_id] = dict(people)
        return new

    def forget(self, channel_ids: Iterable[ChannelId]) -> None:
        for channel_id in channel_ids:
            self._channels.pop(channel_id, None)

    def add_bot(self, user_id: UserId) -> None:
        self._bots.add(user_id)

    def change(
        self, user_id: UserId, channel_id: ChannelId, position: Position, *, is_joining: bool
    ) -> None:
        """Subscribe or unsubscribe the user above this position. Idempotent."""
        people = self._channels.get(channel_id)
        if people is not None:
            change = joined if is_joining else left
            people[user_id] = change(people.get(user_id, ()), position)

    def knows_as_bot(self, user_id: UserId) -> bool:
        return user_id in self._bots

    def receives(self, user_id: UserId, channel_id: ChannelId, position: Position) -> bool:
        """Return whether the user was subscribed to the channel at that position."""
        people = self._channels.get(channel_id)
        return people is not None and receives(people.get(user_id, ()), position)


@dataclass(slots=True)
class Contacts:
    """The users that one guest may see, apart from the guest's own subscriptions."""

    tables: ContactTables
    address: RealmAddress
    """The organization's, for the placeholder of hidden users."""
    partners: dict[UserId, Position] = field(default_factory=dict)
    """By user: a position from which on they have shared a conversation."""

    def met(self, user_ids: Iterable[UserId], position: Position) -> None:
        """Add users that share a conversation from this position on."""
        for user_id in user_ids:
            self.partners.setdefault(user_id, position)

    def knows_without_channels(self, user_id: UserId, position: Position) -> bool:
        since = self.partners.get(user_id)
        return (since is not None and since <= position) or self.tables.knows_as_bot(user_id)


async def load_contacts(
    connection: Connection,
    realm_cache: RealmCache,
    known: ContactTables,
    guests: Sequence[EventQueueRow],
    spans: Sequence[SpanRow],
) -> dict[UserId, LoadedContacts]:
    """Load the contacts of the guests that own these queues; empty if guests are unrestricted.

    `spans` are the guests' subscriptions. Channels that `known` holds are not read.
    """
    if not guests or await _are_unrestricted(connection, realm_cache, guests):
        return {}
    channels: dict[UserId, list[ChannelId]] = {row.user_id: [] for row in guests}
    for each in spans:
        if each.user_id in channels:
            channels[each.user_id].append(each.channel_id)
    wanted = sorted({channel_id for ids in channels.values() for channel_id in ids})
    realm_id = realm_cache.realm_id
    there, partners, bots = await connection.together(
        subscription_spans.of_channels(connection, realm_id, known.missing(wanted)),
        shared_contacts.partners_of_each(connection, realm_id, list(channels)),
        users.bot_ids(connection, realm_id),
    )
    by_channel: dict[ChannelId, list[SpanRow]] = defaultdict(list)
    for each in there:
        by_channel[each.channel_id].append(each)
    address = await realm_cache.address()
    return {
        user_id: LoadedContacts(
            partners=partners.get(user_id, ()),
            channels={each: by_channel[each] for each in ids if each in by_channel},
            bots=bots,
            address=address,
        )
        for user_id, ids in channels.items()
    }


async def _are_unrestricted(
    connection: Connection, realm_cache: RealmCache, guests: Sequence[EventQueueRow]
) -> bool:
    """Return whether guests are unrestricted, a setting of the realm."""
    said = {queue_params(row.params).knows_all_users for row in guests}
    if None not in said:
        return said == {True}
    # Queues registered by an older release lack the parameter.
    realm = await realms.by_id(connection, realm_cache.realm_id)
    assert realm is not None, "a realm is never removed"
    graph = await realm_cache.groups_of(connection, realm)
    return RealmSettings.of(realm.settings).guests_know_all_users(graph)
