"""Operations on users: groups, roles, deactivation."""

from dataclasses import dataclass, replace

from typing_extensions import override

from server.actions.user_activation import deactivate_user
from server.actions.user_roles import change_role
from server.domain.actor import Actor
from server.transactions import Tx
from storage.ids import UserId
from testkit.faults.http import Answer
from testkit.leaks.access import ReadAccess
from testkit.leaks.expected_events import NO_USERS, ExpectedEvent, Key
from testkit.leaks.model import ADMINISTRATOR, OWNER, Channel, Model
from testkit.leaks.operations import Step
from testkit.leaks.server_clients import ServerClients


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeGroup(Step):
    """A user joins or leaves a group, and sees other channels by it."""

    group: int
    user: int
    joins: bool

    @override
    def fits(self, model: Model) -> bool:
        is_there = self.user in model.groups[self.group].people
        active = model.users[self.user].is_active
        return active and is_there != self.joins and Step.fits(self, model)

    @override
    def allowed(self, model: Model) -> bool | None:
        return model.users[self.actor].role == OWNER

    async def perform(self, clients: ServerClients) -> Answer:
        path = f"/user_groups/{clients.groups.ids[self.group]}/members"
        user_ids = [clients.users.ids[self.user]]
        return await clients.ask(
            self.actor,
            "POST",
            path,
            add=user_ids if self.joins else None,
            delete=None if self.joins else user_ids,
        )

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        user, people = model.users[self.user], model.groups[self.group].people
        saw = {c.number for c in model.channels.values() if model.sees(user, c)}
        readable = {n for n, m in model.messages.items() if model.may_read(user, m)}
        themselves = frozenset({self.user})
        before = [ReadAccess.of(model, channel, themselves) for channel in model.channels]
        if self.joins:
            people.add(self.user)
        else:
            people.discard(self.user)
        sees = {c.number for c in model.channels.values() if model.sees(user, c)}
        expected = [
            ExpectedEvent(kind="stream", key=("stream", op, channel), must=themselves)
            for op, channels in (("create", sees - saw), ("delete", saw - sees))
            for channel in sorted(channels)
        ]
        expected += [
            ExpectedEvent(
                kind="subscription",
                key=("subscription", "peer_add", channel, peer),
                must=themselves,
            )
            for channel in sorted(sees - saw)
            for peer in sorted(model.subscribers(channel))
        ]
        # Users who may not read a message any more may get an event that it is read.
        for number in sorted(readable):
            message = model.messages[number]
            if not model.may_read(user, message):
                message.marked.add(self.user)
                key = ("update_message_flags", "add", "read", number)
                expected.append(
                    ExpectedEvent(
                        kind="update_message_flags", key=key, must=NO_USERS, may=themselves
                    )
                )
        for access in before:
            expected += access.changed(model)
        return expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Deactivate(Step):
    """An account is closed: its queues end, and it counts nowhere any more."""

    user: int

    @override
    def fits(self, model: Model) -> bool:
        return model.users[self.user].is_active and Step.fits(self, model)

    @override
    def allowed(self, model: Model) -> bool | None:
        del model
        return True

    async def perform(self, clients: ServerClients) -> Answer:
        now = clients.app.clock.now()

        async def action(tx: Tx, actor: Actor, user_id: UserId) -> None:
            del actor
            await deactivate_user(tx, user_id, now=now)

        return await clients.act(self.actor, action, UserId(clients.users.ids[self.user]))

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        model.users[self.user].is_active = False
        expected = []
        for channel in model.channels.values():
            seeing = model.seeing(channel)
            if model.is_in(self.user, channel.number):
                key: Key = ("subscription", "peer_remove", channel.number, self.user)
                expected.append(ExpectedEvent(kind="subscription", key=key, must=seeing))
            for name, grant in channel.grants.items():
                if self.user in grant.people:
                    key = ("stream", "update", channel.number, name)
                    expected.append(_of_permission(channel, key, seeing))
        return expected


def _of_permission(channel: Channel, key: Key, seeing: frozenset[int]) -> ExpectedEvent:
    """A permission names a deactivated user; not all clients get archived channels."""
    if channel.is_archived:
        return ExpectedEvent(kind="stream", key=key, must=NO_USERS, may=seeing)
    return ExpectedEvent(kind="stream", key=key, must=seeing)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRole(Step):
    """A user gets another role: their queues end, and they see what that role sees."""

    user: int
    role: int

    @override
    def fits(self, model: Model) -> bool:
        return model.users[self.user].is_active and Step.fits(self, model)

    @override
    def allowed(self, model: Model) -> bool | None:
        actor, user = model.users[self.actor], model.users[self.user]
        if OWNER in (user.role, self.role) and user.role != self.role:
            return False if actor.role != OWNER else self._leaves_an_owner(model)
        return actor.role <= ADMINISTRATOR

    def _leaves_an_owner(self, model: Model) -> bool:
        others = [u for u in model.active() if u.role == OWNER and u.number != self.user]
        return self.role == OWNER or len(others) > 0

    async def perform(self, clients: ServerClients) -> Answer:
        now, role = clients.app.clock.now(), self.role

        async def action(tx: Tx, actor: Actor, user_id: UserId) -> None:
            await change_role(tx, actor, user_id, role, now=now)

        return await clients.act(self.actor, action, UserId(clients.users.ids[self.user]))

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        """No events of channels: only the user sees others, and registers again."""
        del answer
        user = model.users[self.user]
        if user.role != self.role:
            user.role, user.renewed = self.role, model.now
            clients.rows[self.user] = replace(clients.rows[self.user], role=self.role)
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class LetSpectators(Step):
    """People without an account may look at what is public to the web, or no longer."""

    may_look: bool

    @override
    def allowed(self, model: Model) -> bool | None:
        return model.users[self.actor].role <= ADMINISTRATOR

    async def perform(self, clients: ServerClients) -> Answer:
        return await clients.ask(
            self.actor, "PATCH", "/realm", enable_spectator_access=self.may_look
        )

    def happen(self, model: Model, clients: ServerClients, answer: Answer) -> list[ExpectedEvent]:
        del clients, answer
        model.lets_spectators = self.may_look
        return []
