"""Accept an invitation: its offers are checked again, against the present state."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from server.actions import audit
from server.actions.invitations import append_invitations_changed, check_may_invite, grantable
from server.actions.locked_realm import LockedRealm, lock_realm_context
from server.actions.users import NewUser, Start, create_users
from server.actions.welcoming import welcome
from server.domain import admission
from server.domain.channels import Standing
from server.domain.errors import BadRequestError, NotFoundError
from server.domain.invitations import Key
from server.domain.realm_settings import RealmSettings
from server.i18n import _
from server.jobs import InvitationEmail, enqueue
from server.transactions import Tx
from storage import invitations, realm_domains, users
from storage.database import Connection
from storage.ids import InvitationId, RealmId, UserId
from storage.invitations import InvitationRow
from storage.realms import RealmRow
from storage.users import UserRow

NOT_OURS = _("This link is not one of ours. Look whether all of it was copied.")
ENDED = _("This invitation has ended. Ask the person who sent it for a new one.")
REVOKED = _("This invitation was revoked. Ask the person who sent it.")
USED = _("This invitation has been used. Sign in with the account that was made by it.")
ORPHANED = _(
    "The person who sent this invitation may not invite people any more. Ask another member."
)
DEACTIVATED = _("This organization has been deactivated.")


class LinkError(NotFoundError):
    """The link is unusable; the message says why."""


class HasAccountError(BadRequestError):
    """The address has an account already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    """What a new user chooses."""

    full_name: str
    password_hash: str | None
    timezone: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Personal settings that differ from the realm's defaults."""
    email_confirmed: bool = True
    """False if no mail that confirms the address was delivered."""


async def open_invitation(
    connection: Connection, realm: RealmRow, key: Key, link_secret: str, now: datetime
) -> tuple[InvitationRow, UserRow]:
    """Return the invitation of the key, and its inviter.

    `link_secret`: the secret of a link with this id. Raises LinkError.
    """
    row = await invitations.by_id(connection, realm.realm_id, key.invitation_id)
    if row is None:
        raise LinkError(NOT_OURS)
    _check_key(row, key, link_secret)
    found = await users.by_ids(connection, realm.realm_id, [row.inviter_id])
    has_inviter = bool(found) and found[0].is_active
    if row.state == "revoked" and not has_inviter:
        raise LinkError(ORPHANED)  # the inviter cannot be asked for another one
    _check_open(row, now)
    await _check_link(connection, realm.realm_id, row)
    if realm.deactivated:
        raise LinkError(DEACTIVATED)
    if not has_inviter:
        raise LinkError(ORPHANED)
    return row, found[0]


async def accept(tx: Tx, key: Key, newcomer: Newcomer, *, now: datetime) -> UserId:
    """Create an account for the holder of an emailed key, once.

    Raises LinkError, BadRequestError.
    """
    tx.must_be_exact()
    realm, row, context = await _held(tx, key.invitation_id, now)
    if row.email is None or not _is_of_mail(row, key):
        raise LinkError(NOT_OURS)
    await check_address(await tx.connection(), realm, row.email)
    return await _join(tx, row, row.email, context, newcomer, now=now)


async def accept_of_address(
    tx: Tx, email: str, newcomer: Newcomer, *, now: datetime
) -> UserId | None:
    """Accept the newest valid invitation to an address vouched for by others.

    Return None if there is none. Raises BadRequestError.
    """
    tx.must_be_exact()
    connection = await tx.connection()
    for each in await invitations.open_of_email(connection, tx.realm_id, email, now=now):
        try:
            realm, row, context = await _held(tx, each, now)
        except LinkError:
            continue
        await check_address(await tx.connection(), realm, email)
        return await _join(tx, row, email, context, newcomer, now=now)
    return None


async def _join(
    tx: Tx,
    row: InvitationRow,
    email: str,
    context: LockedRealm,
    newcomer: Newcomer,
    *,
    now: datetime,
) -> UserId:
    """Create an account with the terms of a locked invitation."""
    connection = await tx.connection()
    terms = await grantable(connection, context, tx.realm_id, row)
    start = Start(
        channel_ids=terms.channel_ids,
        includes_defaults=terms.includes_defaults,
        group_ids=terms.group_ids,
    )
    new = NewUser(
        email=email,
        full_name=newcomer.full_name,
        role=row.role,
        password_hash=newcomer.password_hash,
        timezone=newcomer.timezone,
        settings=newcomer.settings,
        email_confirmed=newcomer.email_confirmed,
        start=start,
    )
    [made] = await create_users(tx, [new], now=now)
    connection = await tx.changing()
    entry = await append_invitations_changed(
        tx, *await invitations.end_of_email(connection, tx.realm_id, email)
    )
    facts = {"email": made.email, "role": made.role, "invited_by": row.inviter_id}
    changed = {made.user_id: audit.differences({}, facts)}
    audit.record_each(tx, entry, made.user_id, "invitation_accepted", changed)
    await welcome(
        tx,
        context.realm,
        made.user_id,
        text=row.welcome_text,
        inviter_id=row.inviter_id if row.tells_inviter else None,
    )
    return made.user_id


