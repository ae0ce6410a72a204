"""Small pictures take their place in messages that every user has already."""

from datetime import datetime

from server.actions.messages.redraw import Seen, redraw
from server.domain.thumbnails import with_thumbnails
from server.transactions import Tx
from storage import attachments
from storage.ids import MessageId


async def show_thumbnails(tx: Tx, message_id: MessageId, now: datetime) -> None:
    """Show small pictures of those that the message holds, as far as there are any by now."""

    async def draw(seen: Seen) -> str:
        held = await attachments.held_by(await tx.connection(), tx.realm_id, seen.row.id)
        return with_thumbnails(seen.row.rendered_content, {row.path_id: row for row in held})

    await redraw(tx, message_id, draw, now)
