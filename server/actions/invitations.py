"""Invite users by email or by link; resend and revoke invitations."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

from server.actions import audit
from server.actions.locked_realm import LockedRealm, lock_context
from server.domain.access import ADMINISTRATOR, OWNER, ROLES
from server.domain.accounts import checked_new_email
from server.domain.actor import Actor
from server.domain.admission import check_address
from server.domain.channels import Standing
from server.domain.errors import BadRequestError, InvitationFailedError
from server.domain.groups import may_add
from server.domain.invitations import MAX_ADDRESSES, looks_after, sees
from server.events.base import Entry, to_users
from server.events.invitations import InvitationsChanged
from server.i18n import _
from server.jobs import InvitationEmail, enqueue
from server.transactions import Tx
from storage import channels, groups, invitations, realm_domains, subscriptions, users
from storage.address_folding import fold_address
from storage.database import Connection
from storage.ids import ChannelId, GroupId, InvitationId, RealmId
from storage.invitations import InvitationRow, InvitationTerms

A_DAY: Final = timedelta(days=1)
RETENTION: Final = timedelta(days=90)
"""Retention of ended invitations, while their links still say what became of them."""

Each = TypeVar("Each")

NO_SUCH: Final = _("No such invitation")
Problem = tuple[str, str, bool]
"""An address, why it is not invited, and whether it has a deactivated account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Options of an invitation."""

    role: int
    channel_ids: Sequence[ChannelId] = ()
    group_ids: Sequence[GroupId] = ()
    includes_defaults: bool = False
    welcome_text: str | None = None
    tells_inviter: bool = False
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Invited:
    """Addresses that have accounts, and so were skipped; all others were invited."""

    passed_over: Sequence[Problem] = field(default=())
    sent: bool = False


async def invite(
    tx: Tx, actor: Actor, emails: Sequence[str], wish: Wish, *, per_day: int, now: datetime
) -> Invited:
    """Invite all of these addresses by email.

    If anything is wrong none is invited: raises BadRequestError without an address, and for options
    that the actor may not give; InvitationFailedError for addresses that are invalid or not
    admitted, if the daily limit is reached, and if all of them have accounts.
    """
    if not emails:
        raise BadRequestError(_("You must specify at least one email address."))
    if len(emails) > MAX_ADDRESSES:
        raise BadRequestError(_("Too many addresses (limit: {limit})", limit=MAX_ADDRESSES))
    context = await lock_context(
        tx, actor, names_change=True
    )  # one after another: mails are counted
    terms = await _terms(tx, context, actor, wish, by_link=False)
    connection = await tx.connection()
    await _check_addresses(connection, context, tx.realm_id, emails)
    passed_over = await _with_accounts(connection, tx.realm_id, emails)
    wanted = _without(emails, [email for email, _, _ in passed_over])
    if not wanted:
        raise InvitationFailedError(_("We weren't able to invite anyone."), passed_over)
    mailed = await invitations.mailed_since(connection, tx.realm_id, now - A_DAY)
    check_limit(mailed + len(wanted), per_day, len(emails))

    connection = await tx.changing()
    await invitations.forget(connection, tx.realm_id, before=now - RETENTION)
    ids = await invitations.insert(connection, tx.realm_id, terms, wanted, now=now)
    _keep(
        tx,
        await append_invitations_changed(tx, terms),
        actor,
        "invitations_sent",
        *ids,
        role=wish.role,
    )
    for invitation_id in ids:
        enqueue(tx, InvitationEmail(realm_id=tx.realm_id, invitation_id=invitation_id))
    return Invited(passed_over, sent=True)


async def make_link(tx: Tx, actor: Actor, wish: Wish, *, now: datetime) -> InvitationId:
    """Create a reusable invitation link. Raises BadRequestError."""
    context = await lock_context(tx, actor)
    terms = await _terms(tx, context, actor, wish, by_link=True)
    [made] = await invitations.insert(await tx.changing(), tx.realm_id, terms, [None], now=now)
    _keep(
        tx,
        await append_invitations_changed(tx, terms),
        actor,
        "invitation_link_made",
        made,
        role=wish.role,
    )
    return made


async def revoke(
    tx: Tx, actor: Actor, invitation_id: InvitationId, *, is_link: bool, now: datetime
) -> None:
    """Revoke an invitation. Raises BadRequestError."""
    context = await lock_context(tx, actor)
    row = await _held(tx, context, actor, invitation_id, is_link=is_link, now=now)
    await invitations.end(await tx.changing(), tx.realm_id, row.invitation_id, state="revoked")
    entry = await append_invitations_changed(tx, row)
    _keep(tx, entry, actor, "invitation_revoked", row.invitation_id, inviter_id=row.inviter_id)


async def resend(
    tx: Tx, actor: Actor, invitation_id: InvitationId, *, per_day: int, now: datetime
) -> None:
    """Resend an invitation without changing its expiry. Raises BadRequestError."""
    context = await lock_context(tx, actor, names_change=True)
    row = await _held(tx, context, actor, invitation_id, is_link=False, now=now)
    check_may_invite(context.standing(actor.user_id), row.role, by_link=False)
    mailed = await invitations.mailed_since(await tx.connection(), tx.realm_id, now - A_DAY)
    check_limit(mailed + 1, per_day, 1)
    connection = await tx.changing()
    await invitations.mail_again(
        connection, tx.realm_id, row.invitation_id, since=now - A_DAY, now=now
    )
    entry = await append_invitations_changed(tx, row)
    _keep(tx, entry, actor, "invitation_resent", row.invitation_id, inviter_id=row.inviter_id)
    enqueue(tx, InvitationEmail(realm_id=tx.realm_id, invitation_id=row.invitation_id))


async def withdraw_of(tx: Tx, context: LockedRealm) -> None:
    """Revoke open invitations that their inviters, the people of `context`, may not give any more.

    Call it after an account is deactivated or its role changes, with the new row: all invitations
    of a deactivated inviter are revoked, and those to a role, or of a kind, that another inviter no
    longer may invite to. The caller has locked the realm exclusively. Revoked invitations are
    listed, resent and accepted no more, and clients that list them are notified.
    """
    inviters = sorted(context.people)
    found = await invitations.open_of_inviters(await tx.connection(), tx.realm_id, inviters)
    ended = [row for row in found if not _still_supports(context, row)]
    if not ended:
        return
    ids = [row.invitation_id for row in ended]
    locked = await tx.lock(invitations.locking_all(tx.realm_id, ids))
    connection = await tx.changing()
    for row in locked:
        await invitations.end(connection, tx.realm_id, row.invitation_id, state="revoked")
    await append_invitations_changed(tx, *locked)


def _still_supports(context: LockedRealm, row: InvitationRow) -> bool:
    """Return whether the inviter, as in `context`, may still invite to this."""
    if not context.people[row.inviter_id].is_active:
        return False
    by_link = row.email is None or row.by_link is not None
    try:
        check_may_invite(context.standing(row.inviter_id), row.role, by_link=by_link)
    except BadRequestError:
        return False
    return True


async def visible(connection: Connection, actor: Actor, now: datetime) -> list[InvitationRow]:
    """Return the open invitations that the actor may see."""
    own_only = None if actor.person.is_administrator else actor.user_id
    rows = await invitations.open_ones(connection, actor.realm_id, now=now, of_inviter=own_only)
    return [row for row in rows if sees(actor.person, row)]


async def append_invitations_changed(tx: Tx, *changed: InvitationTerms) -> Entry:
    """Publish that invitations have changed to those who may see them."""
    by_role = await users.ids_by_role(await tx.connection(), tx.realm_id, without_bots=True)
    seeing = {terms.inviter_id for terms in changed}
    for role in (OWNER, ADMINISTRATOR):
        if any(looks_after(role, terms) for terms in changed):
            seeing |= set(by_role.get(role, ()))
    return tx.append(InvitationsChanged(), to_users(*sorted(seeing)))


def _keep(
    tx: Tx, entry: Entry, actor: Actor, action: str, *ids: InvitationId, **facts: int
) -> None:
    """Record the action without addresses: their owners may have no account in the realm."""
    what = {"invitation_ids": list(ids), **facts}
    audit.record_outcomes(tx, entry, actor.user_id, action, {actor.user_id: what})


# -- permissions of an inviter


def check_may_invite(standing: Standing, role: int, *, by_link: bool) -> None:
    """Raise BadRequestError unless they may invite, and to that role."""
    name = "create_multiuse_invite_group" if by_link else "can_invite_users_group"
    if not standing.realm_permits(name):
        raise BadRequestError(_("Insufficient permission"))
    if role not in ROLES:
        raise BadRequestError(_("Invalid role"))
    if role < standing.person.role:
        raise BadRequestError(_("You cannot invite a user to a role above your own."))


async def grantable(
    connection: Connection, context: LockedRealm, realm_id: RealmId, terms: InvitationTerms
) -> InvitationTerms:
    """Return the terms without channels and groups to which the inviter may not add users."""
    standing = context.standing(terms.inviter_id)
    channel_ids = list(terms.channel_ids)
    found = await channels.by_ids(connection, realm_id, channel_ids)
    own = await subscriptions.in_channels(
        connection, realm_id, user_ids=[terms.inviter_id], channel_ids=channel_ids
    )
    subscribed = {row.channel_id for row in own if row.active}
    adds_anywhere = standing.realm_permits("can_add_subscribers_group")
    open_to_them = {
        row.channel_id
        for row in found
        if not row.is_archived
        and (
            standing.adds_others(row, subscribed=row.channel_id in subscribed)
            or (row.is_default and adds_anywhere)
        )
    }
    teams = [await groups.by_id(connection, realm_id, each) for each in terms.group_ids]
    joinable = {
        row.group_id
        for row in teams
        if row is not None
        and not (row.deactivated or row.is_system_group)
        and may_add(standing, row, only_themselves=False)
    }
    return replace(
        terms,
        channel_ids=[each for each in channel_ids if each in open_to_them],
        group_ids=[each for each in terms.group_ids if each in joinable],
    )


async def _terms(
    tx: Tx, context: LockedRealm, actor: Actor, wish: Wish, *, by_link: bool
) -> InvitationTerms:
    """Return the terms if the actor may offer them; raise BadRequestError."""
    standing = context.standing(actor.user_id)
    check_may_invite(standing, wish.role, by_link=by_link)
    terms = InvitationTerms(
        inviter_id=actor.user_id,
        role=wish.role,
        channel_ids=list(dict.fromkeys(wish.channel_ids)),
        group_ids=list(dict.fromkeys(wish.group_ids)),
        includes_defaults=wish.includes_defaults,
        # Only administrators may change the realm's welcome text.
        welcome_text=wish.welcome_text if standing.person.is_administrator else None,
        tells_inviter=wish.tells_inviter,
        ends_at=wish.ends_at,
    )
    given = await grantable(await tx.connection(), context, tx.realm_id, terms)
    if refused := _without(terms.channel_ids, given.channel_ids):
        raise BadRequestError(
            _(
                "Invalid channel ID {value}, or you do not have permission to subscribe other"
                " users to it.",
                value=refused[0],
            )
        )
    if missing := _without(terms.group_ids, given.group_ids):
        raise BadRequestError(
            _(
                "Invalid user group ID {value}, or you do not have permission to add members.",
                value=missing[0],
            )
        )
    return terms


async def _held(
    tx: Tx,
    context: LockedRealm,
    actor: Actor,
    invitation_id: InvitationId,
    *,
    is_link: bool,
    now: datetime,
) -> InvitationRow:
    """Lock and return an open invitation that the actor may manage. Raises BadRequestError."""
    found = await tx.lock(invitations.locking(tx.realm_id, invitation_id))
    person = context.standing(actor.user_id).person
    for row in found:
        is_listed = row.state == "open" and not row.is_over(now) and row.by_link is None
        if is_listed and sees(person, row) and (row.email is None) == is_link:
            return row
    raise BadRequestError(NO_SUCH)


# -- addresses


def check_limit(mails: int, per_day: int, wanted: int) -> None:
    """Raise InvitationFailedError if the realm would exceed its daily limit of emails."""
    if mails > per_day:
        people = "one person" if wanted == 1 else f"{wanted} people"
        raise InvitationFailedError(
            _(
                "To protect users, the number of invitations that an organization sends in a"
                " day is limited (to {per_day}), and inviting {people} now would be too many."
                " None was invited. Try again later, or share a link.",
                per_day=per_day,
                people=people,
            ),
            daily_limit_reached=True,
        )


async def _check_addresses(
    connection: Connection, context: LockedRealm, realm_id: RealmId, emails: Sequence[str]
) -> None:
    """Raise InvitationFailedError if an address is invalid, or not admitted here."""
    domains = await realm_domains.of_realm(connection, realm_id)
    problems: list[Problem] = []
    for email in emails:
        try:
            checked_new_email(email)
            check_address(email, context.settings, domains)
        except BadRequestError as error:
            problems.append((email, error.message, False))
    if problems:
        raise InvitationFailedError(
            _("Some emails did not validate, so we didn't send any invitations."), problems
        )


async def _with_accounts(
    connection: Connection, realm_id: RealmId, emails: Sequence[str]
) -> list[Problem]:
    """Return the addresses that have accounts here."""
    found = {
        fold_address(row.email): row for row in await users.by_emails(connection, realm_id, emails)
    }
    problems: list[Problem] = []
    for email in emails:
        if row := found.get(fold_address(email)):
            has_account, was_closed = (
                _("Already has an account."),
                _("Account has been deactivated."),
            )
            reason = has_account if row.is_active else was_closed
            problems.append((email, reason, not row.is_active))
    return problems


def _without(every: Sequence[Each], some: Collection[object]) -> list[Each]:
    return [each for each in every if each not in some]
