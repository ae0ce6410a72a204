"""Subscribe many users in steps."""

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from server.actions.locked_realm import LockedRealm, lock_realm_context
from server.actions.messages.notices import Notice, deliver, drafts
from server.actions.stepped_work import Step, SteppedWorkKind, put_off
from server.actions.subscriptions.membership import MembershipChange, join
from server.transactions import Tx
from storage import channels, subscriptions
from storage.channels import ChannelRow
from storage.ids import ChannelId, UserId

PAIRS_PER_STEP: Final = 1_000
"""Subscriptions per transaction, which bounds how long other writes wait."""


class SubscribePlan(msgspec.Struct, frozen=True, kw_only=True):
    """Subscriptions that the actor is permitted to make."""

    actor_id: UserId
    channel_ids: list[ChannelId]
    user_ids: list[UserId]
    """Users that later transactions subscribe, in this order."""
    notices: list[Notice] = []
    chooses_colors: bool = False
    """As in MembershipChange."""


def people_per_step(channel_count: int, pairs_per_step: int) -> int:
    return max(1, pairs_per_step // max(1, channel_count))


async def put_off_rest(tx: Tx, plan: SubscribePlan) -> str | None:
    """Leave this to later transactions, if there is any; return the id of the work."""
    return await put_off(tx, SUBSCRIBING, plan, done=0 if plan.user_ids else None)


async def _take(tx: Tx, plan: SubscribePlan, step: Step) -> int | None:
    """Subscribe the next few of them, after the first `step.done`."""
    until = step.done + people_per_step(len(plan.channel_ids), step.size)
    context, change = await _next(tx, plan, plan.user_ids[step.done : until])
    await join(tx, context, change)
    return until if until < len(plan.user_ids) else None


SUBSCRIBING: Final = SteppedWorkKind(
    "finish_subscribing", SubscribePlan, PAIRS_PER_STEP, _take, drafts, deliver
)


async def _next(
    tx: Tx, plan: SubscribePlan, user_ids: Sequence[UserId]
) -> tuple[LockedRealm, MembershipChange]:
    """Return who joins what: decided again, because much may have changed since the last step."""
    context = await lock_realm_context(tx, [plan.actor_id, *user_ids])
    targets = await tx.lock(channels.locking(tx.realm_id, plan.channel_ids))
    rows = await subscriptions.in_channels(
        await tx.connection(),
        tx.realm_id,
        user_ids=sorted(context.people),
        channel_ids=plan.channel_ids,
    )
    there = {(row.user_id, row.channel_id) for row in rows if row.active}
    open_to_them = [
        channel for channel in targets if _still_permitted(context, plan.actor_id, channel, there)
    ]
    joining = {
        user_id: context.people[user_id]
        for user_id in user_ids
        if user_id in context.people and context.people[user_id].is_active
    }
    pairs = [
        (user_id, channel.channel_id)
        for user_id in joining
        for channel in open_to_them
        if (user_id, channel.channel_id) not in there
    ]
    past = {(row.user_id, row.channel_id): row for row in rows}
    by_id = {channel.channel_id: channel for channel in open_to_them}
    change = MembershipChange(
        by_id,
        joining,
        pairs,
        past,
        chooses_colors=plan.chooses_colors,
        by=plan.actor_id,
    )
    return context, change


def _still_permitted(
    context: LockedRealm,
    actor_id: UserId,
    channel: ChannelRow,
    there: Collection[tuple[UserId, ChannelId]],
) -> bool:
    """Return whether the actor may continue. The channel's creator need not be subscribed to it."""
    actor = context.people.get(actor_id)
    if actor is None or not actor.is_active:
        return False
    standing = context.standing_of(actor)
    return standing.administers(channel) or standing.adds_others(
        channel, subscribed=(actor_id, channel.channel_id) in there
    )
