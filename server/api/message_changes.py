"""Endpoints to edit, move and delete messages."""

from collections.abc import Sequence
from typing import Literal, cast

from server.actions import stepped_work
from server.actions.messages import delete, edit, move
from server.actions.messages import report as reports
from server.actions.messages.content import typeset_ahead
from server.actions.messages.edit import NewContent
from server.actions.messages.move import Begun, MoveRequest
from server.actions.messages.moving_steps import MOVING
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.params import OptionalTopicName, Params
from server.domain.api_keys import Scope
from server.domain.errors import BadRequestError
from server.domain.reports import ReportType
from server.events.base import ClientView
from server.history import edit_history
from server.i18n import _
from storage import attachments
from storage.attachments import ShownAttachment
from storage.ids import AttachmentId, ChannelId, MessageId

DELETION_TIMEOUT_SECONDS = 10.0
"""How long one request deletes messages of a topic before the client has to repeat it."""


class ChangeParams(Params):
    message_id: int
    """Id of the message."""
    content: str | None = None
    """New text, in Markdown."""
    prev_content_sha256: str | None = None
    """SHA-256 of the Markdown text that was edited, in hexadecimal: the edit is refused if the
    message has changed since."""
    propagate_mode: Literal["change_one", "change_later", "change_all"] = "change_one"
    """Which messages of the topic move: `change_one`, `change_later` (this one and those after it),
    or `change_all`."""
    send_notification_to_new_thread: bool = True
    """Whether a notice of the move is posted in the new place."""
    send_notification_to_old_thread: bool = False
    """Whether a notice of the move is posted in the old place."""
    stream_id: int | None = None
    """Id of the channel to move to."""
    topic: OptionalTopicName = None
    """Topic to move to."""


class ChangeResult(Result):
    detached_uploads: list[ShownAttachment]


async def change(request: Request, params: ChangeParams) -> ChangeResult:
    message_id = MessageId(params.message_id)
    moves = params.topic is not None or params.stream_id is not None
    if params.prev_content_sha256 is not None:
        request.check_reaches(Scope.READ)  # the response confirms a guess of the content
    if params.content is None and not moves:
        raise BadRequestError(_("Nothing to change"))
    if params.propagate_mode != "change_one" and not moves:
        raise BadRequestError(_("propagate_mode needs a topic or a channel"))
    content = None
    if params.content is not None:
        content = NewContent(params.content, params.prev_content_sha256)
        await typeset_ahead(request.realm_cache, params.content, share=request.actor.user_id)
    shows_files = content is not None and request.actor.reaches(Scope.READ)
    held = await _own_files(request, message_id) if shows_files else []
    if moves:
        await _move(request, message_id, _wanted(params, content))
    elif content is not None:
        now = request.app.clock.now()
        await request.write(edit.edit_content, message_id, content, now)
    return ChangeResult(detached_uploads=await _detached(request, held))


async def _own_files(request: Request, message_id: MessageId) -> list[AttachmentId]:
    """Return the caller's files in the message."""
    actor = request.actor
    async with request.read() as connection:
        return await attachments.own_held(connection, actor.realm_id, actor.user_id, message_id)


async def _detached(request: Request, held: Sequence[AttachmentId]) -> list[ShownAttachment]:
    """Return files that are in no message any more: clients ask whether to delete them."""
    if not held:
        return []
    realm_id = request.actor.realm_id
    async with request.read() as connection:
        shown = await attachments.shown(connection, realm_id, held)
    return [each for each in shown if not each["messages"]]


def _wanted(params: ChangeParams, content: NewContent | None) -> MoveRequest:
    return MoveRequest(
        topic=params.topic,
        channel_id=None if params.stream_id is None else ChannelId(params.stream_id),
        mode=params.propagate_mode,
        notify_old=params.send_notification_to_old_thread,
        notify_new=params.send_notification_to_new_thread,
        content=content,
    )


async def _move(request: Request, message_id: MessageId, wanted: MoveRequest) -> None:
    now = request.app.clock.now()
    while True:
        begun = await request.write(move.begin, message_id, wanted, now)
        if not isinstance(begun, Begun):
            begun = begun.result
        if begun.is_begun:
            break
    await stepped_work.finish(request.realm_services, MOVING, begun.work_id)


