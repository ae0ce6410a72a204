"""Subscribing many people goes in steps, each a transaction that says what is left.

Whoever began goes on with it; a job goes on if they cannot. Both may at once.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from server.actions.ground import Ground, stand_on_realm
from server.actions.messages.content import Reading
from server.actions.messages.notices import Write, deliver
from server.actions.subscriptions.membership import Move, join
from server.actions.subscriptions.news import Letter
from server.directory import Directory
from server.domain.clock import Clock
from server.events.base import Tx
from server.jobs import DeferredWork, enqueue
from storage import channels, subscribing_work, subscriptions
from storage.channels import ChannelRow
from storage.ids import ChannelId, RealmId, UserId
from storage.subscribing_work import WorkRow

PAIRS_PER_STEP: Final = 500
"""Subscriptions that one transaction begins: bounds how long everybody else's writes wait."""
PEOPLE_IN_BATCH: Final = 50
"""More at once have a transaction of their own: it takes long to prepare."""
JOB_DELAY_SECONDS: Final = 30
"""Whoever began has finished by then, or is dead."""


class FinishSubscribing(msgspec.Struct, frozen=True):
    """The job's arguments."""

    work_id: str


STEP: Final = "finish_subscribing"


@dataclass(frozen=True, slots=True)
class Desk:
    """What goes on with the work needs."""

    directory: Directory
    read: Reading
    write: Write
    clock: Clock
    pairs_per_step: int = PAIRS_PER_STEP


def people_per_step(channel_count: int, pairs_per_step: int) -> int:
    return max(1, pairs_per_step // max(1, channel_count))


async def put_off(
    tx: Tx,
    actor_id: UserId,
    channel_ids: Sequence[ChannelId],
    user_ids: Sequence[UserId],
    letters: Sequence[Letter],
) -> str | None:
    """Leave the rest to later transactions, if there is any; under this id they go on with it."""
    if not user_ids and not letters:
        return None
    work = WorkRow(
        work_id=tx.write_id,
        actor_id=actor_id,
        channel_ids=list(channel_ids),
        user_ids=list(user_ids),
        news=msgspec.to_builtins(letters) if letters else None,
    )
    await subscribing_work.insert(await tx.changing(), tx.realm_id, work)
    job = DeferredWork.of(tx.realm_id, STEP, FinishSubscribing(work.work_id))
    enqueue(tx, job, after_seconds=JOB_DELAY_SECONDS)
    return work.work_id


async def finish(desk: Desk, realm_id: RealmId, work_id: str) -> None:
    """Go on with the work until it is done; at once if it is."""
    while await desk.write(lambda tx: take_step(tx, work_id, desk.pairs_per_step)):
        pass
    async with desk.read() as connection:
        work = await subscribing_work.by_id(connection, realm_id, work_id)
    if work is None:
        return
    for letter in msgspec.convert(work.news or [], list[Letter]):
        draft = letter.draft(work_id)
        await deliver(desk.directory, desk.read, desk.write, desk.clock, realm_id, draft)
    await desk.write(lambda tx: _end(tx, work_id))


async def take_step(tx: Tx, work_id: str, pairs_per_step: int) -> bool:
    """Subscribe the next few of them. Whether more are left."""
    tx.must_be_exact()
    work = await _lock(tx, work_id)
    if work is None:
        return False
    size = people_per_step(len(work.channel_ids), pairs_per_step)
    now = work.user_ids[work.done : work.done + size]
    done = work.done + len(now)
    if now:
        ground, move = await _next(tx, work, now)
        await subscribing_work.go_on(await tx.changing(), tx.realm_id, work_id, done=done)
        await join(tx, ground, move)
    is_last = done == len(work.user_ids)
    if is_last and work.news is None:
        await subscribing_work.delete(await tx.changing(), tx.realm_id, work_id)
    return not is_last


async def _lock(tx: Tx, work_id: str) -> WorkRow | None:
    # Work that is done must not look like work that somebody holds.
    if await subscribing_work.by_id(await tx.connection(), tx.realm_id, work_id) is None:
        return None
    found = await tx.lock(subscribing_work.locking(tx.realm_id, work_id))
    return found[0] if found else None


async def _next(tx: Tx, work: WorkRow, user_ids: Sequence[UserId]) -> tuple[Ground, Move]:
    """Who of them joins what: decided anew, for much may have changed since the last step."""
    ground = await stand_on_realm(tx, [work.actor_id, *user_ids])
    targets = await tx.lock(channels.locking(tx.realm_id, work.channel_ids))
    rows = await subscriptions.in_channels(
        await tx.connection(),
        tx.realm_id,
        user_ids=sorted(ground.people),
        channel_ids=work.channel_ids,
    )
    there = {(row.user_id, row.channel_id) for row in rows if row.active}
    open_to_them = [
        channel for channel in targets if _still_permitted(ground, work.actor_id, channel, there)
    ]
    joining = {
        user_id: ground.people[user_id]
        for user_id in user_ids
        if user_id in ground.people and ground.people[user_id].is_active
    }
    pairs = [
        (user_id, channel.channel_id)
        for user_id in joining
        for channel in open_to_them
        if (user_id, channel.channel_id) not in there
    ]
    past = {(row.user_id, row.channel_id): row for row in rows}
    return ground, Move({c.channel_id: c for c in open_to_them}, joining, pairs, past)


def _still_permitted(
    ground: Ground,
    actor_id: UserId,
    channel: ChannelRow,
    there: Collection[tuple[UserId, ChannelId]],
) -> bool:
    """Whether who began may go on. Who has made the channel need not be in it."""
    actor = ground.people.get(actor_id)
    if actor is None or not actor.is_active:
        return False
    standing = ground.standing_of(actor)
    return standing.administers(channel) or standing.adds_others(
        channel, subscribed=(actor_id, channel.channel_id) in there
    )


async def _end(tx: Tx, work_id: str) -> None:
    if await _lock(tx, work_id) is not None:
        await subscribing_work.delete(await tx.changing(), tx.realm_id, work_id)
