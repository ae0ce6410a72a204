"""Endpoints to mute users."""

from server.actions import muted_users
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Params
from storage.ids import UserId


class MutedUserParams(Params):
    muted_user_id: UserId
    """Id of the user."""


async def mute(request: Request, params: MutedUserParams) -> Empty:
    await request.write(muted_users.mute_user, params.muted_user_id, now=request.app.clock.now())
    return Empty()


async def unmute(request: Request, params: MutedUserParams) -> Empty:
    await request.write(muted_users.unmute_user, params.muted_user_id)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "POST",
        "/users/me/muted_users/{muted_user_id}",
        Access.USER,
        MutedUserParams,
        mute,
        summary="Mute a user",
        description="Their messages are read at once, do not notify, and clients hide them.",
    ),
    Endpoint(
        "DELETE",
        "/users/me/muted_users/{muted_user_id}",
        Access.USER,
        MutedUserParams,
        unmute,
        summary="Unmute a user",
    ),
)
