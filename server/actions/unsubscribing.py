"""Unsubscribe from kinds of emails."""

from dataclasses import replace
from typing import Final

from server.actions.subscriptions.settings import PropertyChange, set_properties
from server.actions.user_settings import OwnChange, change_own_settings
from server.domain.actor import Actor
from server.transactions import Tx
from storage import subscriptions

NO_EMAILS: Final = {
    "enable_offline_email_notifications": False,
    "enable_stream_email_notifications": False,
    "enable_followed_topic_email_notifications": False,
}


async def stop_welcomes(tx: Tx, actor: Actor) -> None:
    """Switch off welcome emails. Raises UserDeactivatedError."""
    tx.must_be_exact()
    await change_own_settings(tx, actor, OwnChange(settings={"enable_marketing_emails": False}))


async def stop_sign_ins(tx: Tx, actor: Actor) -> None:
    """Switch off emails about sign-ins. Raises UserDeactivatedError."""
    tx.must_be_exact()
    await change_own_settings(tx, actor, OwnChange(settings={"enable_login_emails": False}))


async def stop_emails(tx: Tx, actor: Actor) -> None:
    """Switch off all emails about messages, those of single channels too. Idempotent.

    Raises UserDeactivatedError.
    """
    tx.must_be_exact()  # it waits for rows that others hold, and leaves none out
    await change_own_settings(tx, actor, OwnChange(settings=NO_EMAILS))
    own = await subscriptions.of_users(await tx.connection(), tx.realm_id, [actor.user_id])
    loud = [row for row in own if row.email_notifications]
    changes = [
        PropertyChange(row.channel_id, "email_notifications", value=False)
        for row in loud
        if row.active
    ]
    await set_properties(tx, actor, changes)
    # Clients know nothing of past subscriptions, and users who return find them as they were.
    left = [replace(row, email_notifications=False) for row in loud if not row.active]
    if left:
        await subscriptions.update_settings(await tx.changing(), tx.realm_id, left)
