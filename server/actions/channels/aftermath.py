"""What follows from a change to a channel for everybody in it, in steps."""

from collections.abc import Sequence
from typing import Final

import msgspec

from server.actions.ground import stand_on_realm
from server.actions.messages.decide import Draft
from server.actions.messages.notices import Notice
from server.actions.stepped_work import Kind, put_off
from server.events.base import NOBODY, Tx
from server.events.log import Tick
from storage import channels, read_state
from storage.ids import ChannelId, UserId

READERS_PER_STEP: Final = 100
"""For whom one transaction marks a channel as read."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A change that has been made."""

    channel_id: ChannelId
    reader_ids: list[UserId] = []
    """For whom the channel, which was archived, counts as read, in this order."""
    notices: list[Notice] = []


async def put_off_aftermath(
    tx: Tx, channel_id: ChannelId, reader_ids: Sequence[UserId], notices: Sequence[Notice]
) -> str | None:
    """Leave this to later transactions, if it is anything; under this id they go on with it."""
    if not reader_ids and not notices:
        return None
    plan = Plan(channel_id=channel_id, reader_ids=list(reader_ids), notices=list(notices))
    return await put_off(tx, AFTERMATH, plan, done=0 if reader_ids else None)


async def _take(tx: Tx, plan: Plan, done: int, readers_per_step: int) -> int | None:
    """Mark the channel as read for the next few, after the first `done`: if it is still closed."""
    until = done + readers_per_step
    await stand_on_realm(tx, [])
    [channel] = await tx.lock(channels.locking(tx.realm_id, [plan.channel_id]))
    if not channel.is_archived:
        return None
    left = [(user_id, plan.channel_id) for user_id in plan.reader_ids[done:until]]
    marking = read_state.mark_left_read(tx.realm_id, left, write_id=tx.write_id)
    tx.at_position(tx.append(Tick(), NOBODY), marking)
    return until if until < len(plan.reader_ids) else None


def _drafts(plan: Plan, work_id: str) -> list[Draft]:
    return [notice.draft(work_id) for notice in plan.notices]


AFTERMATH: Final = Kind("finish_channel_change", Plan, READERS_PER_STEP, _take, _drafts)
