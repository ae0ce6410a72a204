"""Register's `drafts` and `saved_snippets`."""

from typing import Any, Final, TypedDict

from server.domain.user_settings import UserSettings
from server.events.drafts import ShownDraft
from server.events.saved_snippets import ShownSnippet
from server.initial_state.base import Snapshot, StateSection
from storage import drafts, saved_snippets


class DraftFields(TypedDict):
    drafts: list[ShownDraft]


class SnippetFields(TypedDict):
    saved_snippets: list[ShownSnippet]


MAX_DRAFTS: Final = 1_000
"""Maximum number, the last edited ones; GET /drafts returns all."""


async def fetch_drafts(snapshot: Snapshot) -> dict[str, Any]:
    actor = snapshot.actor
    if not UserSettings.of(actor.row.settings).enable_drafts_synchronization:
        return {"drafts": []}
    rows = await drafts.of_user(
        snapshot.connection, snapshot.realm_id, actor.user_id, limit=MAX_DRAFTS
    )
    return {"drafts": [ShownDraft.of(row) for row in rows]}


async def fetch_snippets(snapshot: Snapshot) -> dict[str, Any]:
    rows = await saved_snippets.of_user(
        snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
    )
    return {"saved_snippets": [ShownSnippet.of(row) for row in rows]}


SECTIONS = (
    StateSection("drafts", fetch_drafts, (DraftFields,)),
    StateSection("saved_snippets", fetch_snippets, (SnippetFields,)),
)
