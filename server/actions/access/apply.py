"""Apply a change of access: publish channels, and the read state that goes and comes with them."""

from collections.abc import Awaitable, Callable
from typing import Final

from server.actions.access.diff import AccessDiff, AccessState, Pair, compare
from server.actions.access.metadata import publish_channels, remove_channels
from server.actions.access.restored_content import (
    append_restored,
    append_unstarred,
    append_withdrawn,
    mark_read,
    with_read_state,
)
from server.actions.bot_defaults import append_access_events
from server.events.base import Entry
from server.transactions import Tx
from storage import channel_lists, read_marks, restored_access
from storage.database import Connection
from storage.ids import ChannelId

MAX_PAIRS_PER_STEP: Final = 100
"""Pairs of user and channel with read state that one transaction publishes, for each direction.

Bounds for how long it blocks other writes of the realm.
"""

Publish = Callable[[AccessDiff], Awaitable[Entry]]
"""Appends the events of the change itself; returns the entry with which access changes."""


async def apply(
    tx: Tx, connection: Connection, before: AccessState, after: AccessState, publish: Publish
) -> list[Pair]:
    """Publish the change between these states, with everything that follows from it.

    Users get the channels that they may know of now, before the change, and lose others after it.
    Where they may not read a channel any more, or left it, everything in it counts as read. Where
    they may not read it, nothing is starred and no topic policy is set; where they may read it
    again, what is stored is published again, but for users who join it everything counts as read.
    Users without stored read state get no event.

    Returns the pairs beyond `MAX_PAIRS_PER_STEP`, for `deferred.defer`. None of them joined or
    left: how many do so in one transaction is for the caller to limit.
    """
    realm_id, name = tx.realm_id, after.context.settings.empty_topic_display_name
    diff = compare(before, after)
    joined, left = set(diff.joined), set(diff.left)
    excluded = [pair for pair in diff.content_lost if pair not in left]
    lost = await with_read_state(connection, realm_id, excluded)
    found = await with_read_state(connection, realm_id, diff.content_gained)
    arrived = [pair for pair in found if pair in joined]
    gained = [pair for pair in found if pair not in joined]
    lost, lost_later = lost[:MAX_PAIRS_PER_STEP], lost[MAX_PAIRS_PER_STEP:]
    gained, gained_later = gained[:MAX_PAIRS_PER_STEP], gained[MAX_PAIRS_PER_STEP:]

    await publish_channels(tx, connection, after, diff)
    entry = await publish(diff)
    remove_channels(tx, after, diff.metadata_lost)
    await append_access_events(
        tx,
        connection,
        after.context,
        after.channels,
        gained=diff.metadata_gained,
        lost=diff.metadata_lost,
    )
    mark_read(tx, entry, [*diff.left, *arrived, *lost])
    withdrawn = {*lost, *left.intersection(diff.content_lost)}
    append_withdrawn(tx, entry, withdrawn, diff.with_metadata(withdrawn), name)
    for channel_id in diff.history_hidden:
        await _hide_history(tx, connection, after, channel_id, entry)
    append_restored(tx, entry, [*arrived, *gained], name)
    if reading := sorted({*diff.joined, *diff.content_gained}):
        statement = channel_lists.append_gained(realm_id, reading, write_id=tx.write_id)
        tx.at_position(entry, statement)
    return [*lost_later, *gained_later]


async def _hide_history(
    tx: Tx, connection: Connection, after: AccessState, channel_id: ChannelId, entry: Entry
) -> None:
    """Mark messages that subscribers did not receive there as read, and as starred no more.

    Users without content access get no event here: they lost the whole channel, now or before.
    """
    marking = read_marks.mark_hidden_read(tx.realm_id, channel_id, write_id=tx.write_id)
    tx.at_position(entry, marking)
    starred = await restored_access.starred_by(connection, tx.realm_id, channel_id)
    pairs = [
        (user_id, channel_id)
        for user_id in starred
        if user_id in after.context.people
        and after.access(after.context.standing(user_id), (user_id, channel_id)).content
    ]
    append_unstarred(tx, entry, pairs)
    hiding = channel_lists.append_hidden(tx.realm_id, channel_id, write_id=tx.write_id)
    tx.at_position(entry, hiding)
