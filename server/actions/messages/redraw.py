"""Re-render messages that have been delivered, without changing what they say."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from server.actions.locked_realm import LockedRealm, lock_realm_context
from server.actions.messages.audience import of_messages
from server.actions.messages.edit import append_content_events
from server.events.message_changes import ContentChange, MessagesChanged
from server.transactions import StaleDecisionError, Tx
from storage import channels, message_bits, message_previews
from storage.channels import ChannelRow
from storage.ids import MessageId
from storage.message_edits import ChangingRow


@dataclass(frozen=True, slots=True)
class Seen:
    """A message that is locked until the commit."""

    row: ChangingRow
    channel: ChannelRow | None
    context: LockedRealm


Draw = Callable[[Seen], Awaitable[str]]
"""Callback that returns the new HTML of a message."""


async def redraw(tx: Tx, message_id: MessageId, draw: Draw, now: datetime) -> None:
    """Update the rendering of a message, unless it is gone; publish it if it differs."""
    tx.must_be_exact()
    connection = await tx.connection()
    found = await message_previews.current(connection, tx.realm_id, message_id)
    if found is None:
        return
    context = await lock_realm_context(tx, [])
    channel: ChannelRow | None = None
    if found.channel_id is not None:
        locking = channels.locking(tx.realm_id, [found.channel_id])
        [channel] = await tx.lock(locking.shared())
    rows = await tx.lock(message_previews.locking(tx.realm_id, message_id))
    if not rows:
        return
    [row] = rows
    if row.channel_id != found.channel_id:
        raise StaleDecisionError
    html = await draw(Seen(row, channel, context))
    if html == row.rendered_content:
        return
    all_recipients = await of_messages(tx, channel, row.conversation_id, [row.id])
    await message_previews.update(await tx.changing(), tx.realm_id, row.id, html)
    event = MessagesChanged(
        message_id=row.id,
        message_ids=(row.id,),
        user_id=None,
        edit_timestamp=int(now.timestamp()),
        channel_id=row.channel_id,
        channel_name="" if channel is None else channel.name,
        content=ContentChange(
            content=row.content,
            rendered_content=html,
            is_me_message=bool(row.traits & message_bits.IS_ME_MESSAGE),
        ),
        rendering_only=True,
    )
    append_content_events(tx, event, all_recipients)
