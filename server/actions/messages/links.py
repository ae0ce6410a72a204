"""Links to messages in texts of the server."""

from server.domain.markdown.links import direct_href
from server.domain.markdown.writing import link, topic_link
from server.i18n import _, translated
from server.realm_cache import RealmCache
from storage import conversations, message_places
from storage.database import Connection
from storage.ids import TopicId, UserId
from storage.message_edits import ChangingRow


async def link_to(
    realm_cache: RealmCache,
    connection: Connection,
    user_id: UserId,
    row: ChangingRow,
    language: str,
) -> str:
    """Return a link to the message for this reader: it reveals where the message is."""
    if row.channel_id is None:
        people = await message_places.dm_user_ids(
            connection, realm_cache.realm_id, row.conversation_id
        )
        others = [each for each in people if each != user_id] or [user_id]
        name = translated(_("a direct message"), language)
        return link(name, direct_href(others, row.id))
    channel = await realm_cache.channel(row.channel_id)
    assert channel is not None, "a message is in a channel that exists"
    [topic] = await conversations.topics_by_ids(
        connection, realm_cache.realm_id, [TopicId(row.conversation_id)]
    )
    return topic_link(
        channel.channel_id,
        channel.name,
        topic.name,
        empty_topic_name=(await realm_cache.settings()).empty_topic_display_name,
        message_id=row.id,
    )
