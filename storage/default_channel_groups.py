"""Default channel groups: channels that new users may join together."""

from dataclasses import dataclass

from storage.database import Connection
from storage.ids import ChannelGroupId, ChannelId, RealmId
from storage.name_folding import fold_name


@dataclass(frozen=True, slots=True)
class ChannelGroupRow:
    group_id: ChannelGroupId
    name: str
    description: str
    channel_ids: list[ChannelId]
    """In display order."""


async def of_realm(connection: Connection, realm_id: RealmId) -> list[ChannelGroupRow]:
    """Return all groups, ordered by name."""
    return await connection.many(
        ChannelGroupRow,
        """
        SELECT group_id, name, description, channel_ids FROM default_channel_groups
         WHERE realm_id = %(realm_id)s ORDER BY folded_name, group_id
        """,
        realm_id=realm_id,
    )


async def new_id(connection: Connection) -> ChannelGroupId:
    group_id: ChannelGroupId = await connection.value("SELECT nextval('default_channel_group_ids')")
    return group_id


async def put(connection: Connection, realm_id: RealmId, row: ChannelGroupRow) -> None:
    """Insert or update the group. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        INSERT INTO default_channel_groups (realm_id, group_id, name, folded_name, description,
                                            channel_ids)
        VALUES (%(realm_id)s, %(group_id)s, %(name)s, %(folded_name)s, %(description)s,
                %(channel_ids)s::bigint[])
        ON CONFLICT (realm_id, group_id) DO UPDATE
           SET name = excluded.name, folded_name = excluded.folded_name,
               description = excluded.description, channel_ids = excluded.channel_ids
        """,
        realm_id=realm_id,
        group_id=row.group_id,
        name=row.name,
        folded_name=fold_name(row.name),
        description=row.description,
        channel_ids=row.channel_ids,
    )


async def delete(connection: Connection, realm_id: RealmId, group_id: ChannelGroupId) -> None:
    """Delete the group. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        DELETE FROM default_channel_groups
         WHERE realm_id = %(realm_id)s AND group_id = %(group_id)s
        """,
        realm_id=realm_id,
        group_id=group_id,
    )
