"""What follows for everybody concerned from a change to channels, or to who may read them."""

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from server.actions.locked_realm import LockedRealm, lock_realm_context
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.notices import Notice
from server.actions.stepped_work import SteppedWorkKind, put_off
from server.actions.subscriptions.restored_access import (
    tell_lost,
    tell_regained,
    who_find_something,
)
from server.events.base import NOBODY, Entry
from server.events.log import Tick
from server.transactions import Tx
from storage import channels, read_state, subscriptions
from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId

READERS_PER_STEP: Final = 100
"""For whom one transaction marks a channel as read, or tells what is unread in it.

Bounds how long others' writes wait.
"""

Reader = tuple[UserId, ChannelId]
"""Somebody for whom a channel counts as read, or who can read it again."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A change that has been made."""

    readers: list[Reader] = []
    """For whom what is read, in this order: because it was archived, or they may not read it.

    Those who may read it are told what is there.
    """
    notices: list[Notice] = []


async def with_unread(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId
) -> list[Reader]:
    """All for whom something there may be unread.

    Whom it came to by being subscribed is not looked for.
    """
    found = await read_state.perhaps_unread(connection, realm_id, channel_id, None)
    return [(user_id, channel_id) for user_id in found]


def take_first(
    tx: Tx,
    entry: Entry,
    readers: Sequence[Reader],
    knowing: Collection[Reader],
    context: LockedRealm,
) -> Sequence[Reader]:
    """With the entry, what the first of these may read no longer is gone for them; the others.

    It counts as read, and they are told what else they lose. `knowing`: who still knows of the
    channel.
    """
    if readers:
        first = readers[:READERS_PER_STEP]
        marking = read_state.mark_left_read(tx.realm_id, first, write_id=tx.write_id)
        tx.at_position(entry, marking)
        tell_lost(tx, entry, first, knowing, context.settings.empty_topic_display_name)
    return readers[READERS_PER_STEP:]


def tell_first(
    tx: Tx, entry: Entry, readers: Sequence[Reader], context: LockedRealm
) -> Sequence[Reader]:
    """The first of these are told, behind the entry, what they find again; the others."""
    name = context.settings.empty_topic_display_name
    tell_regained(tx, entry, readers[:READERS_PER_STEP], name)
    return readers[READERS_PER_STEP:]


async def put_off_aftermath(
    tx: Tx, readers: Sequence[Reader], notices: Sequence[Notice]
) -> str | None:
    """Leave this to later transactions, if it is anything; under this id they go on with it."""
    if not readers and not notices:
        return None
    plan = Plan(readers=list(readers), notices=list(notices))
    return await put_off(tx, AFTERMATH, plan, done=0 if readers else None)


async def _take(tx: Tx, plan: Plan, done: int, readers_per_step: int) -> int | None:
    """The next few, after the first `done`: for whom it is closed by now, it counts as read.

    Those of them who may not read it are told what else they lose. The others are told what they
    find again there, although they may have been before.
    """
    until = done + readers_per_step
    some = plan.readers[done:until]
    context = await lock_realm_context(tx, [user_id for user_id, _ in some])
    ids = sorted({channel_id for _, channel_id in some})
    rows = {row.channel_id: row for row in await tx.lock(channels.locking(tx.realm_id, ids))}
    own = await subscriptions.in_channels(
        await tx.connection(), tx.realm_id, user_ids=sorted(context.people), channel_ids=ids
    )
    there = {(row.user_id, row.channel_id) for row in own if row.active}
    lost = [
        (user_id, channel_id)
        for user_id, channel_id in some
        if not context.standing(user_id).reads(
            rows[channel_id], subscribed=(user_id, channel_id) in there
        )
    ]
    knowing = [
        (user_id, channel_id)
        for user_id, channel_id in lost
        if context.standing(user_id).sees(rows[channel_id], subscribed=False)
    ]
    left = [pair for pair in some if rows[pair[1]].is_archived or pair in lost]
    regained: list[Reader] = []
    for channel_id in ids:
        again = [u for u, i in some if i == channel_id and (u, i) not in left]
        regained += await who_find_something(await tx.connection(), tx.realm_id, channel_id, again)
    if left or regained:
        entry = tx.append(Tick(), NOBODY)
        tx.at_position(entry, read_state.mark_left_read(tx.realm_id, left, write_id=tx.write_id))
        name = context.settings.empty_topic_display_name
        tell_lost(tx, entry, lost, knowing, name)
        tell_regained(tx, entry, regained, name)
    return until if until < len(plan.readers) else None


def _drafts(plan: Plan, work_id: str) -> list[OutgoingMessage]:
    return [notice.draft(work_id) for notice in plan.notices]


AFTERMATH: Final = SteppedWorkKind("finish_channel_change", Plan, READERS_PER_STEP, _take, _drafts)
