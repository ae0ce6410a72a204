"""Create a realm."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from server.actions.channels.create import ChannelSpec
from server.actions.subscriptions.subscribe import SubscriptionRequest, subscribe
from server.actions.users import CreatedUser, NewUser, checked_user, created, insert_users
from server.domain.access import OWNER, SYSTEM_GROUP_NESTING
from server.domain.actor import Actor
from server.domain.channel_creation import ChannelTerms
from server.domain.errors import BadRequestError
from server.domain.groups import DESCRIPTIONS
from server.domain.realm_settings import NEW_REALM, RealmSettings
from server.domain.realms import checked_realm_name, checked_subdomain
from server.domain.system_bots import SYSTEM_BOTS
from server.i18n import _
from server.jobs import Greeting, enqueue
from server.transactions import Tx
from storage import clock, groups, realms
from storage.address_folding import fold_address
from storage.database import Connection
from storage.ids import RealmId

FIRST_CHANNEL: Final = ChannelSpec(
    "general", "For everyone: news, questions, getting to know each other"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedRealm:
    realm_id: RealmId
    owner: CreatedUser


async def create_realm(
    connection: Connection,
    *,
    name: str,
    owner: NewUser,
    now: datetime,
    subdomain: str = "",
    settings: RealmSettings = NEW_REALM,
) -> CreatedRealm:
    """Create a realm with its clock, role groups, system bots and owner.

    Runs in the caller's transaction (`Database.transaction`), since there is no clock yet that
    could order it. The empty subdomain is the realm at the server's own URL. Raises BadRequestError
    for an invalid name or subdomain, and for a subdomain that is taken.
    """
    owner = checked_user(replace(owner, role=OWNER))
    bots = [NewUser(email=b.email, full_name=b.full_name, bot_type=1) for b in SYSTEM_BOTS]
    if fold_address(owner.email) in {bot.email for bot in bots}:
        raise BadRequestError(_("Email '{email}' is reserved for system bots", email=owner.email))
    realm_id = await realms.insert(
        connection,
        subdomain=checked_subdomain(subdomain),
        name=checked_realm_name(name),
        settings=settings.stored(),
    )
    if realm_id is None:
        raise BadRequestError(_("Subdomain is already in use. Please choose a different one."))
    await clock.create(connection, realm_id)
    await groups.insert_system_groups(connection, realm_id, DESCRIPTIONS, SYSTEM_GROUP_NESTING)
    await insert_users(connection, realm_id, bots, now=now, settings=settings, are_system_bots=True)
    [row] = await insert_users(connection, realm_id, [owner], now=now, settings=settings)
    return CreatedRealm(realm_id=realm_id, owner=created(row))


async def open_first_channel(tx: Tx, owner: Actor) -> None:
    """Create the default channel of a new realm, with a welcome message for its owner."""
    request = SubscriptionRequest(
        wanted=[FIRST_CHANNEL],
        principals=[owner.user_id],
        terms=ChannelTerms(is_default=True),
    )
    await subscribe(tx, owner, request, web_public_enabled=False)
    enqueue(tx, Greeting(realm_id=tx.realm_id, user_id=owner.user_id))
