"""Create, change and deactivate accounts as a directory says."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from server.actions import audit
from server.actions.email_changes import readdress
from server.actions.locked_realm import lock_as_owner, locked_realm_of
from server.actions.scim.closures import check_closure
from server.actions.user_activation import ONLY_OWNER, deactivate_user, reactivate_user
from server.actions.user_roles import change_role, owners_of
from server.actions.user_settings import rename
from server.actions.users import NewUser, create_users
from server.actions.welcoming import welcome
from server.domain.access import MEMBER, OWNER
from server.domain.accounts import as_full_name
from server.domain.actor import Actor
from server.domain.admission import check_address
from server.domain.realm_settings import RealmSettings
from server.domain.scim import AccountTakenError, LastOwnerError, StateChangedError
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import realm_domains, scim, users
from storage.address_folding import fold_address
from storage.ids import UserId
from storage.scim import ScimAccountRow
from storage.users import UserRow

WAITING_ROLE: Final = "role"
WAITING_EMAIL: Final = "email"
"""Attributes with the role and address that a deactivated account gets when it is reactivated."""


@dataclass(frozen=True, slots=True)
class AccountState:
    """An account, and what directories have said about it."""

    row: UserRow
    said: ScimAccountRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedAccount:
    """An account as the directory wants it; None leaves the name or the role as it is."""

    user_name: str
    external_id: str | None
    email: str
    full_name: str | None
    role: int | None
    is_active: bool
    attributes: Mapping[str, Any]
    """What is only kept for the directory."""


async def create_account(
    tx: Tx, actor: Actor, wanted: WantedAccount, *, maximum: int, now: datetime
) -> UserId:
    """Create an account, or reactivate the one that the directory has deleted.

    It begins when the person first signs in. Raises AccountTakenError, and other errors for what
    is wrong with it.
    """
    tx.must_be_exact()
    realm = await lock_as_owner(tx, actor)
    connection = await tx.connection()
    await _check_free(tx, wanted)
    for row in await users.by_emails(connection, tx.realm_id, [wanted.email]):
        said = (await scim.accounts(connection, tx.realm_id, [row.user_id])).get(row.user_id)
        if row.is_active or row.bot_type is not None or said is None or not said.is_deleted:
            raise AccountTakenError(_("Email '{email}' is already in use.", email=row.email))
        state = AccountState(row, said)
        await change_account(tx, actor, state, wanted, maximum=maximum, now=now)
        return row.user_id

    domains = await realm_domains.of_realm(connection, tx.realm_id)
    check_address(wanted.email, RealmSettings.of(realm.settings), domains)
    new = NewUser(
        email=wanted.email,
        full_name=wanted.full_name or as_full_name("", email=wanted.email),
        role=wanted.role or MEMBER,
        is_active=wanted.is_active,
        stub="created",
    )
    [person] = await create_users(tx, [new], now=now)
    facts = {"email": person.email, "full_name": person.full_name, "role": person.role}
    changed = {person.user_id: audit.differences({}, facts)}
    audit.record_each(tx, tx.append(Tick(), NO_AUDIENCE), actor.user_id, "user_created", changed)
    if wanted.is_active:
        await welcome(tx, realm, person.user_id)
    await _put(tx, person.user_id, wanted, wanted.attributes, closed_at=None, now=now)
    return person.user_id


async def change_account(
    tx: Tx,
    actor: Actor,
    known: AccountState,
    wanted: WantedAccount,
    *,
    maximum: int,
    now: datetime,
) -> None:
    """Change the account to what is wanted, by the same actions as administrators do.

    The address and role of a deactivated account are changed when it is reactivated. Raises
    StateChangedError if it is not as it was known, AccountTakenError, LastOwnerError,
    TooManyClosuresError, and BadRequestError for what is wrong with it.
    """
    tx.must_be_exact()
    user_id = known.row.user_id
    realm = await lock_as_owner(tx, actor)
    row, said = await _locked(tx, known)
    await _check_free(tx, wanted, user_id)
    # Kept when it is reactivated: what a directory deactivates over and over counts, too.
    closed_at = None if said is None else said.closed_at
    attributes = dict(wanted.attributes)

    if wanted.is_active and not row.is_active:
        await reactivate_user(tx, user_id, by=actor.user_id, now=now)
    if wanted.full_name is not None and wanted.full_name != row.full_name:
        context = await locked_realm_of(tx, realm, [actor.row, await _read(tx, user_id)])
        await rename(tx, actor, context, context.people[user_id], wanted.full_name)
    if wanted.is_active or row.is_active:
        if fold_address(wanted.email) != fold_address(row.email):
            await readdress(tx, user_id, wanted.email)
        if wanted.role is not None and wanted.role != row.role:
            await _change_role(tx, actor, row, wanted.role, now=now)
    else:
        attributes |= {WAITING_EMAIL: wanted.email, WAITING_ROLE: wanted.role or row.role}
    if row.is_active and not wanted.is_active:
        await _close(tx, actor, user_id, maximum=maximum, now=now)
        closed_at = now
    await _put(tx, user_id, wanted, attributes, closed_at=closed_at, now=now)


async def delete_account(
    tx: Tx, actor: Actor, known: AccountState, *, maximum: int, now: datetime
) -> None:
    """Deactivate the account, and hide it from the directory until that creates it again.

    Nothing else is deleted. Raises errors as `change_account` does.
    """
    tx.must_be_exact()
    await lock_as_owner(tx, actor)
    row, said = await _locked(tx, known)
    closed_at = None if said is None else said.closed_at
    if row.is_active:
        await _close(tx, actor, row.user_id, maximum=maximum, now=now)
        closed_at = now
    said = said or ScimAccountRow(row.user_id, None, row.email, {}, False, None, now)
    gone = replace(said, is_deleted=True, closed_at=closed_at, modified_at=now)
    await scim.put_account(await tx.changing(), tx.realm_id, gone)


async def _locked(tx: Tx, known: AccountState) -> tuple[UserRow, ScimAccountRow | None]:
    """Lock and return the account. Raises StateChangedError."""
    user_id = known.row.user_id
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    said = await scim.accounts(await tx.connection(), tx.realm_id, [user_id])
    if AccountState(row, said.get(user_id)) != known:
        raise StateChangedError("The account was changed since it was read.")
    return row, known.said


async def _read(tx: Tx, user_id: UserId) -> UserRow:
    [row] = await users.by_ids(await tx.connection(), tx.realm_id, [user_id])
    return row


async def _check_free(tx: Tx, wanted: WantedAccount, user_id: UserId | None = None) -> None:
    """Raise AccountTakenError if another account is called so by the directory."""
    connection = await tx.connection()
    for other in await scim.accounts_called(
        connection, tx.realm_id, user_name=wanted.user_name, external_id=wanted.external_id
    ):
        if other.user_id != user_id:
            raise AccountTakenError("Another account has this userName or externalId.")
    addresses = [wanted.email, wanted.user_name]
    found = await users.by_emails(connection, tx.realm_id, addresses)
    others = {row.user_id: row for row in found if row.user_id != user_id}
    known = await scim.accounts(connection, tx.realm_id, list(others)) if others else {}
    for row in others.values():
        if fold_address(row.email) == fold_address(wanted.email):
            if user_id is not None:
                raise AccountTakenError(_("Email '{email}' is already in use.", email=row.email))
        # The address of an account of which directories have said nothing is its user name.
        elif row.user_id not in known:
            raise AccountTakenError("Another account has this userName.")


async def _change_role(tx: Tx, actor: Actor, row: UserRow, role: int, *, now: datetime) -> None:
    if row.role == OWNER:
        await _check_leaves_owner(tx, row.user_id)
    await change_role(tx, actor, row.user_id, role, now=now)


async def _close(tx: Tx, actor: Actor, user_id: UserId, *, maximum: int, now: datetime) -> None:
    await _check_leaves_owner(tx, user_id)
    await check_closure(tx, maximum=maximum, now=now)
    await deactivate_user(tx, user_id, by=actor.user_id, now=now)


async def _check_leaves_owner(tx: Tx, user_id: UserId) -> None:
    if set(await owners_of(await tx.connection(), tx.realm_id)) == {user_id}:
        raise LastOwnerError(ONLY_OWNER)


async def _put(
    tx: Tx,
    user_id: UserId,
    wanted: WantedAccount,
    attributes: Mapping[str, Any],
    *,
    closed_at: datetime | None,
    now: datetime,
) -> None:
    said = ScimAccountRow(
        user_id=user_id,
        external_id=wanted.external_id,
        user_name=wanted.user_name,
        attributes=dict(attributes),
        is_deleted=False,
        closed_at=closed_at,
        modified_at=now,
    )
    await scim.put_account(await tx.changing(), tx.realm_id, said)
