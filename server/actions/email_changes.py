"""Change an account's address, once the new one is confirmed."""

from dataclasses import replace

from server.actions import audit
from server.actions.confirmations import LinkExpiredError, ask_to_confirm, confirm, to_be_confirmed
from server.actions.credential_changes import Proof, check_proof, end_pending
from server.actions.locked_realm import LockedRealm, lock_realm, locked_realm_of
from server.actions.unconfirmed_addresses import append_default_avatar, mark_confirmed
from server.actions.user_audiences import UserAudiences
from server.domain.access import GUEST, MEMBER
from server.domain.account_news import AddressChanged
from server.domain.accounts import checked_new_email
from server.domain.actor import Actor
from server.domain.admission import check_address
from server.domain.avatars import avatar_of
from server.domain.confirmations import CHANGE_EMAIL
from server.domain.credential_changes import Ended
from server.domain.errors import BadRequestError
from server.domain.profiles import least_role_to_see_email, public_email
from server.events.base import NO_AUDIENCE, Audience, to_users
from server.events.log import Tick
from server.events.users import EmailChanged, PersonChange, UserChanged
from server.i18n import _
from server.transactions import Tx
from storage import confirmations, realm_domains, users
from storage.address_folding import fold_address
from storage.database import Connection
from storage.ids import UserId
from storage.users import UserRow


async def ask_for_new_address(tx: Tx, actor: Actor, email: str, proof: Proof) -> None:
    """Enqueue a confirmation link to the new address; earlier requests are void.

    Raises BadRequestError for an address that they cannot have, and if the proof is out of date.
    """
    context, row = await _stand(tx, actor.user_id)
    await check_proof(tx, row.user_id, proof)
    await _check(await tx.connection(), context, row, email)
    await _ask(tx, row, email)


async def ask_for_own_address(tx: Tx, actor: Actor) -> None:
    """Enqueue a confirmation link to the account's own address; earlier requests are void.

    Raises BadRequestError if it is confirmed.
    """
    _context, row = await _stand(tx, actor.user_id)
    if row.email_confirmed:
        raise BadRequestError(_("Your address is confirmed."))
    await _ask(tx, row, row.email)


async def _ask(tx: Tx, row: UserRow, email: str) -> None:
    connection = await tx.changing()
    await confirmations.drop_of_user(connection, tx.realm_id, row.user_id, purpose=CHANGE_EMAIL)
    await ask_to_confirm(tx, purpose=CHANGE_EMAIL, email=email, user_id=row.user_id)


async def change_address(
    tx: Tx, digest: bytes, *, confirmed: bool, by: UserId | None = None
) -> Ended:
    """Change the account's address to the one of the token; revoke what else is pending.

    `confirmed`: whether the link was mailed, which confirms the address. A link to the present
    address only confirms it, and for the account's signed-in owner alone (`by`). Raises
    LinkExpiredError, and BadRequestError if it is not possible, or not any more.
    """
    asked = await to_be_confirmed(tx, digest, CHANGE_EMAIL)
    assert asked.user_id is not None, "it is about an account"
    context, old = await _stand(tx, asked.user_id)
    if asked.email == old.email:
        # The owner of an address is not to confirm the account of another person, who knows its
        # password.
        if by != old.user_id:
            raise BadRequestError(_("Sign in to the account first, and open the link again."))
        await confirm(tx, asked)
        if confirmed:
            await mark_confirmed(tx, context, old, by=old.user_id)
        return Ended()
    await _check(await tx.connection(), context, old, asked.email, confirmed=confirmed)
    await confirm(tx, asked)
    return await _give(tx, context, old, asked.email, confirmed=confirmed)


async def readdress(tx: Tx, user_id: UserId, email: str) -> None:
    """Change the account's address to one vouched for by others; revoke what is pending.

    Permission to change it is not needed. Raises LinkExpiredError for a deactivated account, and
    BadRequestError for an address that they cannot have.
    """
    context, old = await _stand(tx, user_id)
    if fold_address(email) == fold_address(old.email):
        await mark_confirmed(tx, context, old, by=user_id)
        return
    await _check_free(await tx.connection(), context, old, email)
    await _give(tx, context, old, email)


