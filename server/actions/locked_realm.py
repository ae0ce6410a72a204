"""What decisions about channels rest on: read and locked in the write that decides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from server.domain.access import ADMINISTRATOR, OWNER, GroupGraph, Person
from server.domain.actor import Actor
from server.domain.channels import Standing
from server.domain.errors import BadRequestError, UserDeactivatedError
from server.domain.realm_settings import RealmSettings
from server.transactions import Tx
from storage import realms, users
from storage.ids import UserId
from storage.realms import RealmRow
from storage.users import UserRow

PEOPLE_IN_BATCH: Final = 50
"""A change that names more has a transaction of its own: it takes long to prepare."""


@dataclass(frozen=True, slots=True)
class LockedRealm:
    """The realm, its groups and some people, which stay as they are until the commit.

    Whoever changes a role or a group, a setting of the realm, or whether a user is active,
    holds the realm's row alone; this write holds it too.
    """

    realm: RealmRow
    settings: RealmSettings
    graph: GroupGraph
    people: Mapping[UserId, UserRow]

    def standing(self, user_id: UserId) -> Standing:
        return self.standing_of(self.people[user_id])

    def standing_of(self, row: UserRow) -> Standing:
        person = Person(row.user_id, row.role, row.date_joined, is_bot=row.bot_type is not None)
        return Standing(person, self.graph, self.settings)


async def lock_context(
    tx: Tx, actor: Actor, others: Iterable[UserId] = (), *, names_change: bool = False
) -> LockedRealm:
    """Return the realm, kept as it is, and these people; those who do not exist are left out.

    With `names_change` no other user adds or renames a channel until the commit. Raises
    UserDeactivatedError if the actor is no longer active.
    """
    context = await lock_realm_context(tx, [actor.user_id, *others], names_change=names_change)
    row = context.people.get(actor.user_id)
    if row is None or not row.is_active:
        raise UserDeactivatedError("Account is deactivated")
    return context


async def lock_realm_context(
    tx: Tx, user_ids: Sequence[UserId], *, names_change: bool = False
) -> LockedRealm:
    """Return the same for work that no user asks for at the moment."""
    realm = await lock_realm(tx, alone=names_change)
    people = await users.by_ids(await tx.connection(), tx.realm_id, sorted(set(user_ids)))
    return await locked_realm_of(tx, realm, people)


async def lock_realm(tx: Tx, *, alone: bool) -> RealmRow:
    """Return the realm's row: to change what it guards, or only to keep that as it is."""
    locking = realms.locking(tx.realm_id)
    [realm] = await tx.lock(locking if alone else locking.shared())
    return realm


async def lock_as_administrator(tx: Tx, actor: Actor) -> RealmRow:
    """Return the realm's row alone, for an actor who is an administrator. Raises a DomainError."""
    realm, row = await _lock_with(tx, actor)
    if row.role > ADMINISTRATOR:
        raise BadRequestError("Must be an organization administrator")
    return realm


async def lock_as_owner(tx: Tx, actor: Actor) -> RealmRow:
    """Return the same for an owner."""
    realm, row = await _lock_with(tx, actor)
    if row.role != OWNER:
        raise BadRequestError("Must be an organization owner")
    return realm


async def _lock_with(tx: Tx, actor: Actor) -> tuple[RealmRow, UserRow]:
    """Return the realm's row alone, and the actor's. Raises UserDeactivatedError."""
    realm = await lock_realm(tx, alone=True)
    [row] = await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    if not row.is_active:
        raise UserDeactivatedError("Account is deactivated")
    return realm, row


async def locked_realm_of(tx: Tx, realm: RealmRow, people: Iterable[UserRow]) -> LockedRealm:
    """Return what a write that holds the realm stands on, with people as it has read them since."""
    settings = RealmSettings.of(realm.settings)
    realm_cache = await tx.realm_cache()
    graph = await realm_cache.read_groups(await tx.connection(), realm)
    return LockedRealm(realm, settings, graph, {row.user_id: row for row in people})
