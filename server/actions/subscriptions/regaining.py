"""People can read a channel again, and are told what a client takes up of it when it registers."""

from collections.abc import Collection, Sequence

from server.events.base import Entry, Tx
from storage import read_state, regaining
from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId


async def who_find_something(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId, user_ids: Sequence[UserId]
) -> list[tuple[UserId, ChannelId]]:
    """Those of these users for whom something there may be unread, starred, followed or muted."""
    if not user_ids:
        return []
    unread = await read_state.perhaps_unread(connection, realm_id, channel_id, user_ids)
    others = await regaining.with_traces(connection, realm_id, channel_id, user_ids)
    return [(user_id, channel_id) for user_id in sorted({*unread, *others})]


def tell_regained(
    tx: Tx,
    entry: Entry,
    regained: Collection[tuple[UserId, ChannelId]],
    empty_topic_display_name: str,
) -> None:
    """Tell each, behind the entry, of what there is; what their client still holds is so, too."""
    if not regained:
        return
    for tell in (regaining.tell_flags, regaining.tell_muted, regaining.tell_policies):
        statement = tell(
            tx.realm_id,
            sorted(regained),
            empty_topic_display_name=empty_topic_display_name,
            write_id=tx.write_id,
        )
        tx.at_position(entry, statement)
