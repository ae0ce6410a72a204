"""The rest of a change of access, where more users are concerned than one transaction handles."""

from collections.abc import Sequence

import msgspec

from server.actions.access.apply import MAX_PAIRS_PER_STEP
from server.actions.access.diff import AccessState, Pair
from server.actions.access.restored_content import (
    append_restored,
    append_withdrawn,
    mark_read,
    with_read_state,
)
from server.actions.locked_realm import lock_realm_context
from server.actions.messages.notices import Notice, deliver, drafts
from server.actions.stepped_work import Step, SteppedWorkKind, put_off
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.transactions import Tx
from storage import channels, read_state
from storage.database import Connection
from storage.ids import ChannelId, RealmId


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is left to do. Jobs hold it: its fields stay."""

    readers: list[Pair] = []
    """Users and channels with read state that is still to be published, in this order."""
    notices: list[Notice] = []
    """Messages to send in the end."""


async def defer(tx: Tx, pairs: Sequence[Pair], notices: Sequence[Notice] = ()) -> str | None:
    """Leave this to later transactions; return the id of the work, or None for nothing."""
    plan = Plan(readers=list(pairs), notices=list(notices))
    return await put_off(tx, ACCESS_CHANGE, plan, done=0 if pairs else None)


async def pairs_with_unread(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId
) -> list[Pair]:
    """Return all users with perhaps unread messages there, subscribed or not."""
    found = await read_state.perhaps_unread(connection, realm_id, channel_id, None)
    return [(user_id, channel_id) for user_id in found]


async def _take(tx: Tx, plan: Plan, step: Step) -> int | None:
    """Publish the read state of the next pairs, as access is now; return how many are done.

    Access may have changed again since the plan was made, so it is computed anew. Content access
    that a user still has, or has again, is published even if they never lost it.
    """
    until = step.done + step.size
    pairs = plan.readers[step.done : until]
    state = await _lock(tx, pairs)
    access = {pair: state.access(state.context.standing(pair[0]), pair) for pair in pairs}
    lost = [pair for pair in pairs if not access[pair].content]
    left = [pair for pair in pairs if state.channels[pair[1]].is_archived or pair in lost]
    restored = await with_read_state(
        await tx.connection(), tx.realm_id, [pair for pair in pairs if pair not in left]
    )
    if left or restored:
        entry = tx.append(Tick(), NO_AUDIENCE)
        name = state.context.settings.empty_topic_display_name
        mark_read(tx, entry, left)
        append_withdrawn(tx, entry, lost, [pair for pair in lost if access[pair].metadata], name)
        append_restored(tx, entry, restored, name)
    return until if until < len(plan.readers) else None


async def _lock(tx: Tx, pairs: Sequence[Pair]) -> AccessState:
    """Lock the users and channels; return them with their subscriptions."""
    context = await lock_realm_context(tx, [user_id for user_id, _ in pairs])
    ids = sorted({channel_id for _, channel_id in pairs})
    rows = {row.channel_id: row for row in await tx.lock(channels.locking(tx.realm_id, ids))}
    return await AccessState.read(await tx.connection(), context, rows)


ACCESS_CHANGE = SteppedWorkKind(
    "finish_channel_change", Plan, MAX_PAIRS_PER_STEP, _take, drafts, deliver
)
