"""What follows from a sign-in: an email about it; the first one begins the account."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from server.actions.account_mail import mail_news
from server.actions.credential_changes import end_queues
from server.actions.locked_realm import LockedRealm, lock_realm, locked_realm_of
from server.actions.user_audiences import UserAudiences
from server.domain.access import FULL_MEMBERS_GROUP, Person
from server.domain.account_news import SignedIn
from server.domain.browsers import known_device
from server.domain.sign_in import PASSWORDS
from server.domain.user_settings import UserSettings
from server.events.base import EVERYONE
from server.events.groups import MembersRemoved
from server.events.users import InaccessibleUserChanged, PersonChange, UserChanged, day_joined
from server.transactions import Tx
from storage import first_sign_ins, groups, realms, sessions, users
from storage.ids import UserId
from storage.users import UserRow

JUST_JOINED: Final = timedelta(minutes=1)


async def enqueue_sign_in_email(tx: Tx, user_id: UserId, user_agent: str, *, now: datetime) -> None:
    """Enqueue an email about a sign-in, unless the user does not want it.

    The first sign-in is skipped: it follows the creation of the account.
    """
    connection = await tx.connection()
    [row] = await users.by_ids(connection, tx.realm_id, [user_id])
    if not row.is_active or not UserSettings.of(row.settings).enable_login_emails:
        return
    if now - row.date_joined < JUST_JOINED:
        return
    if not await sessions.ever_came(connection, tx.realm_id, user_id):
        return
    settings = await (await tx.realm_cache()).settings()
    news = SignedIn(
        at=now,
        timezone=row.timezone,
        device=known_device(user_agent),
        has_password_here=settings.wants_method(PASSWORDS),
    )
    mail_news(tx, row, news)


async def begin_account(tx: Tx, user_id: UserId, *, now: datetime) -> None:
    """Record that the person of an imported or created account signs in for the first time.

    The account begins now: its person has to wait for full membership. Nothing happens if it has
    begun before.
    """
    realm = await lock_realm(tx, alone=True)
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    if row.stub is None or not row.is_active:
        return
    context = await locked_realm_of(tx, realm, [row])
    await first_sign_ins.record(await tx.changing(), tx.realm_id, user_id, at=now)
    knowing, strangers = await (await UserAudiences.of(tx, context)).split(row)
    if row.stub == "imported":
        stub = PersonChange(user_id=user_id, is_imported_stub=False)
        tx.append(UserChanged(person=stub), knowing)
    joined = PersonChange(user_id=user_id, date_joined=now.isoformat())
    entry = tx.append(UserChanged(person=joined), knowing)
    if strangers is not None:
        day = PersonChange(user_id=user_id, date_joined=day_joined(now))
        tx.append(InaccessibleUserChanged(person=day), strangers)
    await _end_full_membership(tx, context, row, replace(row, date_joined=now), now=now)
    tx.at_position(entry, users.changed(tx.realm_id, [user_id]))


async def _end_full_membership(
    tx: Tx, context: LockedRealm, old: UserRow, new: UserRow, *, now: datetime
) -> None:
    """Publish that the person is no full member any more, if so; the event queues end."""
    period = context.graph.waiting_period
    was, stays = (
        Person(row.user_id, row.role, row.date_joined).is_full(period, now) for row in (old, new)
    )
    if stays or not was:
        return
    group_id = (await groups.system_ids(await tx.connection(), tx.realm_id))[FULL_MEMBERS_GROUP]
    entry = tx.append(MembersRemoved(group_id=group_id, user_ids=(new.user_id,)), EVERYONE)
    tx.at_position(entry, realms.groups_changed(tx.realm_id))
    await end_queues(tx, [new.user_id])
