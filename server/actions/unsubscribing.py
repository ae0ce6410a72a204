"""No more emails about what was missed, at the wish of whoever holds such an email."""

from typing import Final

from server.actions.subscriptions.settings import PropertyChange, set_properties
from server.actions.user_settings import OwnChange, change_own_settings
from server.domain.actor import Actor
from server.events.base import Tx
from storage import subscriptions

NO_EMAILS: Final = {
    "enable_offline_email_notifications": False,
    "enable_stream_email_notifications": False,
    "enable_followed_topic_email_notifications": False,
}


async def stop_emails(tx: Tx, actor: Actor) -> None:
    """Switch off all emails about messages, those of single channels too. May be repeated.

    Raises UserDeactivatedError.
    """
    tx.must_be_exact()  # it waits for rows that others hold, and leaves none out
    await change_own_settings(tx, actor, OwnChange(settings=NO_EMAILS))
    own = await subscriptions.of_users(await tx.connection(), tx.realm_id, [actor.user_id])
    changes = [
        PropertyChange(row.channel_id, "email_notifications", value=False)
        for row in own
        if row.active and row.email_notifications
    ]
    await set_properties(tx, actor, changes)
