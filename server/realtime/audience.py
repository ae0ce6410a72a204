"""Match log entries with the live queues that receive them, at the entry's position."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from server.domain.access import GUEST
from server.events.base import Audience, Event
from server.realtime.contacts import NO_CONTACTS, Contacts, ContactTables
from server.realtime.queue import EventQueue
from server.realtime.spans import STILL, Spans, joined, left, span
from storage.ids import ChannelId, Position, UserId
from storage.subscription_spans import SpanRow

_NO_SENDERS: Mapping[UserId, Position] = MappingProxyType({})


class LiveUser:
    """A user with a queue in this process: role, subscription spans by channel, muted senders.

    There may be thousands, in hundreds of channels each: two sorted tuples take a third of the
    memory of a dictionary, and equal objects are shared.
    """

    __slots__ = ("_channels", "_spans", "contacts", "queues", "role", "senders_read", "user_id")

    def __init__(
        self,
        user_id: UserId,
        role: int,
        spans: Iterable[SpanRow],
        senders_read: Mapping[UserId, Position] | None = None,
        contacts: Contacts | None = None,
    ) -> None:
        self.user_id = user_id
        self.role = role
        self.queues: tuple[EventQueue, ...] = ()
        self.contacts = contacts
        """None: the user is not restricted."""
        found: dict[ChannelId, Spans] = {}
        for each in spans:
            subscription_span = span(each.first, each.last)
            before = found.get(each.channel_id)
            found[_same(each.channel_id)] = (
                subscription_span if before is None else before + subscription_span
            )
        self._channels = tuple(sorted(found))
        self._spans = tuple([found[channel_id] for channel_id in self._channels])
        self.senders_read = dict(senders_read) if senders_read else _NO_SENDERS
        """By muted sender: the position below which their messages count as read."""

    @property
    def channels(self) -> Sequence[ChannelId]:
        """Channels to which the user is, or was, subscribed."""
        return self._channels

    def spans(self, channel_id: ChannelId) -> Spans:
        """Return when the user was subscribed to the channel."""
        at = bisect_left(self._channels, channel_id)
        if at < len(self._channels) and self._channels[at] == channel_id:
            return self._spans[at]
        return ()

    def received(self, channel_id: ChannelId, position: Position) -> bool:
        """Return whether the user was subscribed to the channel at that position."""
        for first, last in reversed(self.spans(channel_id)):  # noqa: SIM110 - any() takes twice as long
            if first <= position <= last:
                return True
        return False

    def joined(self, channel_id: ChannelId, position: Position) -> None:
        """Subscribe the user above this position. Idempotent."""
        self._set(channel_id, joined(self.spans(channel_id), position))

    def left(self, channel_id: ChannelId, position: Position) -> None:
        """Unsubscribe the user above this position."""
        spans = self.spans(channel_id)
        if spans:
            self._set(channel_id, left(spans, position))

    def strangers(self, user_ids: Collection[UserId], position: Position) -> frozenset[UserId]:
        """Return the people of these that the user may not have known at that position."""
        if self.contacts is None or not user_ids:
            return NO_CONTACTS
        return frozenset(each for each in user_ids if not self._knows(each, position))

    def _knows(self, other: UserId, position: Position) -> bool:
        assert self.contacts is not None, "the caller has checked"
        if other == self.user_id or self.contacts.knows_without_channels(other, position):
            return True
        meets = self.contacts.tables.receives
        return any(
            self.received(channel_id, position) and meets(other, channel_id, position)
            for channel_id in self._channels
        )

    def has_read(self, sender_id: UserId, position: Position) -> bool:
        """Return whether a message counts as read because its sender is muted."""
        return position < self.senders_read.get(sender_id, 0)

    def mutes(self, sender_id: UserId, position: Position, *, muted: bool) -> None:
        """Mute or unmute a sender from this position on."""
        self.senders_read = {**self.senders_read, sender_id: STILL if muted else position}

    def _set(self, channel_id: ChannelId, spans: Spans) -> None:
        at = bisect_left(self._channels, channel_id)
        rest = at + (self._channels[at : at + 1] == (channel_id,))
        self._channels = (*self._channels[:at], channel_id, *self._channels[rest:])
        self._spans = (*self._spans[:at], spans, *self._spans[rest:])


@lru_cache(maxsize=10_000)
def _same(channel_id: ChannelId) -> ChannelId:
    """Share equal ids: each object takes 32 bytes."""
    return channel_id


class LiveUsers:
    """The users of one realm with queues in this process, indexed by channel."""

    def __init__(self) -> None:
        self.by_id: dict[UserId, LiveUser] = {}
        self._in_channel: dict[ChannelId, dict[UserId, LiveUser]] = {}
        """Current and former subscribers."""
        self._all_public: set[EventQueue] = set()
        self.contacts = ContactTables()
        self.restricted: dict[UserId, LiveUser] = {}
        """Restricted guests: they may know only the people they meet."""
        self._guests_in: Counter[ChannelId] = Counter()
        """Number of restricted guests that are, or were, in each channel."""
        self.version = 0
        """Incremented whenever a user is added, removed or subscribed."""

    def add(self, user: LiveUser) -> None:
        self.version += 1
        self.by_id[user.user_id] = user
        if user.contacts is not None:
            self.restricted[user.user_id] = user
            self._guests_in.update(user.channels)
        for channel_id in user.channels:
            self._in_channel.setdefault(channel_id, {})[user.user_id] = user

    def remove(self, user_id: UserId) -> None:
        user = self.by_id.pop(user_id, None)
        if user is None:
            return
        self.version += 1
        for channel_id in user.channels:
            del self._in_channel[channel_id][user_id]
        self._all_public.difference_update(user.queues)
        if self.restricted.pop(user_id, None) is not None:
            self._forget_contacts_of(user)

    def _forget_contacts_of(self, guest: LiveUser) -> None:
        """Drop the guest's channels from the contact tables, unless another guest needs them."""
        self._guests_in.subtract(guest.channels)
        unneeded = [c for c in guest.channels if self._guests_in[c] <= 0]
        for channel_id in unneeded:
            del self._guests_in[channel_id]
        self.contacts.forget(unneeded)

    def add_queue(self, user: LiveUser, queue: EventQueue) -> None:
        user.queues = (*user.queues, queue)
        if queue.all_public:
            self._all_public.add(queue)

    def remove_queue(self, queue: EventQueue) -> None:
        user = self.by_id.get(queue.user_id)
        if user is None or queue not in user.queues:
            return
        user.queues = tuple([each for each in user.queues if each is not queue])
        self._all_public.discard(queue)
        if not user.queues:
            self.remove(user.user_id)

    def change_membership(
        self, user_id: UserId, channel_id: ChannelId, position: Position, *, joined: bool
    ) -> None:
        user = self.by_id.get(user_id)
        if user is None:
            return
        if joined:
            if user.contacts is not None and channel_id not in user.channels:
                self._guests_in[channel_id] += 1
            user.joined(channel_id, position)
            self.version += 1
            self._in_channel.setdefault(channel_id, {})[user_id] = user
        else:
            user.left(channel_id, position)

    def change_muting(
        self, user_id: UserId, sender_id: UserId, position: Position, *, muted: bool
    ) -> None:
        user = self.by_id.get(user_id)
        if user is not None:
            user.mutes(sender_id, position, muted=muted)

    def in_channel(self, channel_id: ChannelId | None) -> Mapping[UserId, LiveUser]:
        """Current and former subscribers of the channel; all users if it is None."""
        return self.by_id if channel_id is None else self._in_channel.get(channel_id, {})

    def named_outside_channel(self, audience: Audience) -> Sequence[LiveUser]:
        """Users of the audience besides `in_channel`, including queues on all public channels."""
        if audience.everyone:
            return ()
        asked = None if audience.channel_id is None else self._in_channel.get(audience.channel_id)
        there = asked or {}
        others = [*audience.users, *audience.mentioned_bots]
        if audience.public and audience.channel_id is not None:
            others.extend(queue.user_id for queue in self._all_public)
        if not others:
            return ()
        known, wanted = self.by_id, dict.fromkeys(others)
        return [known[each] for each in wanted if each in known and each not in there]


