"""Delete several messages at once: all of them, or none."""

from collections.abc import Sequence
from datetime import datetime

from server.actions.messages.audience import LockedConversation
from server.actions.messages.bulk import BulkSubject, Refusals, lock_messages
from server.actions.messages.delete import delete_locked, refusal_to_delete
from server.domain.actor import Actor
from server.domain.archived_channels import CANNOT_BE_CHANGED
from server.transactions import Tx
from storage.ids import MessageId


async def delete_messages(
    tx: Tx, actor: Actor, message_ids: Sequence[MessageId], now: datetime
) -> list[MessageId]:
    """Delete the messages for good; return their ids.

    Messages that do not exist (any more), or that the actor may not read, are left out. Raises
    MessagesRefusedError if the actor may not delete one of the others.
    """
    subject = await lock_messages(tx, actor, message_ids)
    _check_permitted(subject, now)
    found = [
        LockedConversation(each.placement.channel, each.placement.topic, each.rows)
        for each in subject.placed
    ]
    if found:
        await delete_locked(tx, subject.context, found, now, by=[actor.user_id])
    return sorted(row.id for each in found for row in each.rows)


def _check_permitted(subject: BulkSubject, now: datetime) -> None:
    refusals = Refusals()
    for each in subject.placed:
        channel = each.placement.channel
        if channel is not None and channel.is_archived:
            refusals.add(CANNOT_BE_CHANGED, each.ids)
            continue
        for row in each.rows:
            reason = refusal_to_delete(each.placement, row, now)
            if reason is not None:
                refusals.add(reason, [row.id])
    refusals.check()
