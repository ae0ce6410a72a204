"""Endpoints of reactions."""

from server.actions import reactions
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Params
from server.domain.api_keys import Scope
from server.domain.emoji import WantedEmoji
from server.domain.errors import BadRequestError
from server.i18n import _
from storage.ids import MessageId


class AddParams(Params):
    message_id: int
    """Id of the message."""
    emoji_name: str
    """Name of the emoji, such as `tada`."""
    emoji_code: str | None = None
    """Code points of a Unicode emoji in hexadecimal, or the id of a custom emoji. Needed only where
    the name is not unique."""
    reaction_type: str | None = None
    """Kind of the emoji: `unicode_emoji`, `realm_emoji` or `zulip_extra_emoji`."""


class RemoveParams(Params):
    message_id: int
    """Id of the message."""
    emoji_name: str | None = None
    """Name of the emoji."""
    emoji_code: str | None = None
    """Code points of a Unicode emoji in hexadecimal, or the id of a custom emoji. Needed only where
    the name is not unique."""
    reaction_type: str | None = None
    """Kind of the emoji: `unicode_emoji`, `realm_emoji` or `zulip_extra_emoji`."""


async def add(request: Request, params: AddParams) -> Empty:
    wanted = WantedEmoji(params.emoji_name, params.emoji_code, params.reaction_type)
    now = request.app.clock.now()
    await request.write(reactions.add_reaction, MessageId(params.message_id), wanted, now=now)
    return Empty()


async def remove(request: Request, params: RemoveParams) -> Empty:
    if params.emoji_name is None and params.emoji_code is None:
        raise BadRequestError(
            _("At least one of the following arguments must be present: emoji_name, emoji_code")
        )
    await request.write(
        reactions.remove_reaction,
        MessageId(params.message_id),
        params.emoji_name,
        params.emoji_code,
        params.reaction_type,
    )
    return Empty()


ENDPOINTS = (
    Endpoint(
        "POST",
        "/messages/{message_id}/reactions",
        Access.USER,
        AddParams,
        add,
        scope=Scope.MESSAGES,
        summary="Add a reaction",
    ),
    Endpoint(
        "DELETE",
        "/messages/{message_id}/reactions",
        Access.USER,
        RemoveParams,
        remove,
        scope=Scope.MESSAGES,
        summary="Remove your reaction",
        description="Named by `emoji_name` or `emoji_code`.",
    ),
)
