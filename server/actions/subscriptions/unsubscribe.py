"""Unsubscribe oneself or others."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.actions.locked_realm import lock_context
from server.actions.subscriptions.membership import MembershipChange, leave
from server.actions.subscriptions.principals import principal_ids, refuse_unfit
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, ChannelDoesNotExistError
from server.domain.names import composed
from server.i18n import _
from server.transactions import Tx
from storage import channels, subscriptions
from storage.channels import ChannelRow
from storage.ids import ChannelId


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """Names of the channels that users left, and of those to which they were not subscribed."""

    removed: list[str]
    not_removed: list[str]


async def unsubscribe(
    tx: Tx,
    actor: Actor,
    names: Sequence[str],
    principals: Sequence[int] | Sequence[str] | None = None,
) -> Unsubscribed:
    """Unsubscribe the users, or the actor, from these channels.

    Raises, with nothing done, ChannelDoesNotExistError for a channel that does not exist or that
    the actor may not know, and BadRequestError for an unknown principal and for a channel from
    which the actor may not remove others. One's own bots are no others.
    """
    people = await principal_ids(tx, actor, principals)
    context = await lock_context(tx, actor, people)
    refuse_unfit(context, people)
    asked = await _channels(tx, names)
    targets = {channel.channel_id: channel for _, channel in asked}
    rows = await subscriptions.in_channels(
        await tx.connection(),
        tx.realm_id,
        user_ids=sorted({actor.user_id, *people}),
        channel_ids=list(targets),
    )
    there = {(row.user_id, row.channel_id) for row in rows if row.active}
    own = {row.channel_id for row in rows if row.user_id == actor.user_id}
    others = any(
        actor.user_id not in (user_id, context.people[user_id].bot_owner_id) for user_id in people
    )
    standing = context.standing(actor.user_id)
    for name, channel in asked:
        is_in = (actor.user_id, channel.channel_id) in there
        if others and standing.removes_others(channel, subscribed=is_in):
            continue
        if not standing.sees(channel, subscribed=is_in) and channel.channel_id not in own:
            raise ChannelDoesNotExistError.named(name)
        if others:
            raise BadRequestError(_("Insufficient permission"))

    pairs = [(user_id, i) for user_id in people for i in targets if (user_id, i) in there]
    leaving = {user_id: context.people[user_id] for user_id in people}
    await leave(tx, context, MembershipChange(targets, leaving, pairs, by=actor.user_id))
    left = {channel_id for _, channel_id in pairs}
    absent = {i for i in targets for user_id in people if (user_id, i) not in there}
    return Unsubscribed(
        removed=[channel.name for i, channel in targets.items() if i in left],
        not_removed=[channel.name for i, channel in targets.items() if i in absent],
    )


async def _channels(tx: Tx, names: Sequence[str]) -> list[tuple[str, ChannelRow]]:
    """Lock and return the channels of these names, with the names that were given.

    Raises ChannelDoesNotExistError.
    """
    wanted = [composed(name) for name in names]
    found = await channels.named(await tx.connection(), tx.realm_id, wanted)
    ids: dict[str, ChannelId] = {}
    for each in found:
        if each.channel_id is None:
            raise ChannelDoesNotExistError.named(each.name)
        ids[each.name] = each.channel_id
    rows = await tx.lock(channels.locking(tx.realm_id, sorted(set(ids.values()))))
    by_id = {row.channel_id: row for row in rows}
    return [(name, by_id[channel_id]) for name, channel_id in ids.items() if channel_id in by_id]
