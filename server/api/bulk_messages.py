"""Endpoints to move and delete several messages at once."""

from typing import Final

from server.actions import stepped_work
from server.actions.messages import bulk_delete, bulk_move
from server.actions.messages.move import Begun, MoveRequest
from server.actions.messages.moving_steps import MOVING
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.params import Field, OptionalTopicName, Params
from server.domain.api_keys import Scope
from server.domain.errors import BadRequestError
from server.i18n import _
from storage.ids import ChannelId, MessageId

MAX_MESSAGES: Final = 1_000
"""Maximum number of messages of a request: as many as one event holds."""


class BulkParams(Params):
    message_ids: list[int] = Field(min_length=1, max_length=MAX_MESSAGES)
    """Ids of the messages, at most 1,000."""

    @property
    def ids(self) -> list[MessageId]:
        return sorted({MessageId(each) for each in self.message_ids})


class BulkMoveParams(BulkParams):
    send_notification_to_new_thread: bool = True
    """Whether a notice of the move is posted in the new place."""
    send_notification_to_old_thread: bool = False
    """Whether a notice of the move is posted in each topic that messages leave."""
    stream_id: int | None = None
    """Id of the channel to move to; the messages' own if it is left out."""
    topic: OptionalTopicName = None
    """Topic to move to. Without it each message keeps its topic."""


async def move(request: Request, params: BulkMoveParams) -> Empty:
    if params.topic is None and params.stream_id is None:
        raise BadRequestError(_("Nothing to change"))
    wanted = MoveRequest(
        topic=params.topic,
        channel_id=None if params.stream_id is None else ChannelId(params.stream_id),
        notify_old=params.send_notification_to_old_thread,
        notify_new=params.send_notification_to_new_thread,
    )
    now = request.app.clock.now()
    while True:
        begun = await request.write(bulk_move.begin, params.ids, wanted, now)
        if not isinstance(begun, Begun):
            begun = begun.result
        if begun.is_begun:
            break
    await stepped_work.finish(request.realm_services, MOVING, begun.work_id)
    return Empty()


class BulkDeleteResult(Result):
    message_ids: list[MessageId]


async def remove(request: Request, params: BulkParams) -> BulkDeleteResult:
    now = request.app.clock.now()
    deleted = await request.write(bulk_delete.delete_messages, params.ids, now)
    return BulkDeleteResult(message_ids=deleted)


ENDPOINTS = (
    Endpoint(
        "PATCH",
        "/messages",
        Access.USER,
        BulkMoveParams,
        move,
        scope=Scope.MESSAGES,
        summary="Move several messages",
        description=(
            "Moves messages of one channel to a topic or another channel: all of them, or none."
            " Permissions and time limits apply to each as when it is moved alone. Messages that"
            " are there already stay. An error with the code `MESSAGES_REFUSED` lists in `refused`"
            " which of them hinder the move, and why."
        ),
    ),
    Endpoint(
        "POST",
        "/messages/delete",
        Access.USER,
        BulkParams,
        remove,
        BulkDeleteResult,
        scope=Scope.MESSAGES,
        summary="Delete several messages",
        description=(
            "Deletes messages of any conversations: all of them, or none. Permissions and time"
            " limits apply to each as when it is deleted alone. `message_ids` of the response are"
            " those that the request deleted: messages that do not exist any more, or that the"
            " caller cannot read, are left out. An error with the code `MESSAGES_REFUSED` lists in"
            " `refused` which of them hinder the deletion, and why."
        ),
    ),
)
