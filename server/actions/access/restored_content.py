"""Publish read state that clients lose with access to a channel, and get back with it.

Stars, topic policies and unread messages stay stored while a user may not read a channel. Clients
are sent what `POST /register` would send from then on.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from server.actions.access.diff import Pair
from server.events.base import Entry
from server.runtime.grouping import grouped
from server.transactions import Tx
from storage import read_marks, read_state, restored_access
from storage.database import Connection, Statement
from storage.ids import RealmId


async def with_read_state(
    connection: Connection, realm_id: RealmId, pairs: Iterable[Pair]
) -> list[Pair]:
    """Return the pairs where a message may be unread or starred, or a topic policy is set."""
    found: list[Pair] = []
    for channel_id, user_ids in grouped((i, u) for u, i in pairs).items():
        unread = await read_state.perhaps_unread(connection, realm_id, channel_id, user_ids)
        others = await restored_access.with_traces(connection, realm_id, channel_id, user_ids)
        found += [(user_id, channel_id) for user_id in sorted({*unread, *others})]
    return found


def append_restored(tx: Tx, entry: Entry, pairs: Collection[Pair], empty_topic_name: str) -> None:
    """Append, after the entry, the flags and topic policies that these users have again."""
    about = {"empty_topic_display_name": empty_topic_name}
    _append(tx, entry, restored_access.append_flag_events, pairs, **about)
    _append(tx, entry, restored_access.append_muted_topics_events, pairs, **about)
    _append(tx, entry, restored_access.append_policy_events, pairs, **about)


def append_withdrawn(
    tx: Tx,
    entry: Entry,
    pairs: Collection[Pair],
    with_metadata: Collection[Pair],
    empty_topic_name: str,
) -> None:
    """Append, after the entry, that no message is starred and no topic policy set any more.

    Topic policies are published only to users who still have metadata access: the clients of
    the others delete them with the channel.
    """
    about = {"empty_topic_display_name": empty_topic_name}
    append_unstarred(tx, entry, pairs)
    _append(tx, entry, restored_access.append_muted_topics_events, pairs, **about)
    visible = set(pairs).intersection(with_metadata)
    _append(tx, entry, restored_access.append_policy_events, visible, policy=0, **about)


def append_unstarred(tx: Tx, entry: Entry, pairs: Collection[Pair]) -> None:
    """Append, after the entry, that these users have starred no message in these channels."""
    _append(tx, entry, restored_access.append_unstarred_events, pairs)


def _append(
    tx: Tx, entry: Entry, make: Callable[..., Statement], pairs: Collection[Pair], **about: Any
) -> None:
    if pairs:
        tx.at_position(entry, make(tx.realm_id, sorted(pairs), write_id=tx.write_id, **about))


def mark_read(tx: Tx, entry: Entry, pairs: Collection[Pair]) -> None:
    """Mark, at the entry's position, everything in these channels as read."""
    if pairs:
        marking = read_marks.mark_left_read(tx.realm_id, list(pairs), write_id=tx.write_id)
        tx.at_position(entry, marking)
