"""Who is told of what happens to a message."""

from server.events.base import Audience, Tx
from storage import message_places
from storage.ids import Position
from storage.message_places import MessagePlace


async def of_message(tx: Tx, place: MessagePlace) -> Audience:
    """Those who may read the message now, among those who follow its conversation.

    In a channel that keeps its history from newcomers: those who received the message.
    """
    if place.channel_id is None:
        connection = await tx.connection()
        people = await message_places.dm_user_ids(connection, tx.realm_id, place.conversation_id)
        return Audience(users=tuple(people))
    channel = await (await tx.directory()).channel(place.channel_id)
    assert channel is not None, "a message is in a channel that exists"
    if channel.history_public_to_subscribers:
        return Audience(channel_id=place.channel_id)
    return Audience(
        channel_id=place.channel_id,
        received_in=place.origin_channel_id,
        received_at=Position(place.id),
    )
