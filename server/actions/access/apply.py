"""Apply a change of access: publish channels, and the read state that goes and comes with them."""

from typing import Final

from server.actions.access.diff import AccessDiff, AccessState, Pair
from server.actions.access.metadata import publish_metadata
from server.actions.access.restored_content import (
    append_restored,
    append_withdrawn,
    mark_read,
    with_read_state,
)
from server.events.base import Entry
from server.transactions import Tx
from storage import read_state, restored_access
from storage.database import Connection
from storage.ids import ChannelId

MAX_PAIRS_PER_STEP: Final = 100
"""Pairs of user and channel with read state that one transaction publishes, for each direction.

Bounds for how long it blocks other writes of the realm.
"""


async def apply(
    tx: Tx, connection: Connection, after: AccessState, diff: AccessDiff, entry: Entry
) -> list[Pair]:
    """Append everything that follows from the change that the entry publishes.

    Users get the channels that they may know of now, with their subscribers, and lose others.
    Where they may not read a channel any more, everything in it counts as read, nothing is
    starred and no topic policy is set, as after unsubscribing; where they may read it again, what
    is stored is published again. Users for whom nothing is stored get no event.

    Returns the pairs beyond `MAX_PAIRS_PER_STEP`, for `deferred.defer`.
    """
    realm_id, name = tx.realm_id, after.context.settings.empty_topic_display_name
    lost = await with_read_state(connection, realm_id, diff.content_lost)
    gained = await with_read_state(connection, realm_id, diff.content_gained)
    published = await publish_metadata(tx, connection, after, diff)
    mark_read(tx, entry, lost[:MAX_PAIRS_PER_STEP])
    append_withdrawn(tx, entry, lost[:MAX_PAIRS_PER_STEP], diff.with_metadata(lost), name)
    for channel_id in diff.history_hidden:
        await _hide_history(tx, connection, after, channel_id, entry)
    append_restored(tx, published or entry, gained[:MAX_PAIRS_PER_STEP], name)
    return [*lost[MAX_PAIRS_PER_STEP:], *gained[MAX_PAIRS_PER_STEP:]]


async def _hide_history(
    tx: Tx, connection: Connection, after: AccessState, channel_id: ChannelId, entry: Entry
) -> None:
    """Mark messages that subscribers did not receive there as read, and as starred no more.

    Users without content access get no event here: they lost the whole channel, now or before.
    """
    realm_id, write_id = tx.realm_id, tx.write_id
    tx.at_position(entry, read_state.mark_hidden_read(realm_id, channel_id, write_id=write_id))
    starred = await restored_access.starred_by(connection, realm_id, channel_id)
    pairs = [
        (user_id, channel_id)
        for user_id in starred
        if user_id in after.context.people
        and after.access(after.context.standing(user_id), (user_id, channel_id)).content
    ]
    if pairs:
        unstarred = restored_access.append_unstarred_events(realm_id, pairs, write_id=write_id)
        tx.at_position(entry, unstarred)
