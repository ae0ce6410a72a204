"""Endpoint of submessages."""

from server.actions import submessages
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Params
from server.domain.api_keys import Scope
from storage.ids import MessageId


class AddParams(Params):
    message_id: int
    """Id of the message with the widget."""
    msg_type: str
    """Always `widget`."""
    content: str
    """What to do, as JSON; for a vote `{"type": "vote", "key": "canned,0", "vote": 1}`."""


async def add(request: Request, params: AddParams) -> Empty:
    await request.write(
        submessages.add_submessage,
        MessageId(params.message_id),
        params.msg_type,
        params.content,
        now=request.app.clock.now(),
    )
    return Empty()


ENDPOINTS = (
    Endpoint(
        "POST",
        "/submessage",
        Access.USER,
        AddParams,
        add,
        scope=Scope.MESSAGES,
        summary="Take part in a widget",
        description=(
            "Votes in polls and changes of to-do lists: sends a submessage to the readers of the"
            " message."
        ),
    ),
)
