"""People can read a channel again, or no longer: they are told what register tells from then on."""

from collections.abc import Collection, Sequence

from server.events.base import Entry
from server.transactions import Tx
from storage import read_state, restored_access
from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId


async def who_find_something(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId, user_ids: Sequence[UserId]
) -> list[tuple[UserId, ChannelId]]:
    """Those of these users for whom something there may be unread, starred, followed or muted."""
    if not user_ids:
        return []
    unread = await read_state.perhaps_unread(connection, realm_id, channel_id, user_ids)
    others = await restored_access.with_traces(connection, realm_id, channel_id, user_ids)
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
    for tell in (
        restored_access.tell_flags,
        restored_access.tell_muted,
        restored_access.tell_policies,
    ):
        statement = tell(
            tx.realm_id,
            sorted(regained),
            empty_topic_display_name=empty_topic_display_name,
            write_id=tx.write_id,
        )
        tx.at_position(entry, statement)


def tell_lost(
    tx: Tx,
    entry: Entry,
    lost: Collection[tuple[UserId, ChannelId]],
    knowing: Collection[tuple[UserId, ChannelId]],
    empty_topic_display_name: str,
) -> None:
    """Tell each, behind the entry, that nothing is starred there or set for topics; it is kept.

    Of topics only those are told who still know of the channel: the others forget them with it.
    """
    if not lost:
        return
    about = {"empty_topic_display_name": empty_topic_display_name, "write_id": tx.write_id}
    left = sorted(lost)
    tx.at_position(entry, restored_access.tell_unstarred(tx.realm_id, left, write_id=tx.write_id))
    tx.at_position(entry, restored_access.tell_muted(tx.realm_id, left, **about))
    theirs = sorted(set(lost).intersection(knowing))
    if theirs:
        tx.at_position(entry, restored_access.tell_policies(tx.realm_id, theirs, policy=0, **about))
