"""Create accounts on behalf of an authorised user of the realm."""

from dataclasses import replace
from datetime import datetime

from server.actions import audit
from server.actions.locked_realm import lock_as_administrator
from server.actions.users import CreatedUser, NewUser, create_users
from server.actions.welcoming import welcome
from server.domain.actor import Actor
from server.domain.admission import check_address
from server.domain.errors import BadRequestError
from server.domain.realm_settings import RealmSettings
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.transactions import Tx
from storage import realm_domains, user_grants
from storage.database import Connection
from storage.ids import UserId

MAY_NOT_CREATE = (
    "User not authorized to create users. The operator of the server permits it with"
    " `parley user grant --create-users --email {email}`."
)


async def create_person(tx: Tx, actor: Actor, new: NewUser, *, now: datetime) -> CreatedUser:
    """Create an account for a person, without confirmation of the address.

    It begins when the person first signs in. Raises BadRequestError if the actor may not, for an
    address that the realm does not admit, and as `create_users` does.
    """
    realm = await lock_as_administrator(tx, actor)
    connection = await tx.connection()
    await check_may_create(connection, actor)
    domains = await realm_domains.of_realm(connection, tx.realm_id)
    check_address(new.email, RealmSettings.of(realm.settings), domains)
    [person] = await create_users(tx, [replace(new, stub="created")], now=now)
    entry = tx.append(Tick(), NO_AUDIENCE)
    facts = {"email": person.email, "full_name": person.full_name, "role": person.role}
    changed = {person.user_id: audit.differences({}, facts)}
    audit.record_each(tx, entry, actor.user_id, "user_created", changed)
    await welcome(tx, realm, person.user_id)
    return person


async def check_may_create(connection: Connection, actor: Actor) -> None:
    """Raise BadRequestError unless the operator lets this administrator create accounts."""
    if not await user_grants.can_create_users(connection, actor.realm_id, actor.user_id):
        raise BadRequestError(MAY_NOT_CREATE.format(email=actor.row.email))


async def grant_creation(tx: Tx, user_id: UserId, *, create_users: bool) -> None:
    """Allow or forbid a user to create accounts, as the operator."""
    connection = await tx.changing()
    before = await user_grants.can_create_users(connection, tx.realm_id, user_id)
    await user_grants.grant(connection, tx.realm_id, user_id, create_users=create_users)
    changed = {user_id: {"can_create_users": (before, create_users)}}
    audit.record_each(tx, tx.append(Tick(), NO_AUDIENCE), None, "user_granted", changed)
