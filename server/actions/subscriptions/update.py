"""Subscribe to some channels and unsubscribe from others at once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from server.actions.locked_realm import lock_context
from server.actions.subscriptions.settings import COLOR, change_properties, checked_change
from server.actions.subscriptions.subscribe import Subscribed, SubscriptionRequest, subscribe
from server.actions.subscriptions.unsubscribe import Unsubscribed, unsubscribe
from server.domain.actor import Actor
from server.domain.names import composed
from server.transactions import StaleDecisionError, Tx
from storage import channels, users


async def update_subscriptions(
    tx: Tx,
    actor: Actor,
    request: SubscriptionRequest,
    left: Sequence[str],
    colors: Mapping[str, str],
    *,
    web_public_enabled: bool,
) -> tuple[Subscribed, Unsubscribed]:
    """Make the request, then unsubscribe from `left`; all or nothing.

    `colors` are for channels of the request, by name. Raises the errors of both.
    """
    # If one is refused, the others have written already: so the write must run alone.
    tx.must_be_exact()
    wanted = [each.name for each in request.wanted]
    there = await channels.named(await tx.connection(), tx.realm_id, wanted)
    makes = any(each.channel_id is None for each in there)
    await lock_context(tx, actor, names_change=makes)
    # All their locks, in the order of tables and ids.
    await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    names = [*wanted, *map(composed, left)]
    named = await channels.named(await tx.connection(), tx.realm_id, names)
    if not makes and any(each.channel_id is None for each in named[: len(wanted)]):
        raise StaleDecisionError  # to make it, the realm would have to be held alone
    ids = sorted({each.channel_id for each in named if each.channel_id is not None})
    if ids:
        await tx.lock(channels.locking(tx.realm_id, ids))

    request = replace(request, is_looked_up=True)
    joined = await subscribe(tx, actor, request, web_public_enabled=web_public_enabled)
    if colors:
        found = await channels.named(await tx.connection(), tx.realm_id, list(colors))
        changes = [
            checked_change(each.channel_id, COLOR, colors[each.name])
            for each in found
            if each.channel_id is not None
        ]
        await change_properties(tx, actor, changes)
    gone = await unsubscribe(tx, actor, left) if left else Unsubscribed([], [])
    return joined, gone
