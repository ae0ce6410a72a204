"""Bring the accounts of a directory (LDAP) to its state, between its people's sign-ins."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import msgspec

from server.actions.directory_claims import ClaimedChanges, claimed_changes, follow_claims
from server.actions.directory_people import call_as_directory_does, write_as_directory_does
from server.actions.directory_profiles import differing_answers, follow_profile
from server.actions.locked_realm import lock_realm
from server.actions.profile_data import Answers
from server.actions.scim.closures import check_closure, remaining_closures
from server.actions.user_activation import deactivate_user, reactivate_user
from server.domain.access import OWNER, GroupGraph
from server.domain.directory_groups import Claims
from server.domain.sign_in import LDAP
from server.transactions import Tx
from storage import directory_ids, profile_data, profile_fields, scim, users
from storage.address_folding import fold_address
from storage.database import Connection
from storage.ids import RealmId, UserId
from storage.profile_data import NO_DATA
from storage.scim import ScimAccountRow
from storage.users import UserRow

CLOSED_BY: Final = "closed_by"
"""Attribute of accounts that the directory has deactivated, with its name."""
CHUNK: Final = 500
"""Number of accounts that are read at once."""


@dataclass(frozen=True, slots=True)
class DirectoryPerson:
    """A person as the directory has them."""

    email: str
    full_name: str
    claims: Claims | None
    profile: Mapping[str, str]
    """Values of profile fields by their names."""
    has_other_picture: bool = False
    """Whether it is another one than the account has."""


@dataclass(frozen=True, slots=True)
class AccountDifference:
    """How an account differs from its entry."""

    row: UserRow
    person: DirectoryPerson
    reactivate: bool
    full_name: str | None
    email: str | None
    claimed: ClaimedChanges | None
    profile: Answers

    def __bool__(self) -> bool:
        changes = (self.full_name, self.email, self.claimed, self.profile)
        return self.reactivate or self.person.has_other_picture or any(changes)


@dataclass(slots=True)
class SyncPlan:
    """What a synchronization would do."""

    closures: list[UserRow] = field(default_factory=list)
    changes: list[AccountDifference] = field(default_factory=list)
    kept: UserRow | None = None
    """The last owner, if all of them are gone there: that account stays active."""
    accounts: int = 0
    """Number of accounts that carry an id of the directory."""
    may_close: int | None = None
    """How many accounts directories may deactivate now; None: any number."""
    refusals: dict[tuple[str, str], None] = field(default_factory=dict)
    """Profile fields with values that they cannot have, and the reasons; each once."""

    def refuse(self, field_name: str, reason: str) -> None:
        self.refusals[(field_name, reason)] = None


async def plan_sync(
    connection: Connection,
    realm_id: RealmId,
    graph: GroupGraph,
    ids: Mapping[UserId, str],
    people: Mapping[str, DirectoryPerson | None],
    *,
    maximum: int,
    now: datetime,
) -> SyncPlan:
    """Compare accounts with `people`, by their `ids` in the directory, for which it was asked.

    None: the entry lacks a required attribute, and the account stays as it is.
    Accounts that were deactivated here stay so.
    """
    owners = (await users.ids_by_role(connection, realm_id, without_bots=True)).get(OWNER, ())
    plan = SyncPlan(may_close=await remaining_closures(connection, realm_id, maximum, now=now))
    fields = await profile_fields.of_realm(connection, realm_id)
    user_ids = list(ids)
    for at in range(0, len(user_ids), CHUNK):
        chunk = user_ids[at : at + CHUNK]
        closed = set(await directory_ids.closed_as_gone(connection, realm_id, LDAP, chunk))
        profiles = await profile_data.of_users(connection, realm_id, chunk)
        for row in await users.by_ids(connection, realm_id, chunk):
            if row.bot_type is not None or row.is_deleted:
                continue
            plan.accounts += 1
            if ids[row.user_id] not in people:
                if row.is_active:
                    plan.closures.append(row)
                continue
            person = people[ids[row.user_id]]
            if person is None or not (row.is_active or row.user_id in closed):
                continue
            profile = differing_answers(
                fields, profiles.get(row.user_id, NO_DATA), person.profile, plan.refuse
            )
            is_only_owner = owners == (row.user_id,)
            change = _difference(graph, row, person, profile, is_only_owner=is_only_owner)
            if change:
                plan.changes.append(change)
    going = [row for row in plan.closures if row.user_id in owners]
    if going and len(going) == len(owners):
        plan.kept = going[-1]
        plan.closures.remove(going[-1])
    return plan


async def close_account(tx: Tx, user_id: UserId, *, maximum: int | None, now: datetime) -> bool:
    """Deactivate an account of which the entry is gone; return whether it was active.

    `maximum` limits what directories deactivate within an hour; None: the operator has agreed.
    Raises TooManyClosuresError, and BadRequestError for the only owner.
    """
    tx.must_be_exact()
    await lock_realm(tx, alone=True)
    connection = await tx.connection()
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    if not row.is_active:
        return False
    if maximum is not None:
        await check_closure(tx, maximum=maximum, now=now)
    await deactivate_user(tx, user_id, now=now)
    said = (await scim.accounts(connection, tx.realm_id, [user_id])).get(user_id)
    said = said or ScimAccountRow(user_id, None, row.email, {}, False, None, now)
    attributes = {**said.attributes, CLOSED_BY: LDAP}
    gone = replace(said, attributes=attributes, closed_at=now, modified_at=now)
    await scim.put_account(await tx.changing(), tx.realm_id, gone)
    return True


async def follow_person(
    tx: Tx, user_id: UserId, person: DirectoryPerson, *, now: datetime
) -> list[str]:
    """Change the account to what the directory has; reactivate it if that had deactivated it.

    Returns the ids of ACCESS_CHANGEs to be finished. Raises BadRequestError.
    """
    tx.must_be_exact()
    await lock_realm(tx, alone=True)
    connection = await tx.connection()
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    if not row.is_active:
        closed = await directory_ids.closed_as_gone(connection, tx.realm_id, LDAP, [user_id])
        if not closed:
            return []
        await _reopen(tx, user_id, now=now)
    if _differs(row, person):
        await write_as_directory_does(tx, user_id, person.email)
    if row.full_name != person.full_name:
        await call_as_directory_does(tx, user_id, person.full_name)
    await follow_profile(tx, user_id, person.profile)
    if person.claims is None:
        return []
    return await follow_claims(tx, user_id, person.claims, cause=LDAP, now=now)


async def _reopen(tx: Tx, user_id: UserId, *, now: datetime) -> None:
    await reactivate_user(tx, user_id, now=now)
    said = (await scim.accounts(await tx.connection(), tx.realm_id, [user_id]))[user_id]
    attributes = {name: value for name, value in said.attributes.items() if name != CLOSED_BY}
    back = replace(said, attributes=attributes, modified_at=now)
    await scim.put_account(await tx.changing(), tx.realm_id, back)


def _difference(
    graph: GroupGraph,
    row: UserRow,
    person: DirectoryPerson,
    profile: Answers,
    *,
    is_only_owner: bool,
) -> AccountDifference:
    claims = person.claims
    if claims is not None and is_only_owner:
        claims = msgspec.structs.replace(claims, role=None)
    return AccountDifference(
        row,
        person,
        reactivate=not row.is_active,
        full_name=None if row.full_name == person.full_name else person.full_name,
        email=person.email if _differs(row, person) else None,
        claimed=None if claims is None else claimed_changes(graph, row, claims),
        profile=profile,
    )


def _differs(row: UserRow, person: DirectoryPerson) -> bool:
    """Return whether the account's address is another one, or not confirmed."""
    return fold_address(row.email) != fold_address(person.email) or not row.email_confirmed
