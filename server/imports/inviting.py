"""Invite people with imported accounts: each gets an email with a link to choose a password."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from server.actions import audit
from server.actions.realm_services import RealmServices
from server.domain.confirmations import INVITED_SECONDS, RESET_PASSWORD
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.jobs import ConfirmationEmail, enqueue
from server.transactions import Tx
from storage import confirmations, imported_people, users
from storage.ids import UserId

BATCH: Final = 50
"""Emails enqueued in a transaction."""


async def invite_all(services: RealmServices) -> int:
    """Enqueue an email for each active person who has no password yet; return how many.

    Links that were sent before stay valid.
    """
    count, last = 0, UserId(0)
    while True:
        async with services.read() as connection:
            ids = await imported_people.people_without_password(
                connection, services.realm_id, last, limit=BATCH
            )
        if not ids:
            return count
        count += await services.write(partial(_invite, user_ids=ids))
        last = ids[-1]


async def _invite(tx: Tx, *, user_ids: Sequence[UserId]) -> int:
    """Enqueue emails for those of them who are still active."""
    tx.must_be_exact()
    found = await tx.lock(users.locking(tx.realm_id, user_ids))
    active = [row for row in found if row.is_active]
    connection = await tx.changing()
    for row in active:
        confirmation_id = await confirmations.insert(
            connection,
            tx.realm_id,
            purpose=RESET_PASSWORD,
            email=row.email,
            user_id=row.user_id,
            seconds=INVITED_SECONDS,
        )
        enqueue(
            tx,
            ConfirmationEmail(
                realm_id=tx.realm_id, confirmation_id=confirmation_id, is_invitation=True
            ),
        )
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_each(
        tx, entry, None, "user_password_link_made", {row.user_id: {} for row in active}
    )
    return len(active)
