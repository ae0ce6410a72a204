"""Saved snippets: texts that users keep for reuse."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from server.domain.actor import Actor
from server.domain.errors import BadRequestError, NotFoundError
from server.domain.messages import clean_content
from server.events.base import to_users
from server.events.saved_snippets import (
    ShownSnippet,
    SnippetAdded,
    SnippetRemoved,
    SnippetUpdated,
)
from server.i18n import _
from server.transactions import Tx
from storage import saved_snippets
from storage.ids import SavedSnippetId
from storage.saved_snippets import SavedSnippetRow

MAX_TITLE_LENGTH: Final = 60


async def create_snippet(
    tx: Tx, actor: Actor, title: str, content: str, *, now: datetime
) -> SavedSnippetId:
    """Create a snippet; return its id. Raises BadRequestError."""
    title, content = _clean_title(title), clean_content(content)
    connection = await tx.changing()
    snippet_id = await saved_snippets.insert(
        connection, tx.realm_id, actor.user_id, title=title, content=content, created_at=now
    )
    shown = ShownSnippet.of(SavedSnippetRow(snippet_id, title, content, now))
    tx.append(SnippetAdded(saved_snippet=shown), to_users(actor.user_id))
    return snippet_id


async def edit_snippet(
    tx: Tx, actor: Actor, snippet_id: SavedSnippetId, title: str | None, content: str | None
) -> None:
    """Change title or content. Raises NotFoundError, BadRequestError."""
    if title is None and content is None:
        raise BadRequestError(_("No new data is supplied"))
    new_title = None if title is None else _clean_title(title)
    new_content = None if content is None else clean_content(content)
    row = await _lock(tx, actor, snippet_id)
    changed = replace(
        row,
        title=row.title if new_title is None else new_title,
        content=row.content if new_content is None else new_content,
    )
    if changed == row:
        return
    connection = await tx.changing()
    await saved_snippets.update(connection, tx.realm_id, actor.user_id, changed)
    event = SnippetUpdated(saved_snippet=ShownSnippet.of(changed))
    tx.append(event, to_users(actor.user_id))


async def delete_snippet(tx: Tx, actor: Actor, snippet_id: SavedSnippetId) -> None:
    """Delete it. Raises NotFoundError."""
    await _lock(tx, actor, snippet_id)
    connection = await tx.changing()
    await saved_snippets.delete(connection, tx.realm_id, actor.user_id, snippet_id)
    tx.append(SnippetRemoved(saved_snippet_id=snippet_id), to_users(actor.user_id))


def _clean_title(title: str) -> str:
    title = title.strip()
    if not title:
        raise BadRequestError(_("Title cannot be empty."))
    if len(title) > MAX_TITLE_LENGTH:
        raise BadRequestError(
            _("Title is too long (limit: {limit} characters)", limit=MAX_TITLE_LENGTH)
        )
    return title


async def _lock(tx: Tx, actor: Actor, snippet_id: SavedSnippetId) -> SavedSnippetRow:
    locked = await tx.lock(saved_snippets.locking(tx.realm_id, actor.user_id, snippet_id))
    if not locked:
        raise NotFoundError(_("Saved snippet does not exist."))
    return locked[0]
