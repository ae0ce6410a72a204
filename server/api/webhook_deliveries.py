"""Endpoint of the last delivery to an incoming webhook bot."""

import msgspec

from server.actions.bots import NO_SUCH_BOT
from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Params
from server.domain.bots import looks_after
from server.domain.errors import BadRequestError
from storage import webhook_deliveries
from storage.ids import UserId


class BotParams(Params):
    bot_id: int
    """User id of an incoming webhook bot."""


class Delivery(msgspec.Struct, kw_only=True):
    service: str
    """The last part of the address that it came to."""
    outcome: str
    """`message`, `ignored` or `unknown` (of which nothing is posted), `malformed` or `refused` (not
    signed with the bot's secret)."""
    received_at: int


class LastDelivery(Result):
    last_delivery: Delivery | None
    """None if nothing has come yet."""


async def get(request: Request, params: BotParams) -> LastDelivery:
    bot_id = UserId(params.bot_id)
    row = await request.realm_cache.user(bot_id)
    if row is None or row.bot_type is None or not looks_after(request.actor.person, row):
        raise BadRequestError(NO_SUCH_BOT)
    async with request.read() as connection:
        found = await webhook_deliveries.last(connection, request.actor.realm_id, bot_id)
    if found is None:
        return LastDelivery(last_delivery=None)
    return LastDelivery(
        last_delivery=Delivery(
            service=found.service,
            outcome=found.outcome,
            received_at=int(found.received_at.timestamp()),
        )
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/bots/{bot_id}/last_delivery",
        Access.USER,
        BotParams,
        get,
        LastDelivery,
        summary="Get the last delivery to an incoming webhook",
        description=(
            "For the bot's owner and administrators: whether anything has come, and what was made"
            " of it. Of several deliveries in a second, some are not recorded."
        ),
    ),
)
