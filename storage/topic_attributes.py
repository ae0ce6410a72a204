"""What topics have besides a name, in their rows: a pin and a description."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection
from storage.ids import RealmId, TopicId


@dataclass(frozen=True, slots=True)
class TopicAttributes:
    topic_id: TopicId
    name: str
    pinned_at: datetime | None
    description: str | None
    rendered_description: str | None


async def of_topics(
    connection: Connection, realm_id: RealmId, topic_ids: Sequence[TopicId]
) -> dict[TopicId, TopicAttributes]:
    """Return the attributes of topics."""
    rows = await connection.many(
        TopicAttributes,
        """
        SELECT topic_id, name, pinned_at, description, rendered_description FROM topics
         WHERE realm_id = %(realm_id)s AND topic_id = ANY (%(topic_ids)s::bigint[])
        """,
        realm_id=realm_id,
        topic_ids=list(topic_ids),
    )
    return {row.topic_id: row for row in rows}


async def set_attributes(
    connection: Connection, realm_id: RealmId, rows: Sequence[TopicAttributes]
) -> None:
    """Set the pins and descriptions of locked topics."""
    await connection.execute(
        """
        UPDATE topics t
           SET pinned_at = n.pinned_at, description = n.description,
               rendered_description = n.rendered_description
          FROM unnest(%(topic_ids)s::bigint[], %(pinned_at)s::timestamptz[],
                      %(descriptions)s::text[], %(rendered)s::text[])
               AS n(topic_id, pinned_at, description, rendered_description)
         WHERE t.realm_id = %(realm_id)s AND t.topic_id = n.topic_id
        """,
        realm_id=realm_id,
        topic_ids=[row.topic_id for row in rows],
        pinned_at=[row.pinned_at for row in rows],
        descriptions=[row.description for row in rows],
        rendered=[row.rendered_description for row in rows],
    )
