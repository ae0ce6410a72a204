"""Endpoints of drafts."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from server.actions import drafts as actions
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Field, Params, Part
from server.domain.api_keys import Scope
from server.domain.clock import LAST_SECOND
from server.events.drafts import ShownDraft
from storage import drafts, users
from storage.drafts import Draft
from storage.ids import DraftId


class GivenDraft(Part):
    type: Literal["", "stream", "private"]
    """`stream` for a channel, `private` for a direct message, empty while there is no recipient."""
    to: list[int]
    """The channel's id alone, or the ids of the users; empty while there is no recipient."""
    topic: str
    """Topic; empty for direct messages."""
    content: str
    """Text so far, in Markdown."""
    timestamp: Annotated[int | float | None, Field(ge=0, le=LAST_SECOND)] = None
    """When it was last edited, as a Unix time in seconds. Default: now."""

    def draft(self, now: datetime) -> Draft:
        """Return the draft; it was edited at the client's time, or else now."""
        edited_at = now if self.timestamp is None else datetime.fromtimestamp(self.timestamp, UTC)
        return Draft(self.type, self.to, self.topic, self.content, edited_at)


class CreateParams(Params):
    drafts: list[GivenDraft] = []  # noqa: RUF012 - never changed
    """The drafts."""


class EditParams(Params):
    draft_id: DraftId
    """Id of the draft."""
    draft: GivenDraft
    """What it is to hold now, in full."""


class DraftParams(Params):
    draft_id: DraftId
    """Id of the draft."""


class Drafts(Result):
    count: int
    drafts: list[ShownDraft]


class CreatedDrafts(Result):
    ids: list[DraftId]


async def get_all(request: Request, params: NoParams) -> Drafts:
    del params
    actor = request.actor
    async with request.read() as connection:
        [row] = await users.by_ids(connection, actor.realm_id, [actor.user_id])
        actions.check_keeps_drafts(row)
        rows = await drafts.of_user(connection, actor.realm_id, actor.user_id)
    return Drafts(count=len(rows), drafts=[ShownDraft.of(row) for row in rows])


async def create(request: Request, params: CreateParams) -> CreatedDrafts:
    now = request.app.clock.now()
    new = [each.draft(now) for each in params.drafts]
    return CreatedDrafts(ids=await request.write(actions.create_drafts, new))


async def edit(request: Request, params: EditParams) -> Empty:
    draft = params.draft.draft(request.app.clock.now())
    await request.write(actions.edit_draft, params.draft_id, draft)
    return Empty()


async def delete(request: Request, params: DraftParams) -> Empty:
    await request.write(actions.delete_draft, params.draft_id)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "GET",
        "/drafts",
        Access.USER,
        NoParams,
        get_all,
        Drafts,
        summary="List your drafts",
        description=(
            "Refused while the user keeps no drafts on the server"
            " (`enable_drafts_synchronization`)."
        ),
    ),
    Endpoint(
        "POST",
        "/drafts",
        Access.USER,
        CreateParams,
        create,
        CreatedDrafts,
        scope=Scope.MESSAGES,
        summary="Create drafts",
        description="The answer has the ids in the order of the drafts.",
    ),
    Endpoint(
        "PATCH",
        "/drafts/{draft_id}",
        Access.USER,
        EditParams,
        edit,
        scope=Scope.MESSAGES,
        summary="Replace a draft",
    ),
    Endpoint(
        "DELETE",
        "/drafts/{draft_id}",
        Access.USER,
        DraftParams,
        delete,
        scope=Scope.MESSAGES,
        summary="Delete a draft",
    ),
)
