"""Widgets over HTTP."""

from server.actions import submessages
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Params
from server.domain.api_keys import Scope
from storage.ids import MessageId


class AddParams(Params):
    message_id: int
    msg_type: str
    content: str


async def add(request: Request, params: AddParams) -> Empty:
    await request.write(
        submessages.add_submessage,
        MessageId(params.message_id),
        params.msg_type,
        params.content,
        now=request.app.clock.now(),
    )
    return Empty()


ENDPOINTS = (Endpoint("POST", "/submessage", Access.USER, AddParams, add, scope=Scope.MESSAGES),)
