"""What people want of single topics: to follow, unmute or mute them."""

from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection
from storage.ids import ChannelId, RealmId, TopicId, UserId


@dataclass(frozen=True, slots=True)
class UserTopicRow:
    topic_id: TopicId
    channel_id: ChannelId
    name: str
    visibility_policy: int
    last_updated: datetime


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[UserTopicRow]:
    """The topics for which the user has set something, in archived channels too."""
    return await connection.many(
        UserTopicRow,
        """
        SELECT u.topic_id, t.channel_id, t.name, u.visibility_policy, u.last_updated
          FROM user_topics u
          JOIN topics t ON t.realm_id = u.realm_id AND t.topic_id = u.topic_id
         WHERE u.realm_id = %(realm_id)s AND u.user_id = %(user_id)s
           AND u.visibility_policy <> 0
         ORDER BY u.topic_id
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
