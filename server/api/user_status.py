"""Endpoints of user status."""

from server.actions import user_status as actions
from server.actions.user_status import StatusChange, checked_text
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.params import Params
from server.api.people import known_user
from server.domain.emoji import RealmEmoji, emoji_of
from server.domain.errors import BadRequestError
from server.events.user_status import ShownStatus
from server.i18n import _
from storage import user_status
from storage.ids import UserId


class StatusParams(Params):
    status_text: str | None = None
    """Text, at most 60 characters; empty for none."""
    emoji_name: str | None = None
    """Name of the emoji; empty for none."""
    emoji_code: str | None = None
    """Code points of a Unicode emoji in hexadecimal, or the id of a custom emoji. Needed only where
    the name is not unique."""
    reaction_type: str | None = None
    """Kind of the emoji: `unicode_emoji`, `realm_emoji` or `zulip_extra_emoji`."""


class OwnStatusParams(StatusParams):
    away: bool | None = None
    """Older form of going invisible: true stops showing the user's presence, false shows it again.
    """


class StatusOfParams(StatusParams):
    user_id: int
    """Id of the user."""


class UserParams(Params):
    user_id: int
    """Id of the user."""


class StatusFound(Result):
    status: ShownStatus


async def change_own(request: Request, params: OwnStatusParams) -> Empty:
    request.refuse_bots()
    emoji = await request.realm_cache.emoji()
    change = _change(params, emoji, is_empty=params.away is None)
    await request.write(actions.change_own_status, change, away=params.away)
    return Empty()


async def change_of_user(request: Request, params: StatusOfParams) -> Empty:
    change = _change(params, await request.realm_cache.emoji(), is_empty=True)
    await request.write(actions.change_status_of, UserId(params.user_id), change)
    return Empty()


async def get(request: Request, params: UserParams) -> StatusFound:
    async with request.read() as connection:
        user = await known_user(request, connection, UserId(params.user_id))
        statuses = await user_status.of_users(connection, request.actor.realm_id, [user.user_id])
    if user.bot_type is not None:
        raise BadRequestError(_("No such user"))
    return StatusFound(status=ShownStatus.of(statuses[0]))


def _change(params: StatusParams, known: RealmEmoji, *, is_empty: bool) -> StatusChange:
    """Return the requested change. Raises BadRequestError if it is invalid or empty."""
    text = None if params.status_text is None else checked_text(params.status_text)
    if params.emoji_name is None:
        if params.emoji_code is not None or params.reaction_type is not None:
            raise BadRequestError(
                _("Client must pass emoji_name if they pass either emoji_code or reaction_type.")
            )
        if is_empty and text is None:
            raise BadRequestError(_("Client did not pass any new values."))
        return StatusChange(text=text)
    if params.emoji_name == "":
        return StatusChange(text=text, clears_emoji=True)
    emoji = emoji_of(
        params.emoji_name, params.emoji_code or None, params.reaction_type or None, known
    )
    return StatusChange(text=text, emoji=emoji)


ENDPOINTS = (
    Endpoint(
        "POST",
        "/users/me/status",
        Access.USER,
        OwnStatusParams,
        change_own,
        summary="Set your status",
        description="What is left out stays.",
    ),
    Endpoint(
        "GET",
        "/users/{user_id}/status",
        Access.USER,
        UserParams,
        get,
        StatusFound,
        summary="Get a user's status",
    ),
    Endpoint(
        "POST",
        "/users/{user_id}/status",
        Access.ADMIN,
        StatusOfParams,
        change_of_user,
        summary="Set a user's status",
        description="What is left out stays.",
    ),
)
