"""Endpoints of addresses that were only entered, and that no mail has confirmed."""

from server.actions.unconfirmed_addresses import confirm_for
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Params
from storage import unconfirmed_addresses as rows
from storage.ids import UserId


class UserParams(Params):
    user_id: int
    """The user whose address it is."""


class UnconfirmedResult(Result):
    user_ids: list[int]


async def list_all(request: Request, params: NoParams) -> UnconfirmedResult:
    del params
    async with request.read() as connection:
        found = await rows.user_ids(connection, request.actor.realm_id)
    return UnconfirmedResult(user_ids=list(found))


async def confirm(request: Request, params: UserParams) -> Empty:
    await request.write(confirm_for, UserId(params.user_id))
    return Empty()


ENDPOINTS = (
    Endpoint(
        "GET",
        "/realm/unconfirmed_addresses",
        Access.ADMIN,
        NoParams,
        list_all,
        UnconfirmedResult,
        summary="List users whose addresses are not confirmed",
        description=(
            "They entered the address on a server that sends no email. Until it is confirmed, it"
            " gets no mail, and other sites and directories do not sign in with it."
        ),
    ),
    Endpoint(
        "DELETE",
        "/realm/unconfirmed_addresses/{user_id}",
        Access.ADMIN,
        UserParams,
        confirm,
        summary="Confirm a user's address",
        description="For administrators who know that the address is the user's.",
    ),
)
