"""Previews of linked pages come under a message that everybody has already."""

from collections.abc import Sequence
from datetime import datetime

from server.actions.ground import stand_on_realm
from server.actions.messages.audience import of_messages
from server.actions.messages.edit import tell_of_content
from server.domain.markdown.nodes import Preview
from server.domain.markdown.previews import with_previews
from server.events.base import StaleDecisionError, Tx
from server.events.message_changes import ContentChange, MessagesChanged
from storage import channels, message_previews, messages
from storage.channels import ChannelRow
from storage.ids import MessageId


async def show_previews(
    tx: Tx, message_id: MessageId, content: str, previews: Sequence[Preview], now: datetime
) -> None:
    """Show these and no others, if the message still says this; its readers are told.

    Nothing happens to a message that is gone or in an archived channel, nor where the organization
    has no previews any more.
    """
    tx.must_be_exact()
    connection = await tx.connection()
    seen = await message_previews.current(connection, tx.realm_id, message_id)
    if seen is None:
        return
    ground = await stand_on_realm(tx, [])
    channel: ChannelRow | None = None
    if seen.channel_id is not None:
        locking = channels.locking(tx.realm_id, [seen.channel_id])
        [channel] = await tx.lock(locking.shared())
    rows = await tx.lock(message_previews.locking(tx.realm_id, message_id))
    is_closed = channel is not None and channel.is_archived
    if not rows or rows[0].content != content or is_closed:
        return
    [row] = rows
    if row.channel_id != seen.channel_id:
        raise StaleDecisionError
    html = with_previews(row.rendered_content, previews)
    if html == row.rendered_content or not ground.settings.inline_url_embed_preview:
        return
    tellings = await of_messages(tx, channel, row.conversation_id, [row.id])
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
            is_me_message=bool(row.traits & messages.IS_ME_MESSAGE),
        ),
        rendering_only=True,
    )
    tell_of_content(tx, event, tellings)
