"""Endpoint that resets the second factors of users who have lost them."""

from server.actions.second_factor_requirements import reset_as_administrator
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Params
from storage.ids import UserId


class UserParams(Params):
    user_id: int
    """The user who has lost their second factors."""


async def reset(request: Request, params: UserParams) -> Empty:
    await request.write(reset_as_administrator, UserId(params.user_id))
    return Empty()


ENDPOINTS = (
    Endpoint(
        "DELETE",
        "/users/{user_id}/second_factors",
        Access.ADMIN,
        UserParams,
        reset,
        summary="Reset a user's second factors",
        description=(
            "For users who have lost their second factors and recovery codes. All of them are"
            " removed, the user's sessions end, and the account's own API key is replaced. Only"
            " owners reset those of owners; one's own are changed on the account page."
        ),
    ),
)
