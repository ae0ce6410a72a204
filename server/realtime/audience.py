"""Which live queues an entry reaches at its position."""

from collections.abc import Iterable, Iterator, Mapping

from server.domain.access import GUEST
from server.events.base import Audience, Event
from server.realtime.queue import EventQueue
from storage.ids import ChannelId, Position, UserId
from storage.subscriptions import SpanRow

STILL = Position(2**62)


class LiveUser:
    """Somebody with a queue here: their role, what they received when, and whom they mute."""

    __slots__ = ("queues", "role", "senders_read", "spans", "user_id")

    def __init__(
        self,
        user_id: UserId,
        role: int,
        spans: Iterable[SpanRow],
        senders_read: Mapping[UserId, Position] | None = None,
    ) -> None:
        self.user_id = user_id
        self.role = role
        self.queues: list[EventQueue] = []
        self.spans: dict[ChannelId, list[tuple[Position, Position]]] = {}
        for span in spans:
            last = STILL if span.last is None else span.last
            self.spans.setdefault(span.channel_id, []).append((span.first, last))
        self.senders_read = dict(senders_read or {})
        """Below which position the messages of whom count as read because they are muted."""

    def received(self, channel_id: ChannelId, position: Position) -> bool:
        """Whether they were subscribed to the channel at that position."""
        spans = self.spans.get(channel_id)
        if spans is None:
            return False
        return any(first <= position <= last for first, last in reversed(spans))

    def joined(self, channel_id: ChannelId, position: Position) -> None:
        """They receive the channel above this position. Told twice, it holds once."""
        spans = self.spans.setdefault(channel_id, [])
        if not self.received(channel_id, Position(position + 1)):
            spans.append((Position(position + 1), STILL))

    def left(self, channel_id: ChannelId, position: Position) -> None:
        """They receive nothing of the channel above this position."""
        spans = self.spans.get(channel_id)
        if spans is not None:
            spans[:] = [(first, min(last, position)) for first, last in spans if first <= position]

    def has_read(self, sender_id: UserId, position: Position) -> bool:
        """Whether a message counts as read because of who sent it."""
        return position < self.senders_read.get(sender_id, 0)

    def mutes(self, sender_id: UserId, position: Position, *, muted: bool) -> None:
        """They mute somebody from this position on, or no longer."""
        self.senders_read[sender_id] = STILL if muted else position


class LiveUsers:
    """The users of one realm with queues here, and who of them may be in a channel."""

    def __init__(self) -> None:
        self.by_id: dict[UserId, LiveUser] = {}
        self._in_channel: dict[ChannelId, set[UserId]] = {}
        self._all_public: set[EventQueue] = set()

    def add(self, user: LiveUser) -> None:
        self.by_id[user.user_id] = user
        for channel_id in user.spans:
            self._in_channel.setdefault(channel_id, set()).add(user.user_id)

    def remove(self, user_id: UserId) -> None:
        user = self.by_id.pop(user_id, None)
        if user is None:
            return
        for channel_id in user.spans:
            self._in_channel[channel_id].discard(user_id)
        self._all_public.difference_update(user.queues)

    def add_queue(self, user: LiveUser, queue: EventQueue) -> None:
        user.queues.append(queue)
        if queue.all_public:
            self._all_public.add(queue)

    def remove_queue(self, queue: EventQueue) -> None:
        user = self.by_id.get(queue.user_id)
        if user is None or queue not in user.queues:
            return
        user.queues.remove(queue)
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
            user.joined(channel_id, position)
            self._in_channel.setdefault(channel_id, set()).add(user_id)
        else:
            user.left(channel_id, position)

    def change_muting(
        self, user_id: UserId, sender_id: UserId, position: Position, *, muted: bool
    ) -> None:
        user = self.by_id.get(user_id)
        if user is not None:
            user.mutes(sender_id, position, muted=muted)

    def reached(self, audience: Audience, position: Position) -> Iterator[EventQueue]:
        """The queues whose users the audience names at this position."""
        candidates: Iterable[UserId]
        if audience.everyone:
            candidates = list(self.by_id)
        else:
            channel = self._in_channel.get(audience.channel_id) if audience.channel_id else None
            candidates = {*(channel or ()), *audience.users}
        for user_id in candidates:
            user = self.by_id.get(user_id)
            if user is not None and reaches(audience, user, position):
                yield from user.queues
        if audience.public and audience.channel_id is not None:
            yield from [
                queue
                for queue in self._all_public
                if queue.user_id not in audience.without
                and not reaches(audience, self.by_id[queue.user_id], position)
            ]


def reaches(audience: Audience, user: LiveUser, position: Position) -> bool:
    """Whether the audience names the user at this position."""
    if user.user_id in audience.without:
        return False
    if audience.everyone and (audience.guests or user.role != GUEST):
        return True
    if (
        audience.channel_id is not None
        and user.received(audience.channel_id, position)
        and _received_message(audience, user)
    ):
        return True
    return user.user_id in audience.users


def _received_message(audience: Audience, user: LiveUser) -> bool:
    """Whether the user received the message that the entry is about, where that is asked."""
    if audience.received_in is None or audience.received_at is None:
        return True
    return user.received(audience.received_in, audience.received_at)


def flags_of(event: Event, audience: Audience, user: LiveUser, position: Position) -> list[str]:
    """The user's own flags on what the entry at this position tells."""
    flags = [*audience.flags.get(user.user_id, ()), *audience.all_flags]
    sender_id = event.sent_by()
    if sender_id is None:
        return flags
    if audience.channel_id is not None and not user.received(audience.channel_id, position):
        # To whoever listens to all public channels nothing is said by naming them.
        flags = [flag for flag in flags if flag == "read"]
    if "read" not in flags and user.has_read(sender_id, position):
        flags.insert(0, "read")
    return flags


def reaches_queue(
    audience: Audience, user: LiveUser, queue: EventQueue, position: Position
) -> bool:
    """The same for one queue, which may have asked for all public channels."""
    if reaches(audience, user, position):
        return True
    if user.user_id in audience.without:
        return False
    return audience.public and audience.channel_id is not None and queue.all_public
