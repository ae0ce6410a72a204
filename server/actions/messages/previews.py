"""Previews of linked pages come under a message that every user has already."""

from collections.abc import Sequence
from datetime import datetime

from server.actions.messages.redraw import Seen, redraw
from server.domain.markdown.nodes import Preview
from server.domain.markdown.previews import with_previews
from server.transactions import Tx
from storage.ids import MessageId


async def show_previews(
    tx: Tx, message_id: MessageId, content: str, previews: Sequence[Preview], now: datetime
) -> None:
    """Show these and no others, if the message still says this; its readers are told.

    Nothing happens to a message that is gone or in an archived channel, nor where the organization
    has no previews any more.
    """

    async def draw(seen: Seen) -> str:
        html = seen.row.rendered_content
        is_closed = seen.channel is not None and seen.channel.is_archived
        shows_previews = seen.context.settings.inline_url_embed_preview
        if seen.row.content != content or is_closed or not shows_previews:
            return html
        return with_previews(html, previews)

    await redraw(tx, message_id, draw, now)
