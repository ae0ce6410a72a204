"""Duplicate names: names with equal foldings that an older release accepted."""

from dataclasses import dataclass
from typing import Final, Literal, LiteralString

from storage.database import Connection
from storage.ids import ChannelId, RealmId
from storage.migrate import connected
from storage.name_folding import FoldedName

Kind = Literal["channel", "topic", "group", "folder", "default channel group"]


@dataclass(frozen=True, slots=True)
class DuplicateRow:
    """A row that has to be renamed: an older row has the same name."""

    kind: Kind
    id: int
    name: str
    channel_id: ChannelId | None
    """Channel of a topic."""


_NAMES: Final[LiteralString] = """
    WITH names AS (
        SELECT 'channel' AS kind, realm_id, channel_id AS id, name, NULL::bigint AS channel_id,
               folded_name
          FROM channels
        UNION ALL
        SELECT 'topic', realm_id, topic_id, name, channel_id, folded_name FROM topics
        UNION ALL
        SELECT 'group', realm_id, group_id, name, NULL, folded_name FROM user_groups
        UNION ALL
        SELECT 'folder', realm_id, folder_id, name, NULL, folded_name FROM channel_folders
         WHERE NOT is_archived
        UNION ALL
        SELECT 'default channel group', realm_id, group_id, name, NULL, folded_name
          FROM default_channel_groups)
"""
"""All names that are unique by their folding: a topic's in its channel, the others in the realm."""


def realm_ids(url: str) -> list[RealmId]:
    """Return the realms that have duplicates. Reads all names."""
    with connected(url) as connection:
        rows = connection.execute(
            _NAMES  # noqa: S608 - a constant
            + """
            SELECT DISTINCT realm_id
              FROM (SELECT realm_id FROM names
                     GROUP BY kind, realm_id, channel_id, folded_name
                    HAVING count(*) > 1) AS duplicates
             ORDER BY realm_id"""
        ).fetchall()
    return [RealmId(realm_id) for (realm_id,) in rows]


async def of_realm(connection: Connection, realm_id: RealmId) -> list[DuplicateRow]:
    """Return all rows but the oldest of each name, oldest first."""
    return await connection.many(
        DuplicateRow,
        _NAMES  # noqa: S608 - a constant
        + """
        SELECT kind, id, name, channel_id
          FROM (SELECT n.*, row_number() OVER (
                       PARTITION BY n.kind, n.channel_id, n.folded_name ORDER BY n.id) AS place
                  FROM names n WHERE n.realm_id = %(realm_id)s) AS numbered
         WHERE place > 1 ORDER BY kind, id""",
        realm_id=realm_id,
    )


async def is_taken(
    connection: Connection, realm_id: RealmId, row: DuplicateRow, folded_name: FoldedName
) -> bool:
    """Return whether another row of the same kind and place has the name."""
    found: bool = await connection.value(
        _NAMES  # noqa: S608 - a constant
        + """
        SELECT EXISTS (
            SELECT FROM names
             WHERE realm_id = %(realm_id)s AND kind = %(kind)s AND folded_name = %(folded_name)s
               AND channel_id IS NOT DISTINCT FROM %(channel_id)s)""",
        realm_id=realm_id,
        kind=row.kind,
        channel_id=row.channel_id,
        folded_name=folded_name,
    )
    return found
