"""Rows that decisions rest on, read and locked in the deciding write."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from server.domain.access import ADMINISTRATOR, OWNER, GroupGraph, Person
from server.domain.actor import Actor
from server.domain.channels import Standing
from server.domain.errors import BadRequestError, UserDeactivatedError
from server.domain.realm_settings import RealmSettings
from server.i18n import _
from server.transactions import Tx
from storage import realms, users
from storage.ids import UserId
from storage.realms import RealmRow
from storage.users import UserRow

PEOPLE_IN_BATCH: Final = 50
"""Maximum number of people for a change in a batch: larger ones take long to prepare."""


@dataclass(frozen=True, slots=True)
class LockedRealm:
    """The realm, its groups and some users, locked until the commit.

    Changes of a role, a group, a setting of the realm, or of whether a user is active, lock the
    realm's row exclusively; this write has a lock on it too.
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
    """Lock the realm and these users; users that do not exist are left out.

    With `names_change` concurrent writes add or rename no channel until the commit. Raises
    UserDeactivatedError if the actor is no longer active.
    """
    context = await lock_realm_context(tx, [actor.user_id, *others], names_change=names_change)
    row = context.people.get(actor.user_id)
    if row is None or not row.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    return context


async def lock_realm_context(
    tx: Tx, user_ids: Sequence[UserId], *, names_change: bool = False
) -> LockedRealm:
    """Lock the realm and these users for work without an actor."""
    realm = await lock_realm(tx, alone=names_change)
    people = await users.by_ids(await tx.connection(), tx.realm_id, sorted(set(user_ids)))
    return await locked_realm_of(tx, realm, people)


async def lock_realm(tx: Tx, *, alone: bool) -> RealmRow:
    """Lock the realm's row: exclusively to change what it guards, or shared to keep it as it is."""
    locking = realms.locking(tx.realm_id)
    [realm] = await tx.lock(locking if alone else locking.shared())
    return realm


async def lock_as_administrator(tx: Tx, actor: Actor) -> RealmRow:
    """Lock the realm's row exclusively, for an administrator. Raises a DomainError."""
    realm, row = await lock_with_actor(tx, actor)
    if row.role > ADMINISTRATOR:
        raise BadRequestError(_("Must be an organization administrator"))
    return realm


async def lock_as_owner(tx: Tx, actor: Actor) -> RealmRow:
    """Lock the realm's row exclusively, for an owner. Raises a DomainError."""
    realm, row = await lock_with_actor(tx, actor)
    if row.role != OWNER:
        raise BadRequestError(_("Must be an organization owner"))
    return realm


async def lock_with_actor(tx: Tx, actor: Actor) -> tuple[RealmRow, UserRow]:
    """Lock the realm's row exclusively, and the actor's. Raises UserDeactivatedError."""
    realm = await lock_realm(tx, alone=True)
    [row] = await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    if not row.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    return realm, row


async def locked_realm_of(tx: Tx, realm: RealmRow, people: Iterable[UserRow]) -> LockedRealm:
    """Build the context of a write that has locked the realm, with users that it has read since."""
    settings = RealmSettings.of(realm.settings)
    realm_cache = await tx.realm_cache()
    graph = await realm_cache.read_groups(await tx.connection(), realm)
    return LockedRealm(realm, settings, graph, {row.user_id: row for row in people})
