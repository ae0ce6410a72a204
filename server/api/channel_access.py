"""The caller's access to channels."""

from server.api.endpoint import Request
from server.domain.channels import Standing
from server.domain.errors import BadRequestError
from server.i18n import _
from storage import channels, subscriptions
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId


async def standing_of(request: Request) -> Standing:
    realm_cache = request.realm_cache
    return Standing(request.actor.person, await realm_cache.groups(), await realm_cache.settings())


async def seen_channel(
    request: Request, connection: Connection, channel_id: ChannelId
) -> tuple[ChannelRow, Standing, bool]:
    """Return a channel that the caller may know, their standing, and whether they are subscribed.

    Raises BadRequestError as for one that does not exist.
    """
    realm_id, user_id = request.actor.realm_id, request.actor.user_id
    standing = await standing_of(request)
    found = await channels.by_ids(connection, realm_id, [channel_id])
    own = await subscriptions.of_user_in(connection, realm_id, user_id, channel_id)
    is_in = own is not None and own.active
    if not found or not standing.sees(found[0], subscribed=is_in):
        raise BadRequestError(_("Invalid channel ID"))
    return found[0], standing, is_in


async def readable_channel(
    request: Request, connection: Connection, channel_id: ChannelId
) -> tuple[ChannelRow, Standing, bool]:
    """Return the same of a channel that the caller may read something of.

    Raises BadRequestError as for one that does not exist.
    """
    channel, standing, is_in = await seen_channel(request, connection, channel_id)
    if not standing.reads(channel, subscribed=is_in):
        raise BadRequestError(_("Invalid channel ID"))
    return channel, standing, is_in
