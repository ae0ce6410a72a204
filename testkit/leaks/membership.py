"""Operations on channels and their subscribers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from server.actions.channels.change import change_channel
from server.domain.actor import Actor
from server.domain.channel_changes import ChannelChange
from server.transactions import Tx
from storage.ids import ChannelId
from testkit.faults.http import Answer
from testkit.leaks.access import ReadAccess
from testkit.leaks.expected_events import NO_USERS, ExpectedEvent
from testkit.leaks.model import OWNER, Channel, Grant, Model
from testkit.leaks.operations import Step, noticed
from testkit.leaks.policies import policies_gone
from testkit.leaks.server_clients import ServerClients

CHANNEL_EVENTS = "channel events"
"""The topic in which the notification bot announces changes."""


@dataclass(frozen=True, slots=True)
class Privacy:
    """The privacy of a channel: at most one is true."""

    is_private: bool = False
    is_protected: bool = False
    """Private, and newcomers do not see what was sent before."""
    is_web_public: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Create(Step):
    """A new channel, with its first subscribers."""

    privacy: Privacy
    subscribers: tuple[int, ...]
    grants: Mapping[str, Grant] = field(default_factory=dict)

    @override
    def fits(self, model: Model) -> bool:
        people = {*self.subscribers}.union(*(grant.people for grant in self.grants.values()))
        return all(model.users[each].is_active for each in people) and Step.fits(self, model)

    async def perform(self, clients: ServerClients) -> Answer:
        grants: dict[str, Any] = {
            name: {
                "direct_members": clients.users.of(sorted(grant.people)),
                "direct_subgroups": clients.groups.of(sorted(grant.groups)),
            }
            for name, grant in self.grants.items()
        }
        return await clients.ask(
            self.actor,
            "POST",
            "/channels/create",
            name=f"channel {self.number}",
            subscribers=clients.users.of(self.subscribers),
            invite_only=self.privacy.is_private,
            is_web_public=self.privacy.is_web_public,
            history_public_to_subscribers=not self.privacy.is_protected,
            send_new_subscription_messages=False,
            **grants,
        )

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        clients.channels.add(self.number, answer.body["id"])
        creator = Grant(people=frozenset({self.actor}))
        channel = Channel(
            number=self.number,
            name=f"channel {self.number}",
            is_private=self.privacy.is_private,
            is_protected=self.privacy.is_protected,
            is_web_public=self.privacy.is_web_public,
            grants={"can_administer_channel_group": creator, **self.grants},
        )
        model.channels[self.number] = channel
        expected = [_shown(channel, model.seeing(channel))]
        return expected + _join(model, channel, frozenset(self.subscribers))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfChannel(Step):
    """Something that is done to one channel."""

    channel: int

    @override
    def fits(self, model: Model) -> bool:
        return self.channel in model.channels and Step.fits(self, model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changing(OfChannel):
    """A change of the channel itself, which the notification bot announces in the channel."""

    is_announced: bool = True
    """False: it is made as an endpoint makes it, and nothing follows from it."""

    async def change(self, clients: ServerClients, **wanted: Any) -> Answer:
        """Make it; `wanted` is what the endpoint takes."""
        channel_id = ChannelId(clients.channels.ids[self.channel])
        if self.is_announced:
            answer = await clients.ask(self.actor, "PATCH", f"/streams/{channel_id}", **wanted)
            return await clients.with_notices(answer)
        if "is_private" in wanted:
            wanted["invite_only"] = wanted.pop("is_private")
        change = ChannelChange(**wanted)

        async def action(tx: Tx, actor: Actor) -> None:
            await change_channel(tx, actor, channel_id, change, web_public_enabled=True)

        return await clients.act(self.actor, action)

    def said(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        """The announcement of the bot, in a channel that is not archived."""
        if not self.is_announced or model.channels[self.channel].is_archived:
            return []
        return noticed(model, clients, answer, (self.channel, CHANNEL_EVENTS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe(OfChannel):
    """People join: oneself, or others."""

    people: tuple[int, ...]

    @override
    def fits(self, model: Model) -> bool:
        there = all(model.users[each].is_active for each in self.people)
        return there and OfChannel.fits(self, model)

    @override
    def allowed(self, model: Model) -> bool | None:
        actor, channel = model.users[self.actor], model.channels[self.channel]
        if channel.is_archived or not model.reads(actor, channel):
            # Who administers a public channel may add people; this one is private.
            return False
        return True if self.people == (self.actor,) else None

    async def perform(self, clients: ServerClients) -> Answer:
        name = f"channel {self.channel}"
        return await clients.ask(
            self.actor,
            "POST",
            "/users/me/subscriptions",
            subscriptions=[{"name": name}],
            principals=clients.users.of(self.people),
            send_new_subscription_messages=False,
        )

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        return _join(model, model.channels[self.channel], frozenset(self.people))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsubscribe(OfChannel):
    """Users leave, or are removed."""

    people: tuple[int, ...]

    @override
    def fits(self, model: Model) -> bool:
        there = all(model.users[each].is_active for each in self.people)
        return there and OfChannel.fits(self, model)

    @override
    def allowed(self, model: Model) -> bool | None:
        return True if self.people == (self.actor,) and self._is_there(model) else None

    def _is_there(self, model: Model) -> bool:
        return model.is_in(self.actor, self.channel)

    async def perform(self, clients: ServerClients) -> Answer:
        return await clients.ask(
            self.actor,
            "DELETE",
            "/users/me/subscriptions",
            subscriptions=[f"channel {self.channel}"],
            principals=clients.users.of(self.people),
        )

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        channel = model.channels[self.channel]
        leaving = model.subscribers(self.channel) & frozenset(self.people)
        left_read = _left_read(model, self.channel, leaving)
        before = ReadAccess.of(model, self.channel, leaving)
        for user in leaving:
            model.leave(user, self.channel)
        seeing = model.seeing(channel)
        return [
            *left_read,
            _of_own("remove", channel, leaving),
            ExpectedEvent(
                kind="stream",
                key=("stream", "delete", self.channel),
                must=leaving - seeing,
            ),
            *_peers(channel, "peer_remove", leaving, seeing),
            *before.changed(model),
        ]


def _left_read(model: Model, channel: int, leaving: frozenset[int]) -> list[ExpectedEvent]:
    """Users who leave a channel have read it, and get an event for what was unread there."""
    expected = []
    for number, message in model.messages.items():
        if message.channel == channel:
            unread = {u for u in leaving if model.is_surely_unread(model.users[u], number)}
            key = ("update_message_flags", "add", "read", number)
            expected.append(
                ExpectedEvent(
                    kind="update_message_flags", key=key, must=frozenset(unread), may=leaving
                )
            )
            message.read.update(leaving)
    return expected


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePrivacy(Changing):
    """A channel becomes private, public or web-public, and shares its history or not."""

    privacy: Privacy

    @override
    def allowed(self, model: Model) -> bool | None:
        user, channel = model.users[self.actor], model.channels[self.channel]
        if not model.administers(user, channel):
            return False
        if self._is_as_it_was(channel):
            return True
        # Opening what they may not read would let them read it.
        if not model.reads(user, channel):
            return False
        opens_to_web = self.privacy.is_web_public and not channel.is_web_public
        if opens_to_web and not model.lets_spectators:
            return False
        return user.role == OWNER or not opens_to_web

    async def perform(self, clients: ServerClients) -> Answer:
        return await self.change(
            clients,
            is_private=self.privacy.is_private,
            is_web_public=self.privacy.is_web_public,
            history_public_to_subscribers=not self.privacy.is_protected,
        )

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        channel = model.channels[self.channel]
        if self._is_as_it_was(channel):
            return []
        saw = model.seeing(channel)
        before = ReadAccess.of(model, self.channel, frozenset(model.users))
        channel.is_private = self.privacy.is_private
        channel.is_protected = self.privacy.is_protected
        channel.is_web_public = self.privacy.is_web_public
        sees = model.seeing(channel)
        there = model.subscribers(self.channel)
        update = ("stream", "update", self.channel, "invite_only")
        return [
            ExpectedEvent(kind="stream", key=update, must=sees & saw, may=saw),
            ExpectedEvent(kind="stream", key=("stream", "delete", self.channel), must=saw - sees),
            _shown(channel, sees - saw),
            *(
                ExpectedEvent(
                    kind="subscription",
                    key=("subscription", "peer_add", self.channel, user),
                    must=sees - saw,
                )
                for user in there
            ),
            *self._hidden(model, saw),
            *before.changed(model),
            *self.said(model, clients, answer),
        ]

    def _is_as_it_was(self, channel: Channel) -> bool:
        wanted = self.privacy
        was = (channel.is_private, channel.is_protected, channel.is_web_public)
        return was == (wanted.is_private, wanted.is_protected, wanted.is_web_public)

    def _hidden(self, model: Model, saw: frozenset[int]) -> list[ExpectedEvent]:
        """Users who may not read a message any more may get an event that it is read."""
        expected = []
        for number, message in model.messages.items():
            if message.channel == self.channel:
                lost = saw - model.readers(message)
                message.marked |= lost
                key = ("update_message_flags", "add", "read", number)
                expected.append(
                    ExpectedEvent(kind="update_message_flags", key=key, must=NO_USERS, may=lost)
                )
        return expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive(Changing):
    """A channel is archived, which marks it as read for all users, or unarchived."""

    archived: bool

    @override
    def allowed(self, model: Model) -> bool | None:
        channel = model.channels[self.channel]
        if channel.is_archived == self.archived:
            return False
        return model.administers(model.users[self.actor], channel)

    async def perform(self, clients: ServerClients) -> Answer:
        return await self.change(clients, is_archived=self.archived)

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        channel = model.channels[self.channel]
        channel.is_archived = self.archived
        key = ("stream", "update", self.channel, "is_archived")
        expected = [ExpectedEvent(kind="stream", key=key, must=model.seeing(channel))]
        if self.archived and self.is_announced:
            expected += _closed_read(model, self.channel)
            expected += policies_gone(model, self.channel)
            expected += _stars_lost(
                model, self.channel, frozenset(u.number for u in model.active())
            )
        return expected + self.said(model, clients, answer)


def _closed_read(model: Model, channel: int) -> list[ExpectedEvent]:
    """The channel is hidden from all, so its messages are read for all users with unread ones."""
    there = model.subscribers(channel)
    expected = []
    for number, message in model.messages.items():
        if message.channel == channel:
            unread = frozenset(u for u in there if model.is_surely_unread(model.users[u], number))
            others = frozenset(
                u.number
                for u in model.active()
                if u.number in message.noticed or model.received(u.number, message)
            )
            key = ("update_message_flags", "add", "read", number)
            expected.append(
                ExpectedEvent(kind="update_message_flags", key=key, must=unread, may=there | others)
            )
            message.read.update(there | others)
    return expected


def _join(model: Model, channel: Channel, people: frozenset[int]) -> list[ExpectedEvent]:
    joining = people - model.subscribers(channel.number)
    saw = model.seeing(channel)
    before = ReadAccess.of(model, channel.number, joining)
    found_read = _found_read(model, channel.number, joining)
    for user in joining:
        model.join(user, channel.number)
    seeing = model.seeing(channel)
    return [
        *found_read,
        _shown(channel, joining - saw),
        _of_own("add", channel, joining),
        *_peers(channel, "peer_add", joining, seeing - joining, may=joining),
        *before.changed(model),
    ]


def _found_read(model: Model, channel: int, joining: frozenset[int]) -> list[ExpectedEvent]:
    """Messages moved there that new members received elsewhere may become read for them."""
    expected = []
    for number, message in model.messages.items():
        if message.channel == channel:
            outside = joining - model.readers(message)
            message.perhaps_read |= outside
            key = ("update_message_flags", "add", "read", number)
            expected.append(
                ExpectedEvent(kind="update_message_flags", key=key, must=NO_USERS, may=outside)
            )
    return expected


def _stars_lost(model: Model, channel: int, people: frozenset[int]) -> list[ExpectedEvent]:
    """Users who may not read what they have starred there may get an event that it is not."""
    expected = []
    for number, message in model.messages.items():
        if message.channel == channel:
            lost = people.intersection(message.starred) - model.readers(message)
            key = ("update_message_flags", "remove", "starred", number)
            expected.append(
                ExpectedEvent(kind="update_message_flags", key=key, must=NO_USERS, may=lost)
            )
    return expected


def _shown(channel: Channel, people: frozenset[int]) -> ExpectedEvent:
    return ExpectedEvent(kind="stream", key=("stream", "create", channel.number), must=people)


def _of_own(op: str, channel: Channel, people: frozenset[int]) -> ExpectedEvent:
    return ExpectedEvent(kind="subscription", key=("subscription", op, channel.number), must=people)


def _peers(
    channel: Channel,
    op: str,
    moved: frozenset[int],
    seeing: frozenset[int],
    may: frozenset[int] = NO_USERS,
) -> list[ExpectedEvent]:
    return [
        ExpectedEvent(
            kind="subscription",
            key=("subscription", op, channel.number, user),
            must=seeing,
            may=may,
        )
        for user in sorted(moved)
    ]
