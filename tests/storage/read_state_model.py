"""The naive model of reading: a row for each recipient of each message, and nothing clever.

It shares no code with storage. Ids are those that the database gave.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

GUEST = 600
MUTED, UNMUTED, FOLLOWED = 1, 2, 3


@dataclass
class Channel:
    invite_only: bool
    is_web_public: bool
    shares_history: bool


@dataclass
class Message:
    id: int
    sender: int
    channel: int | None
    conversation: int
    has_wildcard: bool = False
    tells_of_resolving: bool = False
    came_to: frozenset[int] = frozenset()
    """Who was in its channel when it last came there from another."""


@dataclass
class Row:
    """What one user has of one message."""

    received: bool
    is_read: bool
    flags: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Looked:
    """What a page shows."""

    ids: list[int]
    found_anchor: bool
    found_oldest: bool
    found_newest: bool


class Model:
    def __init__(self) -> None:
        self.roles: dict[int, int] = {}
        self.channels: dict[int, Channel] = {}
        self.topics: dict[int, tuple[int, str]] = {}
        self.groups: dict[int, frozenset[int]] = {}
        self.subscribed: set[tuple[int, int]] = set()
        self.messages: dict[int, Message] = {}
        self.rows: dict[tuple[int, int], Row] = {}
        self.mutes: set[tuple[int, int]] = set()
        """Pairs of a user and one they mute."""
        self.policies: dict[tuple[int, int], int] = {}
        """What a user wants of a topic."""
        self.muted_channels: set[tuple[int, int]] = set()
        """Which channels a user has muted; leaving one does not change that."""
        self.of_notices: dict[int, str] = {}
        """Who has all notices of resolving unread, or none; the others those of followed topics."""

    # ------------------------------------------------------------ what is true

    def may_read(self, user: int, message: Message) -> bool:
        row = self.rows.get((user, message.id))
        received = row is not None and row.received
        if message.channel is None:
            return user in self.groups[message.conversation]
        channel = self.channels[message.channel]
        if channel.is_web_public:
            return True
        if not channel.invite_only and self.roles[user] != GUEST:
            return True
        if (user, message.channel) not in self.subscribed:
            return False
        is_shared = not channel.invite_only or channel.shares_history
        return is_shared or received or user in message.came_to

    def is_unread(self, user: int, message: Message) -> bool:
        row = self.rows.get((user, message.id))
        return row is not None and not row.is_read and self.may_read(user, message)

    def received(self, user: int, message: Message) -> bool:
        row = self.rows.get((user, message.id))
        return row is not None and row.received

    def flags(self, user: int, message: Message) -> set[str]:
        row = self.rows.get((user, message.id))
        flags = set() if row is None else set(row.flags)
        if not self.is_unread(user, message):
            flags.add("read")
        if not self.received(user, message):
            flags.add("historical")
        elif message.has_wildcard:
            flags |= {"stream_wildcard_mentioned", "wildcard_mentioned"}
        return flags

    def is_mention(self, user: int, message: Message) -> bool:
        """Whether the message counts as a mention of the user: in muted places, only by name."""
        flags = self.flags(user, message)
        if "mentioned" in flags or "wildcard_mentioned" not in flags:
            return "mentioned" in flags
        return message.channel is None or not self._mutes_place(user, message)

    def _mutes_place(self, user: int, message: Message) -> bool:
        policy = self.policies.get((user, message.conversation), 0)
        if policy in (UNMUTED, FOLLOWED):
            return False
        place = (user, message.channel)
        return policy == MUTED or (place in self.muted_channels and place in self.subscribed)

    def readable(self, user: int) -> list[Message]:
        return [m for m in self.messages.values() if self.may_read(user, m)]

    def unread(self, user: int) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for message in self.messages.values():
            if self.is_unread(user, message):
                found.setdefault(message.conversation, []).append(message.id)
        return found

    def is_all(self, user: int, message: Message, narrows: Iterable[str]) -> bool:
        """Whether `is:` holds of the message for each of these."""
        flags = self.flags(user, message)
        holds = {"unread": "read" not in flags, "starred": "starred" in flags}
        holds["mentioned"] = bool(flags & {"mentioned", "wildcard_mentioned"})
        return all(holds[narrow] for narrow in narrows)

    def in_feed(self, user: int, message: Message) -> bool:
        if message.channel is None or (user, message.channel) in self.subscribed:
            return True
        row = self.rows.get((user, message.id))
        return row is not None and not row.received

    # ------------------------------------------------------------ what happens

    def send(
        self,
        message: Message,
        *,
        read_by_sender: bool,
        mentioned: Collection[int] = (),
    ) -> None:
        self.messages[message.id] = message
        for user in self._recipients(message):
            flags = {"mentioned"} if user in mentioned else set()
            is_read = (user == message.sender and read_by_sender) or (
                (user, message.sender) in self.mutes
            )
            if message.tells_of_resolving:
                is_read = is_read or not self._wants_notices(user, message.conversation)
            self.rows[user, message.id] = Row(received=True, is_read=is_read, flags=flags)

    def _wants_notices(self, user: int, topic: int) -> bool:
        chosen = self.of_notices.get(user)
        follows = self.policies.get((user, topic)) == FOLLOWED
        return chosen == "never" or (chosen != "always" and follows)

    def _recipients(self, message: Message) -> Iterable[int]:
        if message.channel is None:
            return self.groups[message.conversation]
        return [u for u in self.roles if (u, message.channel) in self.subscribed]

    def move(self, ids: Iterable[int], channel: int, topic: int) -> None:
        there = frozenset(u for u in self.roles if (u, channel) in self.subscribed)
        for message in [self.messages[i] for i in ids]:
            if message.channel != channel:
                message.came_to = there
            message.channel = channel
            message.conversation = topic

    def delete(self, ids: Iterable[int]) -> None:
        for i in ids:
            del self.messages[i]
        self.rows = {key: row for key, row in self.rows.items() if key[1] in self.messages}

    # ------------------------------------------------------------ what users do

    def mark_read(self, user: int, ids: Iterable[int]) -> list[int]:
        changed = [i for i in self._known(ids) if self.is_unread(user, self.messages[i])]
        for i in changed:
            self.rows[user, i].is_read = True
        return changed

    def mark_unread(self, user: int, ids: Iterable[int]) -> tuple[list[int], list[int]]:
        changed, left_out = [], set()
        for i in self._known(ids):
            message = self.messages[i]
            if not self.may_read(user, message):
                continue
            if message.channel is not None and (user, message.channel) not in self.subscribed:
                left_out.add(message.channel)
            elif not self.is_unread(user, message):
                self._row(user, i).is_read = False
                changed.append(i)
        return changed, sorted(left_out)

    def mark_shown_read(self, user: int, shown: Callable[[Message], bool]) -> list[int]:
        """What a place shows, whether or not the user may read there."""
        changed = []
        for i in sorted(self.messages):
            row = self.rows.get((user, i))
            if row is not None and not row.is_read and shown(self.messages[i]):
                row.is_read = True
                changed.append(i)
        return changed

    def mark_all_read(self, user: int) -> list[int]:
        changed = [i for i in sorted(self.messages) if self.is_unread(user, self.messages[i])]
        for (owner, _), row in self.rows.items():
            if owner == user:
                row.is_read = True
        return changed

    def mute(self, user: int, muted: int) -> list[int]:
        """What they saw of that person as unread; all of it is read now."""
        changed = [
            m.id for m in self.messages.values() if m.sender == muted and self.is_unread(user, m)
        ]
        for (owner, message_id), row in self.rows.items():
            if owner == user and self.messages[message_id].sender == muted:
                row.is_read = True
        self.mutes.add((user, muted))
        return sorted(changed)

    def take_part(self, user: int, topic: int, gained: int) -> bool:
        """Whether the user's policy for the topic is raised to what they gain."""
        if gained <= self.policies.get((user, topic), 0):
            return False
        self.policies[user, topic] = gained
        return True

    def change_flag(self, user: int, ids: Iterable[int], flag: str, *, add: bool) -> list[int]:
        changed = []
        for i in self._known(ids):
            row = self.rows.get((user, i))
            has_flag = row is not None and flag in row.flags
            if self.may_read(user, self.messages[i]) and has_flag != add:
                self._row(user, i).flags ^= {flag}
                changed.append(i)
        return changed

    def _known(self, ids: Iterable[int]) -> list[int]:
        return sorted(i for i in set(ids) if i in self.messages)

    def _row(self, user: int, message_id: int) -> Row:
        """The user's row, made if they have none: that puts the message into their history."""
        return self.rows.setdefault(
            (user, message_id), Row(received=False, is_read=True, flags={"historical"})
        )

    # ------------------------------------------------------------ what users look at

    def look(
        self,
        ids: Iterable[int],
        anchor: int,
        before: int,
        after: int,
        include_anchor: bool,  # noqa: FBT001
        ends: tuple[int, int],
    ) -> Looked:
        """The window around the anchor, of ids in any order; `ends` are the outermost anchors."""
        every = sorted(ids)
        below = [i for i in every if i < anchor][-before:] if before else []
        above = [i for i in every if i > anchor][:after]
        at = [i for i in every if i == anchor and include_anchor]
        return Looked(
            below + at + above,
            bool(at),
            anchor == ends[0] or len(below) < before,
            anchor == ends[1] or len(above) < after,
        )
