"""No more emails about what was missed, at the wish of whoever holds such an email."""

from typing import Final

from server.actions.user_settings import OwnChange, change_own_settings
from server.domain.actor import Actor
from server.events.base import Tx, to_users
from server.events.subscriptions import SubscriptionUpdated
from storage import email_notifications

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
    loud = await tx.lock(email_notifications.locking_loud(tx.realm_id, actor.user_id))
    channel_ids = [row.channel_id for row in loud]
    if not channel_ids:
        return
    await email_notifications.hush(await tx.changing(), tx.realm_id, actor.user_id, channel_ids)
    for channel_id in channel_ids:
        updated = SubscriptionUpdated(
            user_id=actor.user_id,
            stream_id=channel_id,
            property="email_notifications",
            value=False,
        )
        tx.append(updated, to_users(actor.user_id))
