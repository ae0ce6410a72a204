"""Add thumbnails to messages that have been delivered."""

from datetime import datetime

from server.actions.messages.redraw import Seen, redraw
from server.domain.thumbnails import with_thumbnails
from server.transactions import Tx
from storage import attachments
from storage.ids import MessageId


async def show_thumbnails(tx: Tx, message_id: MessageId, now: datetime) -> None:
    """Show thumbnails for those of the message's pictures that have them by now."""

    async def draw(seen: Seen) -> str:
        held = await attachments.held_by(await tx.connection(), tx.realm_id, seen.row.id)
        return with_thumbnails(seen.row.rendered_content, {row.path_id: row for row in held})

    await redraw(tx, message_id, draw, now)
