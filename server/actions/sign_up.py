"""Sign up in an open realm."""

from dataclasses import replace
from datetime import datetime

from server.actions import audit
from server.actions.confirmations import confirm, to_be_confirmed
from server.actions.joining import Newcomer, accept_of_address
from server.actions.locked_realm import lock_realm
from server.actions.users import NewUser, create_users
from server.actions.welcoming import welcome
from server.domain.admission import check_address
from server.domain.confirmations import SIGN_UP, VOUCHED_SIGN_UP
from server.domain.errors import BadRequestError
from server.domain.realm_settings import RealmSettings
from server.domain.sign_in import PASSWORDS
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import invitations, realm_domains
from storage.database import Connection
from storage.ids import UserId
from storage.realms import RealmRow

NOT_BY_EMAIL = _("People of this organization do not join by email: they sign in.")
BY_INVITATION = _("You need an invitation to join this organization.")


async def sign_up(tx: Tx, digest: bytes, new: NewUser, *, now: datetime) -> UserId:
    """Create an account for the token's holder, under the address of the token.

    Raises LinkExpiredError, and BadRequestError if it is not possible any more: the realm is
    closed, or does not accept this address.
    """
    realm = await lock_realm(tx, alone=True)
    asked = await to_be_confirmed(tx, digest, SIGN_UP, VOUCHED_SIGN_UP)
    check_way(RealmSettings.of(realm.settings), asked.purpose)
    user_id = await admit(tx, replace(new, email=asked.email), now=now)
    await confirm(tx, asked)
    return user_id


async def admit(tx: Tx, new: NewUser, *, now: datetime) -> UserId:
    """Create an account for a user with a verified address.

    An invitation to this address is used if there is one. Raises BadRequestError if the realm is
    not open to them, and as `create_users` does.
    """
    newcomer = Newcomer(
        full_name=new.full_name,
        password_hash=new.password_hash,
        timezone=new.timezone,
        settings=new.settings,
        email_confirmed=new.email_confirmed,
    )
    invited = await accept_of_address(tx, new.email, newcomer, now=now)
    if invited is not None:
        return invited
    realm = await lock_realm(tx, alone=True)
    confirmed = new.email_confirmed
    await check_may_join(await tx.connection(), realm, new.email, confirmed=confirmed)
    [person] = await create_users(tx, [new], now=now)
    facts = {"email": person.email, "full_name": person.full_name, "role": person.role}
    changed = {person.user_id: audit.differences({}, facts)}
    audit.record_each(tx, tx.append(Tick(), NO_AUDIENCE), person.user_id, "user_created", changed)
    await welcome(tx, realm, person.user_id)
    return person.user_id


async def check_known_may_join(
    connection: Connection, realm: RealmRow, email: str, *, now: datetime
) -> None:
    """Raise BadRequestError unless a verified address may join, by an invitation or without."""
    if not await invitations.open_of_email(connection, realm.realm_id, email, now=now):
        await check_may_join(connection, realm, email)


def check_way(settings: RealmSettings, purpose: str) -> None:
    """Raise BadRequestError for an emailed link if the realm's users come from elsewhere.

    Otherwise any user with an address could bypass the directory or identity provider.
    """
    if purpose == SIGN_UP and not settings.wants_method(PASSWORDS):
        raise BadRequestError(NOT_BY_EMAIL)


async def check_may_join(
    connection: Connection, realm: RealmRow, email: str, *, confirmed: bool = True
) -> None:
    """Raise BadRequestError unless this address may join without an invitation."""
    settings = RealmSettings.of(realm.settings)
    if settings.invite_required:
        raise BadRequestError(BY_INVITATION)
    domains = await realm_domains.of_realm(connection, realm.realm_id)
    check_address(email, settings, domains, confirmed=confirmed)
