"""Endpoint to deactivate the realm."""

from server.actions.realm_activation import deactivate_as_owner, end_queues
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request
from server.domain.actor import Actor
from server.transactions import Tx


async def deactivate(request: Request, params: NoParams) -> Empty:
    del params
    await request.write(deactivate_as_owner)
    await request.write(_end_queues)
    return Empty()


async def _end_queues(tx: Tx, _: Actor) -> None:
    await end_queues(tx)


ENDPOINTS = (
    Endpoint(
        "POST",
        "/realm/deactivate",
        Access.ADMIN,
        NoParams,
        deactivate,
        summary="Deactivate the organization",
        description=(
            "For owners. Sessions, keys and event queues stop working until an operator of the"
            " server reactivates the organization."
        ),
    ),
)