async def confirm_by_site(tx: Tx, user_id: UserId, email: str) -> None:
    """Confirm the account's address, which a site has verified for its signed-in owner.

    Nothing happens if it is another one. Raises LinkExpiredError for a deactivated account.
    """
    context, row = await _stand(tx, user_id)
    if fold_address(email) == fold_address(row.email):
        await mark_confirmed(tx, context, row, by=user_id)


async def set_bot_address(
    tx: Tx, context: LockedRealm, old: UserRow, email: str, *, by: UserId
) -> UserRow:
    """Give a locked bot another address, which is free, and publish it.

    The caller has locked the realm's names.
    """
    new = replace(old, email=email)
    connection = await tx.changing()
    await end_pending(tx, [old])
    await users.update_email(connection, tx.realm_id, new.user_id, email, confirmed=True)
    await _append_email_events(tx, context, old, new, by=by)
    return new


async def _give(
    tx: Tx, context: LockedRealm, old: UserRow, email: str, *, confirmed: bool = True
) -> Ended:
    """Write the new address; notify the old one by email."""
    new = replace(old, email=email, email_confirmed=confirmed)
    connection = await tx.changing()
    outcome = await end_pending(
        tx, [old], news=lambda ended: AddressChanged(new_address=new.email, ended=ended)
    )
    await users.update_email(connection, tx.realm_id, new.user_id, new.email, confirmed=confirmed)
    await _append_email_events(tx, context, old, new, by=new.user_id)
    await append_default_avatar(tx, context, old, new)
    return outcome.ended


async def _stand(tx: Tx, user_id: UserId) -> tuple[LockedRealm, UserRow]:
    """Lock the realm and the user's row exclusively.

    Raises LinkExpiredError if it is deactivated.
    """
    realm = await lock_realm(tx, alone=True)
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    if not row.is_active:
        raise LinkExpiredError
    return await locked_realm_of(tx, realm, [row]), row


async def _check(
    connection: Connection,
    context: LockedRealm,
    row: UserRow,
    email: str,
    *,
    confirmed: bool = True,
) -> None:
    is_administrator = context.standing_of(row).person.is_administrator
    if context.settings.email_changes_disabled and not is_administrator:
        raise BadRequestError(_("Email address changes are disabled in this organization."))
    await _check_free(connection, context, row, email, confirmed=confirmed)


async def _check_free(
    connection: Connection,
    context: LockedRealm,
    row: UserRow,
    email: str,
    *,
    confirmed: bool = True,
) -> None:
    realm_id = context.realm.realm_id
    checked_new_email(email)
    domains = await realm_domains.of_realm(connection, realm_id)
    check_address(email, context.settings, domains, confirmed=confirmed)
    taken = await users.by_emails(connection, realm_id, [email])
    if any(each.user_id != row.user_id for each in taken):
        raise BadRequestError(_("Already has an account."))


async def _append_email_events(
    tx: Tx, context: LockedRealm, old: UserRow, new: UserRow, *, by: UserId
) -> None:
    address = (await tx.realm_cache()).address_of(context.realm)
    user_audiences = await UserAudiences.of(tx, context, [old, new])
    knowing = await user_audiences.audience_knowing(new)
    person = PersonChange(user_id=new.user_id, delivery_email=new.email)
    entry = tx.append(UserChanged(person=person), _who_know_email(user_audiences, knowing, new))
    public = public_email(new, address.domain)
    if public != public_email(old, address.domain):
        event = EmailChanged(
            user_id=new.user_id,
            new_email=public,
            avatar_source=avatar_of(new, address).source,
            avatar_version=new.avatar_version,
        )
        tx.append(event, knowing)
    changed = {new.user_id: {"email": (old.email, new.email)}}
    audit.record_each(tx, entry, by, "user_email_changed", changed)
    tx.at_position(tx.append(Tick(), NO_AUDIENCE), users.changed(tx.realm_id, [new.user_id]))


def _who_know_email(user_audiences: UserAudiences, knowing: Audience, row: UserRow) -> Audience:
    """Return the audience of those who know the user's real address."""
    least = least_role_to_see_email(row)
    if least >= GUEST:
        return knowing
    if least == MEMBER:
        return Audience(everyone=True, users=(row.user_id,))
    return to_users(*{*user_audiences.up_to(least), row.user_id})
