"""Publish read state that clients lose with access to a channel, and get back with it.

Stars, topic policies and unread messages stay stored while a user may not read a channel. Clients
are sent what `POST /register` would send from then on.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from server.actions.access.diff import Pair
from server.events.base import Entry
from server.transactions import Tx
from storage import read_marks, read_state, restored_access
from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId


async def with_read_state(
    connection: Connection, realm_id: RealmId, pairs: Iterable[Pair]
) -> list[Pair]:
    """Return the pairs where a message may be unread or starred, or a topic policy is set."""
    found: list[Pair] = []
    for channel_id, user_ids in _by_channel(pairs).items():
        unread = await read_state.perhaps_unread(connection, realm_id, channel_id, user_ids)
        others = await restored_access.with_traces(connection, realm_id, channel_id, user_ids)
        found += [(user_id, channel_id) for user_id in sorted({*unread, *others})]
    return found


def append_restored(
    tx: Tx, entry: Entry, pairs: Collection[Pair], empty_topic_display_name: str
) -> None:
    """Append, after the entry, the flags and topic policies that these users have again."""
    if not pairs:
        return
    for append in (
        restored_access.append_flag_events,
        restored_access.append_muted_topics_events,
        restored_access.append_policy_events,
    ):
        statement = append(
            tx.realm_id,
            sorted(pairs),
            empty_topic_display_name=empty_topic_display_name,
            write_id=tx.write_id,
        )
        tx.at_position(entry, statement)


def append_withdrawn(
    tx: Tx,
    entry: Entry,
    pairs: Collection[Pair],
    with_metadata: Collection[Pair],
    empty_topic_display_name: str,
) -> None:
    """Append, after the entry, that no message is starred and no topic policy set any more.

    Topic policies are published only to users who still have metadata access: the clients of
    the others delete them with the channel.
    """
    if not pairs:
        return
    about = {"empty_topic_display_name": empty_topic_display_name, "write_id": tx.write_id}
    lost = sorted(pairs)
    tx.at_position(
        entry, restored_access.append_unstarred_events(tx.realm_id, lost, write_id=tx.write_id)
    )
    tx.at_position(entry, restored_access.append_muted_topics_events(tx.realm_id, lost, **about))
    if visible := sorted(set(pairs).intersection(with_metadata)):
        statement = restored_access.append_policy_events(tx.realm_id, visible, policy=0, **about)
        tx.at_position(entry, statement)


def mark_read(tx: Tx, entry: Entry, pairs: Collection[Pair]) -> None:
    """Mark, at the entry's position, everything in these channels as read."""
    if pairs:
        marking = read_marks.mark_left_read(tx.realm_id, list(pairs), write_id=tx.write_id)
        tx.at_position(entry, marking)


def _by_channel(pairs: Iterable[Pair]) -> dict[ChannelId, list[UserId]]:
    by_channel: dict[ChannelId, list[UserId]] = defaultdict(list)
    for user_id, channel_id in pairs:
        by_channel[channel_id].append(user_id)
    return by_channel
