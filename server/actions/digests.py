"""Enqueue digest emails, once for each user and day, despite crashes."""

from datetime import date, datetime
from typing import Final

from server.actions.locked_realm import lock_realm
from server.actions.user_settings import OwnChange, change_own_settings
from server.domain.actor import Actor
from server.domain.realm_settings import RealmSettings
from server.jobs import DigestEmails, enqueue
from server.transactions import Tx
from storage import digests

USERS_PER_JOB: Final = 50
"""Maximum number of users in one job and commit."""
NO_DIGESTS: Final = {"enable_digest_emails": False}


async def begin_digests(tx: Tx, day: date, *, away_since: datetime) -> int:
    """Enqueue the digests of some due users; return how many. They are not due any more then."""
    realm = await lock_realm(tx, alone=True)
    settings = RealmSettings.of(realm.settings)
    if realm.deactivated or not settings.digest_emails_enabled:
        return 0
    due = await digests.due(
        await tx.connection(), tx.realm_id, day=day, away_since=away_since, limit=USERS_PER_JOB
    )
    if due:
        await digests.begin(await tx.changing(), tx.realm_id, due, day)
        enqueue(tx, DigestEmails(realm_id=tx.realm_id, user_ids=tuple(due), day=day))
    return len(due)


async def stop_digests(tx: Tx, actor: Actor) -> None:
    """Stop digests for the actor. Idempotent. Raises UserDeactivatedError."""
    tx.must_be_exact()
    await change_own_settings(tx, actor, OwnChange(settings=NO_DIGESTS))
