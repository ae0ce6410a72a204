"""Endpoints of custom emoji."""

from typing import Final

from server.actions import realm_emoji as actions
from server.actions.realm_emoji import NewEmoji
from server.api.endpoint import Access, Empty, Endpoint, FileUpload, NoParams, Request, Result
from server.api.params import Params
from server.api.picture_uploads import keep_pictures, max_picture_bytes
from server.domain.channels import Standing
from server.domain.emoji import checked_name
from server.events.realm_emoji import ShownEmoji, shown
from storage import realm_emoji


class EmojiParams(Params):
    emoji_name: str
    """Name of the emoji: lower case letters, digits, hyphens and underscores."""


class EmojiList(Result):
    emoji: dict[str, ShownEmoji]


async def list_all(request: Request, params: NoParams) -> EmojiList:
    del params
    async with request.read() as connection:
        rows = await realm_emoji.of_realm(connection, request.actor.realm_id)
    return EmojiList(emoji=shown(rows))


async def add(request: Request, params: EmojiParams) -> Empty:
    name = checked_name(params.emoji_name)
    realm_cache, realm_id = request.realm_cache, request.actor.realm_id
    standing = Standing(
        request.actor.person, await realm_cache.groups(), await realm_cache.settings()
    )
    async with request.read() as connection:
        actions.check_new(standing, await realm_emoji.of_realm(connection, realm_id), name)
    keys = await keep_pictures(request, "emoji")
    new = NewEmoji(name=name, blob_key=keys["image"], still_key=keys.get("still"))
    await request.write(actions.add_emoji, new)
    return Empty()


async def deactivate(request: Request, params: EmojiParams) -> Empty:
    await request.write(actions.deactivate_emoji, params.emoji_name)
    return Empty()


_ONE: Final = "/realm/emoji/{emoji_name}"

ENDPOINTS = (
    Endpoint(
        "GET",
        "/realm/emoji",
        Access.USER,
        NoParams,
        list_all,
        EmojiList,
        summary="List custom emoji",
        description="By id, deactivated ones too, since older messages show them.",
    ),
    Endpoint(
        "POST",
        _ONE,
        Access.USER,
        EmojiParams,
        add,
        body=FileUpload(max_picture_bytes),
        summary="Upload a custom emoji",
        description=(
            "The picture, which may be animated, is sent as the field `file` of a"
            " `multipart/form-data` form."
        ),
    ),
    Endpoint(
        "DELETE",
        _ONE,
        Access.USER,
        EmojiParams,
        deactivate,
        summary="Deactivate a custom emoji",
        description=(
            "For its author and administrators. Messages and reactions that have it keep it."
        ),
    ),
)
