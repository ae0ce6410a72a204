"""What happens in a history to people: groups and roles change, accounts are closed."""

from dataclasses import dataclass, replace
from typing import LiteralString

from typing_extensions import override

from benchmarks.faults.http import Answer
from benchmarks.leaks.hands import Hands
from benchmarks.leaks.model import ADMINISTRATOR, OWNER, Model
from benchmarks.leaks.operations import Step
from benchmarks.leaks.told import Told
from server.actions import ground
from server.actions.user_roles import change_role
from server.actions.users import deactivate_user
from server.domain.actor import Actor
from server.events.base import EVERYONE, Tx
from server.events.groups import MembersAdded, MembersRemoved
from storage import realms
from storage.ids import GroupId, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeGroup(Step):
    """Somebody becomes a member of a group, or ceases to be one."""

    group: int
    user: int
    joins: bool

    @override
    def allowed(self, model: Model) -> bool | None:
        del model
        return True

    async def perform(self, hands: Hands) -> Answer:
        ids = GroupId(hands.groups.ids[self.group]), UserId(hands.users.ids[self.user])
        return await hands.act(self.actor, _add_member if self.joins else _remove_member, *ids)

    def happen(self, model: Model, hands: Hands, answer: Answer) -> list[Told]:
        """Nothing that has to be told of channels: what is told must only be true."""
        del hands, answer
        people = model.groups[self.group].people
        if self.joins:
            people.add(self.user)
        else:
            people.discard(self.user)
        return []


_ADD = """
    INSERT INTO group_members (realm_id, group_id, user_id)
    VALUES (%(realm_id)s, %(group_id)s, %(user_id)s) ON CONFLICT DO NOTHING
"""
_REMOVE = """
    DELETE FROM group_members
     WHERE realm_id = %(realm_id)s AND group_id = %(group_id)s AND user_id = %(user_id)s
"""


async def _add_member(tx: Tx, actor: Actor, group_id: GroupId, user_id: UserId) -> None:
    del actor
    await _change(tx, _ADD, MembersAdded, group_id, user_id)


async def _remove_member(tx: Tx, actor: Actor, group_id: GroupId, user_id: UserId) -> None:
    del actor
    await _change(tx, _REMOVE, MembersRemoved, group_id, user_id)


async def _change(
    tx: Tx,
    statement: LiteralString,
    event: type[MembersAdded | MembersRemoved],
    group_id: GroupId,
    user_id: UserId,
) -> None:
    await ground.lock_realm(tx, alone=True)
    connection = await tx.changing()
    await connection.execute(statement, realm_id=tx.realm_id, group_id=group_id, user_id=user_id)
    entry = tx.append(event(group_id=group_id, user_ids=(user_id,)), EVERYONE)
    tx.at_position(entry, realms.groups_changed(tx.realm_id))


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

    async def perform(self, hands: Hands) -> Answer:
        now = hands.app.clock.now()

        async def action(tx: Tx, actor: Actor, user_id: UserId) -> None:
            del actor
            await deactivate_user(tx, user_id, now=now)

        return await hands.act(self.actor, action, UserId(hands.users.ids[self.user]))

    def happen(self, model: Model, hands: Hands, answer: Answer) -> list[Told]:
        del hands, answer
        model.users[self.user].is_active = False
        return [
            Told(
                kind="subscription",
                key=("subscription", "peer_remove", channel.number, self.user),
                must=model.seers(channel),
            )
            for channel in model.channels.values()
            if model.is_in(self.user, channel.number)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRole(Step):
    """Somebody gets another role: their queues end, and they see what that role sees."""

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

    async def perform(self, hands: Hands) -> Answer:
        now, role = hands.app.clock.now(), self.role

        async def action(tx: Tx, actor: Actor, user_id: UserId) -> None:
            await change_role(tx, actor, user_id, role, now=now)

        return await hands.act(self.actor, action, UserId(hands.users.ids[self.user]))

    def happen(self, model: Model, hands: Hands, answer: Answer) -> list[Told]:
        """Nothing that has to be told of channels: only the user sees others, and begins anew."""
        del answer
        user = model.users[self.user]
        if user.role != self.role:
            user.role, user.renewed = self.role, model.now
            hands.rows[self.user] = replace(hands.rows[self.user], role=self.role)
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class LetSpectators(Step):
    """People without an account may look at what is public to the web, or no longer."""

    may_look: bool

    @override
    def allowed(self, model: Model) -> bool | None:
        return model.users[self.actor].role <= ADMINISTRATOR

    async def perform(self, hands: Hands) -> Answer:
        return await hands.ask(self.actor, "PATCH", "/realm", enable_spectator_access=self.may_look)

    def happen(self, model: Model, hands: Hands, answer: Answer) -> list[Told]:
        del hands, answer
        model.lets_spectators = self.may_look
        return []