def reaches(audience: Audience, user: LiveUser, position: Position) -> bool:
    """Return whether the audience names the user at this position."""
    if user.user_id in audience.without:
        return False
    if audience.everyone and (audience.guests or user.role != GUEST):
        return True
    if (
        audience.channel_id is not None
        and user.received(audience.channel_id, position)
        and _was_given_message(audience, user)
    ):
        return True
    if user.user_id in audience.mentioned_bots and user.role != GUEST:
        return True
    return user.user_id in audience.users


def _was_given_message(audience: Audience, user: LiveUser) -> bool:
    """Return whether the user received the message of the entry, if the audience requires that."""
    if audience.received_in is None or audience.received_at is None:
        return True
    if user.received(audience.received_in, audience.received_at):
        return True
    if audience.channel_id is None or audience.entered_at is None:
        return False
    return user.received(audience.channel_id, audience.entered_at)


def flags_of(event: Event, audience: Audience, user: LiveUser, position: Position) -> list[str]:
    """Return the user's flags of the message in the entry at this position."""
    flags = [*audience.flags.get(user.user_id, ()), *audience.all_flags]
    sender_id = event.sent_by()
    if sender_id is None:
        return flags
    is_there = audience.channel_id is None or user.received(audience.channel_id, position)
    if not is_there and user.user_id not in audience.mentioned_bots:
        # A mention has no meaning for a user that reads it through all public channels only.
        flags = [flag for flag in flags if flag == "read"]
    if "read" not in flags and user.has_read(sender_id, position):
        flags.insert(0, "read")
    return flags


def reaches_queue(
    audience: Audience, user: LiveUser, queue: EventQueue, position: Position
) -> bool:
    """As `reaches`, for a queue, which may be registered for all public channels."""
    if reaches(audience, user, position):
        return True
    if user.user_id in audience.without:
        return False
    return audience.public and audience.channel_id is not None and queue.all_public