class MessageParams(Params):
    message_id: int
    """Id of the message."""


async def remove(request: Request, params: MessageParams) -> Empty:
    now = request.app.clock.now()
    await request.write(delete.delete_message, MessageId(params.message_id), now)
    return Empty()


class HistoryParams(Params):
    message_id: int
    """Id of the message."""
    allow_empty_topic_name: bool = False
    """Whether the empty topic is returned as an empty string; otherwise as its display name."""


class HistoryResult(Result):
    message_history: list[edit_history.MessageState]


async def history(request: Request, params: HistoryParams) -> HistoryResult:
    """Return each state of the message, oldest first."""
    view = ClientView(empty_topic_name=params.allow_empty_topic_name)
    async with request.read() as connection:
        snapshots = await edit_history.fetch_history(
            request.realm_cache, connection, request.actor, MessageId(params.message_id), view
        )
    reader = request.actor
    await edit_history.add_differences(
        request.realm_cache.rendering.typesetter, snapshots, share=(reader.realm_id, reader.user_id)
    )
    return HistoryResult(message_history=cast("list[edit_history.MessageState]", snapshots))


class DeleteTopicParams(Params):
    stream_id: int
    """Id of the channel."""
    topic_name: str
    """Name of the topic."""


class DeleteTopicResult(Result):
    complete: bool


async def delete_topic(request: Request, params: DeleteTopicParams) -> DeleteTopicResult:
    """Delete the newest messages of a topic, as many as the time limit of a request allows."""
    clock = request.app.clock
    end = clock.monotonic() + DELETION_TIMEOUT_SECONDS
    is_left = True
    while is_left and clock.monotonic() < end:
        is_left = await request.write(
            delete.delete_from_topic, ChannelId(params.stream_id), params.topic_name, clock.now()
        )
    return DeleteTopicResult(complete=not is_left)


class ReportParams(Params):
    message_id: int
    """Id of the message."""
    report_type: ReportType
    """What is wrong with the message: a key of `server_report_message_types`."""
    description: str = ""
    """Explanation for the moderators. Required with the type `other`."""


async def report(request: Request, params: ReportParams) -> Empty:
    """Report the message to the realm's moderators."""
    async with request.read() as connection:
        draft = await reports.report(
            request.realm_cache,
            connection,
            request.actor,
            MessageId(params.message_id),
            params.report_type,
            params.description,
        )
    await reports.deliver(request.realm_services, draft)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "POST",
        "/messages/{message_id}/report",
        Access.USER,
        ReportParams,
        report,
        scope=Scope.MESSAGES,
        summary="Report a message to the moderators",
        description=(
            "The report appears in the channel that the organization has chosen for them;"
            " without one it is refused."
        ),
    ),
    Endpoint(
        "PATCH",
        "/messages/{message_id}",
        Access.USER,
        ChangeParams,
        change,
        ChangeResult,
        scope=Scope.MESSAGES,
        summary="Edit or move a message",
        description=(
            "Content, topic and channel can change in one request. Time limits and permissions"
            " of the organization and the channel apply. `detached_uploads` lists the caller's"
            " files that no message holds any more."
        ),
    ),
    Endpoint(
        "DELETE",
        "/messages/{message_id}",
        Access.USER,
        MessageParams,
        remove,
        scope=Scope.MESSAGES,
        summary="Delete a message",
    ),
    Endpoint(
        "GET",
        "/messages/{message_id}/history",
        Access.USER,
        HistoryParams,
        history,
        HistoryResult,
        summary="Get a message's edit history",
        description=(
            "Each state in which the message was, oldest first. What of it is shown depends on"
            " the organization."
        ),
    ),
    Endpoint(
        "POST",
        "/streams/{stream_id}/delete_topic",
        Access.USER,
        DeleteTopicParams,
        delete_topic,
        DeleteTopicResult,
        scope=Scope.MESSAGES,
        answers_by_content=True,
        summary="Delete a topic with its messages",
        description=(
            "Needs the permission to delete any message of the channel. Deletes for some seconds"
            " at most: while `complete` is false, send the request again."
        ),
    ),
)
