"""Add link previews to messages that have been delivered."""

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
    """Show exactly these previews, if the content is still the same; publish it to the readers.

    Does nothing if the message is gone or in an archived channel, or if the realm has disabled
    previews.
    """

    async def draw(seen: Seen) -> str:
        html = seen.row.rendered_content
        is_closed = seen.channel is not None and seen.channel.is_archived
        shows_previews = seen.context.settings.inline_url_embed_preview
        if seen.row.content != content or is_closed or not shows_previews:
            return html
        return with_previews(html, previews)

    await redraw(tx, message_id, draw, now)
