"""Endpoint of read receipts."""

from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Params
from server.history import fetch
from storage.ids import MessageId, UserId


class ReceiptsParams(Params):
    message_id: MessageId
    """Id of the message."""


class ReceiptsResult(Result):
    user_ids: list[UserId]


async def get_receipts(request: Request, params: ReceiptsParams) -> ReceiptsResult:
    async with request.read() as connection:
        readers = await fetch.read_receipts(
            request.realm_cache, connection, request.actor, params.message_id
        )
    return ReceiptsResult(user_ids=readers)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/messages/{message_id}/read_receipts",
        Access.USER,
        ReceiptsParams,
        get_receipts,
        ReceiptsResult,
        summary="List the readers of a message",
        description=(
            "Without the sender, and without users who do not send read receipts. Refused where"
            " the organization has read receipts off."
        ),
    ),
)
