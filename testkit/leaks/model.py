"""Model of who may see what: the product's rules, written without the server's code.

Everything has a number of its own here (users by place, channels and messages by the operation
that made them), so that a history means the same in another run. Time is the number of the
operation. Nothing of this package's server is imported, and no table is read.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST = 100, 200, 300, 400, 600
SPECTATOR = -2
"""The number of a spectator without an account, like a guest in no channel."""


@dataclass(slots=True)
class User:
    number: int
    role: int
    is_bot: bool = False
    is_active: bool = True
    renewed: int = -1
    """When they got another role, which ended their queues; -1: never."""

    @property
    def is_guest(self) -> bool:
        return self.role == GUEST


@dataclass(frozen=True, slots=True)
class Grant:
    """The holders of a permission: people, and groups with all that is nested in them."""

    people: frozenset[int] = frozenset()
    groups: frozenset[int] = frozenset()
    least_role: int = 0
    """Everyone of this role or above it, too."""


NO_USERS = Grant()
EVERYONE = Grant(least_role=GUEST)


@dataclass(slots=True)
class Group:
    people: set[int]
    subgroups: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Channel:
    number: int
    name: str
    is_private: bool = False
    is_web_public: bool = False
    is_protected: bool = False
    """Newcomers do not see what was sent before they came: private channels only."""
    is_archived: bool = False
    grants: Mapping[str, Grant] = field(default_factory=dict)

    @property
    def may_send(self) -> Grant:
        return self.grants.get("can_send_message_group", EVERYONE)


@dataclass(slots=True)
class Message:
    number: int
    sender: int
    channel: int | None
    topic: str
    people: frozenset[int]
    """The participants of a direct message, its sender included."""
    origin: int | None
    content: str
    sent: int
    """When: of two messages the later one has the higher id on the server, too."""
    came: int | None = None
    """When it last came to its channel from another."""
    is_poll: bool = False
    mentioned: set[int] = field(default_factory=set)
    """Users who received it and are named in it, by themselves or by a group."""
    mentions_everyone: bool = False
    starred: set[int] = field(default_factory=set)
    read: set[int] = field(default_factory=set)
    marked: set[int] = field(default_factory=set)
    """Users who may count as readers, though they read nothing: they received it and marked a
    place as read in which it was, though they could not read it, and who may read it no longer.
    """
    perhaps_read: set[int] = field(default_factory=set)
    """Recipients who may have it read by what it is, or since they came to where it is."""
    reactions: set[tuple[int, str]] = field(default_factory=set)
    noticed: set[int] = field(default_factory=set)
    """Users who starred it, reacted to it or marked it unread without having received it: it is in
    their history.
    """


class Model:
    """One organization at one time."""

    def __init__(self, *, guests_know_all_users: bool = True) -> None:
        self.now = 0
        self.guests_know_all_users = guests_know_all_users
        self.lets_spectators = True
        self.users: dict[int, User] = {}
        self.groups: dict[int, Group] = {}
        self.channels: dict[int, Channel] = {}
        self.messages: dict[int, Message] = {}
        self.talked: set[frozenset[int]] = set()
        """The pairs who have ever had a conversation, be its messages deleted or not."""
        self.gone: set[int] = set()
        """Messages that have been deleted."""
        self.spans: dict[tuple[int, int], list[list[int | None]]] = defaultdict(list)
        """When each subscription began and ended (None: still open), by (user, channel)."""
        self.policies: dict[tuple[int, int, str], int | None] = {}
        """The user's policy, by (user, channel, topic); None: it is not certain."""
        self.learned: set[tuple[int, int, str]] = set()
        """The same keys: names of topics that the user has given or met."""

    # ------------------------------------------------------------ people and groups

    def active(self) -> Iterator[User]:
        return (user for user in self.users.values() if user.is_active)

    def in_grant(self, user: User, grant: Grant) -> bool:
        if user.number in grant.people or user.role <= grant.least_role:
            return True
        return any(user.number in self.groups[g].people for g in self._nested(grant.groups))

    def _nested(self, groups: Iterable[int]) -> set[int]:
        found: set[int] = set()
        waiting = list(groups)
        while waiting:
            group = waiting.pop()
            if group not in found:
                found.add(group)
                waiting.extend(self.groups[group].subgroups)
        return found

    def knows(self, user: User, other: User) -> bool:
        """Whether the user may know of the other: some guests do not see all users."""
        if not user.is_guest or self.guests_know_all_users or other.is_bot:
            return True
        if other.number == user.number:
            return True
        together = any(
            self.is_in(user.number, c) and self.is_in(other.number, c) for c in self.channels
        )
        return together or any(
            {user.number, other.number} <= message.people for message in self.messages.values()
        )

    def known_to(self, user: User) -> frozenset[int]:
        """The users known to this one, or perhaps known from before."""
        if not user.is_guest or self.guests_know_all_users:
            return frozenset(self.users)
        return frozenset(n for n, other in self.users.items() if self.has_known(user, other))

    def has_known(self, user: User, other: User) -> bool:
        """Whether they know of the other, or did while what they had said was not deleted."""
        pair = {user.number, other.number}
        return self.knows(user, other) or any(pair <= people for people in self.talked)

    def writes_to(self, user: User, people: Iterable[int]) -> bool | None:
        """Whether they may address these directly; None where the rules leave it to the server."""
        others = [self.users[each] for each in people]
        if not all(self.has_known(user, other) for other in others):
            return False
        sure = all(other.is_active and self.knows(user, other) for other in others)
        return True if sure else None

    # ------------------------------------------------------------ channels

    def is_in(self, user: int, channel: int) -> bool:
        """Whether the user is subscribed now; the subscriptions of the deactivated stay theirs."""
        spans = self.spans.get((user, channel), ())
        return len(spans) > 0 and spans[-1][1] is None

    def subscribers(self, channel: int) -> frozenset[int]:
        return frozenset(user.number for user in self.active() if self.is_in(user.number, channel))

    def join(self, user: int, channel: int) -> None:
        if not self.is_in(user, channel):
            self.spans[user, channel].append([self.now, None])

    def leave(self, user: int, channel: int) -> None:
        if self.is_in(user, channel):
            self.spans[user, channel][-1][1] = self.now

    def reads(self, user: User, channel: Channel) -> bool:
        """Whether the channel's content is for them (of a protected one: what they were given)."""
        if channel.is_web_public or self.is_in(user.number, channel.number):
            return True
        if user.is_guest:
            return False
        return not channel.is_private or self._is_granted(
            user, channel, "can_subscribe_group", "can_add_subscribers_group"
        )

    def sees(self, user: User, channel: Channel) -> bool:
        """Whether they may know that there is such a channel, and who is in it."""
        if self.reads(user, channel):
            return True
        if user.is_guest:
            return False
        return user.role <= ADMINISTRATOR or self._is_granted(
            user, channel, "can_administer_channel_group"
        )

    def seeing(self, channel: Channel) -> frozenset[int]:
        return frozenset(user.number for user in self.active() if self.sees(user, channel))

    def administers(self, user: User, channel: Channel) -> bool:
        return self.sees(user, channel) and (
            user.role <= ADMINISTRATOR
            or (
                not user.is_guest
                and self._is_granted(user, channel, "can_administer_channel_group")
            )
        )

    def _is_granted(self, user: User, channel: Channel, *names: str) -> bool:
        return any(self.in_grant(user, channel.grants.get(name, NO_USERS)) for name in names)

    # ------------------------------------------------------------ messages

    def received(self, user: int, message: Message) -> bool:
        """Whether they were where the message was sent, when it was sent."""
        if message.origin is None:
            return user in message.people
        return self._was_in(user, message.origin, message.sent)

    def was_given(self, user: int, message: Message) -> bool:
        """Whether they received it, or were where it is when it came there."""
        if self.received(user, message):
            return True
        if message.channel is None or message.came is None:
            return False
        return self._was_in(user, message.channel, message.came)

    def _was_in(self, user: int, channel: int, at: int) -> bool:
        return any(
            begun is not None and begun < at and (end is None or at < end)
            for begun, end in self.spans.get((user, channel), ())
        )

    def may_read(self, user: User, message: Message) -> bool:
        if message.channel is None:
            return user.number in message.people
        channel = self.channels[message.channel]
        if not self.reads(user, channel):
            return False
        hides = channel.is_private and channel.is_protected
        return not hides or self.was_given(user.number, message)

    def is_public(self, message: Message) -> bool:
        return message.channel is not None and not self.channels[message.channel].is_private

    def readers(self, message: Message) -> frozenset[int]:
        return frozenset(u.number for u in self.active() if self.may_read(u, message))

    def followers(self, message: Message) -> frozenset[int]:
        """Its readers in its channel or conversation: they get events of its changes."""
        if message.channel is None:
            return frozenset(u.number for u in self.active() if u.number in message.people)
        return self.readers(message) & self.subscribers(message.channel)

    def holders(self, message: Message) -> frozenset[int]:
        """These, and those who have it in their history wherever they are now."""
        kept = (
            n for n in self.readers(message) if n in message.noticed or self.received(n, message)
        )
        return self.followers(message).union(kept)

    def readable(self, user: User) -> frozenset[int]:
        return frozenset(n for n, m in self.messages.items() if self.may_read(user, m))

    def knows_topic(self, user: User, channel: int, topic: str) -> bool:
        """Whether they may know that the topic is called so."""
        if not self.reads(user, self.channels[channel]):
            return False
        place = self.channels[channel]
        if not (place.is_private and place.is_protected):
            return True
        return (user.number, channel, topic) in self.learned or any(
            (m.channel, m.topic) == (channel, topic) and self.may_read(user, m)
            for m in self.messages.values()
        )

    def named(self, people: Iterable[int], groups: Iterable[int]) -> frozenset[int]:
        """These people, and the members of these groups."""
        return frozenset(people).union(*(self.groups[g].people for g in self._nested(groups)))

    def in_feed(self, user: User, message: Message) -> bool:
        """Whether it stands in the list of everything: present subscriptions, direct messages,
        and what they noticed elsewhere.
        """
        if not self.may_read(user, message):
            return False
        if message.channel is None or self.is_in(user.number, message.channel):
            return True
        return user.number in message.noticed

    def is_surely_unread(self, user: User, number: int) -> bool:
        """Whether they received it, have been there ever since, and have not read it."""
        message = self.messages[number]
        if user.number in message.read | message.perhaps_read or not self.may_read(user, message):
            return False
        if message.channel is None:
            return True
        if message.origin != message.channel or not self.is_in(user.number, message.channel):
            return False
        begun = self.spans[user.number, message.channel][-1][0]
        return begun is not None and begun < message.sent

    def posts(self, user: User, channel: Channel) -> bool | None:
        """Whether they may send there; None where the rules leave it to the server."""
        if channel.is_archived:
            return False
        if not (self.reads(user, channel) and self.in_grant(user, channel.may_send)):
            # A bot may post where its owner may.
            return None if user.is_bot else False
        if self.is_in(user.number, channel.number):
            return True
        return None if user.is_guest or channel.is_private else True
