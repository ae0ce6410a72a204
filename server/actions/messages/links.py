"""Links to messages in texts of the server."""

from server.actions.messages.decide import MessageDestination
from server.domain.markdown.links import direct_href, narrow_href
from server.domain.markdown.writing import link, topic_link
from server.domain.realm_settings import RealmSettings
from server.domain.user_settings import UserSettings
from server.i18n import _, translated
from server.realm_cache import RealmCache
from storage import conversations, message_places
from storage.database import Connection
from storage.ids import MessageId, TopicId, UserId
from storage.message_edits import ChangingRow
from storage.users import UserRow


def sent_links(
    place: MessageDestination, settings: RealmSettings, sender: UserRow, message_id: MessageId
) -> tuple[str, str]:
    """Return where a sent message is, below the realm's URL, and a link to it in Markdown.

    The language is the sender's. Where only its owner knows of a channel, a bot gets its id.
    """
    channel = place.channel
    if channel is None:
        ids = [each.user_id for each in place.people]
        href = direct_href([each for each in ids if each != sender.user_id] or ids, message_id)
        language = UserSettings.of(sender.settings).language
        return href, link(translated(_("a direct message"), language), href)
    name = f"channel {channel.channel_id}" if place.rests_on_owner else channel.name
    topic, empty = place.topic_name, settings.empty_topic_display_name
    return narrow_href(channel.channel_id, name, topic, message_id), topic_link(
        channel.channel_id, name, topic, empty_topic_name=empty, message_id=message_id
    )


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