async def ask_by_link(tx: Tx, invitation_id: InvitationId, email: str, *, now: datetime) -> None:
    """Send the link's holder an emailed invitation of their own, to confirm the address.

    Raises LinkError, BadRequestError.
    """
    tx.must_be_exact()
    realm, row, _ = await _held(tx, invitation_id, now)
    if row.email is not None:
        raise LinkError(NOT_OURS)
    await check_address(await tx.connection(), realm, email)
    [made] = await invitations.insert(
        await tx.changing(), tx.realm_id, row, [email], now=now, by_link=row.invitation_id
    )
    enqueue(tx, InvitationEmail(realm_id=tx.realm_id, invitation_id=made))


async def join_by_link(
    tx: Tx, invitation_id: InvitationId, email: str, newcomer: Newcomer, *, now: datetime
) -> UserId:
    """Create an account with an unconfirmed address, with the link's terms.

    Only for servers that send no email. Raises LinkError, and BadRequestError for an address that
    is not admitted or has an account.
    """
    tx.must_be_exact()
    realm, row, context = await _held(tx, invitation_id, now)
    if row.email is not None:
        raise LinkError(NOT_OURS)
    await check_address(await tx.connection(), realm, email, confirmed=False)
    newcomer = replace(newcomer, email_confirmed=False)
    return await _join(tx, row, email, context, newcomer, now=now)


async def check_address(
    connection: Connection, realm: RealmRow, email: str, *, confirmed: bool = True
) -> None:
    """Raise BadRequestError for an address that is not admitted, or has an account."""
    domains = await realm_domains.of_realm(connection, realm.realm_id)
    admission.check_address(email, RealmSettings.of(realm.settings), domains, confirmed=confirmed)
    for row in await users.by_emails(connection, realm.realm_id, [email]):
        if row.is_active:
            raise HasAccountError(
                _("{email} has an account here already. Sign in with it.", email=row.email)
            )
        raise BadRequestError(
            _(
                "The account of {email} here is deactivated. Ask the person who invited you to"
                " have it reactivated.",
                email=row.email,
            )
        )


async def _held(
    tx: Tx, invitation_id: InvitationId, now: datetime
) -> tuple[RealmRow, InvitationRow, LockedRealm]:
    """Lock the realm exclusively, the open invitation, and its inviter, who may still invite.

    Raises LinkError.
    """
    known = await invitations.by_id(await tx.connection(), tx.realm_id, invitation_id)
    if known is None:
        raise LinkError(NOT_OURS)
    context = await lock_realm_context(tx, [known.inviter_id], names_change=True)
    if context.realm.deactivated:
        raise LinkError(DEACTIVATED)
    found = await tx.lock(invitations.locking(tx.realm_id, invitation_id))
    if not found:
        raise LinkError(NOT_OURS)
    [row] = found
    _check_open(row, now)
    await _check_link(await tx.connection(), tx.realm_id, row)
    _check_inviter(context, row)
    return context.realm, row, context


async def _check_link(connection: Connection, realm_id: RealmId, row: InvitationRow) -> None:
    """Raise LinkError if it was requested by a link that has been revoked."""
    if row.by_link is not None:
        link = await invitations.by_id(connection, realm_id, row.by_link)
        if link is None or link.state == "revoked":
            raise LinkError(REVOKED)


def _check_inviter(context: LockedRealm, row: InvitationRow) -> None:
    """Raise LinkError unless the inviter is active, and may still invite to that."""
    inviter = context.people.get(row.inviter_id)
    if inviter is None or not inviter.is_active:
        raise LinkError(ORPHANED)
    check_still_invites(context.standing(row.inviter_id), row)


def check_still_invites(standing: Standing, row: InvitationRow) -> None:
    """Raise LinkError unless a user with this standing may invite to that."""
    by_link = row.email is None or row.by_link is not None
    try:
        check_may_invite(standing, row.role, by_link=by_link)
    except BadRequestError as error:
        raise LinkError(ORPHANED) from error


def _check_open(row: InvitationRow, now: datetime) -> None:
    if row.state == "accepted":
        raise LinkError(USED)
    if row.state == "revoked":
        raise LinkError(REVOKED)
    if row.is_over(now):
        raise LinkError(ENDED)


def _is_of_mail(row: InvitationRow, key: Key) -> bool:
    return any(hmac.compare_digest(bytes(each), key.digest) for each in row.token_digests)


def _check_key(row: InvitationRow, key: Key, link_secret: str) -> None:
    """Raise LinkError unless the secret is the invitation's own."""
    if row.email is None:
        is_known = hmac.compare_digest(key.secret, link_secret)
    else:
        is_known = _is_of_mail(row, key)
    if not is_known:
        raise LinkError(NOT_OURS)
