"""Changes to a channel: who may know of it or read it, what it is called, whether it is closed."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Raw

from server.actions.channels.sight import sight_change, tell_of_sight
from server.actions.ground import Ground, stand
from server.actions.subscriptions.audiences import besides, seers
from server.actions.subscriptions.membership import activity_of, notification_defaults
from server.domain.access import GUEST
from server.domain.actor import Actor
from server.domain.channel_creation import ChannelTerms, check_terms
from server.domain.channels import clean_name
from server.domain.errors import BadRequestError, ChannelAlreadyExistsError
from server.events.base import MEMBERS, Audience, Tx, to_users
from server.events.channels import ChannelInfo, ChannelUpdated, DefaultChannelsChanged
from server.events.subscriptions import (
    PeersAdded,
    SubscriptionInfo,
    SubscriptionsAdded,
    personal,
)
from storage import channels, subscriptions, users
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, UserId
from storage.subscriptions import SubscriptionRow


async def rename(tx: Tx, actor: Actor, channel_id: ChannelId, name: str) -> None:
    """Give the channel another name; everyone who may know of it is told.

    Raises BadRequestError, and ChannelAlreadyExistsError if another channel has the name.
    """
    name = clean_name(name)
    ground = await stand(tx, actor, names_change=True)
    channel = await _administered(tx, actor, ground, channel_id)
    [found] = await channels.named(await tx.connection(), tx.realm_id, [name])
    if found.channel_id not in (None, channel_id):
        raise ChannelAlreadyExistsError(name)

    connection = await tx.changing()
    await channels.set_name(connection, tx.realm_id, channel_id, name)
    await _tell(tx, connection, ground, channel, _update(channel, property="name", value=name))


async def set_archived(tx: Tx, actor: Actor, channel_id: ChannelId, *, archived: bool) -> None:
    """Close the channel, or open it again. Nobody sends to a closed channel.

    Clients that do not know archived channels are told that it is gone, or back. Raises
    BadRequestError.
    """
    ground = await stand(tx, actor)
    channel = await _administered(tx, actor, ground, channel_id)
    if channel.is_archived == archived:
        raise BadRequestError(
            "Channel is already archived" if archived else "Channel is not archived"
        )

    connection = await tx.changing()
    await channels.set_archived(connection, tx.realm_id, channel_id, archived=archived)
    if channel.is_default:
        ids = await channels.default_ids(connection, tx.realm_id)
        tx.append(DefaultChannelsChanged(default_streams=ids), MEMBERS)
    if archived:
        update = _update(channel, property="is_archived", value=True)
        await _tell(tx, connection, ground, channel, update)
        return
    opened = replace(channel, is_archived=False)
    activity = await activity_of(connection, tx.realm_id, [channel_id])
    info = ChannelInfo.of(
        opened, activity.get(channel_id), ground.graph, now=ground.graph.clock.now()
    )
    update = _update(opened, property="is_archived", value=False, channel=info)
    audience = await _tell(tx, connection, ground, opened, update)
    await _give_back(tx, connection, info, audience)


async def change_privacy(
    tx: Tx,
    actor: Actor,
    channel_id: ChannelId,
    terms: ChannelTerms,
    *,
    web_public_enabled: bool,
) -> None:
    """Let the channel be private, public or open to everybody, and share its history or not.

    Whoever may no longer know of it loses it; whoever now may gets it. Raises BadRequestError.
    """
    ground = await stand(tx, actor, names_change=True)
    channel = await _administered(tx, actor, ground, channel_id)
    check_terms(
        replace(terms, is_default=channel.is_default),
        web_public_enabled=web_public_enabled,
        spectators=ground.settings.enable_spectator_access,
    )
    connection = await tx.changing()
    changed = replace(
        channel,
        invite_only=terms.invite_only,
        is_web_public=terms.is_web_public,
        history_public_to_subscribers=terms.shares_history,
    )
    await channels.set_privacy(
        connection,
        tx.realm_id,
        channel_id,
        invite_only=changed.invite_only,
        is_web_public=changed.is_web_public,
        history_public_to_subscribers=changed.history_public_to_subscribers,
    )
    everybody = await users.up_to_role(connection, tx.realm_id, least_role=GUEST, or_among=())
    people = replace(ground, people={row.user_id: row for row in everybody})
    there = await subscriptions.active_user_ids(connection, tx.realm_id, channel_id)
    change = sight_change(
        people,
        people,
        [channel],
        {channel_id: changed},
        {(user_id, channel_id) for user_id in there},
    )
    update = _update(
        changed,
        property="invite_only",
        value=changed.invite_only,
        history_public_to_subscribers=changed.history_public_to_subscribers,
        is_web_public=changed.is_web_public,
    )
    await _tell(tx, connection, ground, changed, update, without=tuple(change.gained))
    await tell_of_sight(tx, connection, ground, {channel_id: changed}, change)


async def _administered(tx: Tx, actor: Actor, ground: Ground, channel_id: ChannelId) -> ChannelRow:
    """The channel, locked. Raises BadRequestError unless the actor sees and administers it."""
    unknown = BadRequestError("Invalid channel ID")
    connection = await tx.connection()
    if not await channels.by_ids(connection, tx.realm_id, [channel_id]):
        raise unknown
    [channel] = await tx.lock(channels.locking(tx.realm_id, [channel_id]))
    own = await subscriptions.of_user_in(connection, tx.realm_id, actor.user_id, channel_id)
    standing = ground.standing(actor.user_id)
    if not standing.sees(channel, subscribed=own is not None and own.active):
        raise unknown
    if not standing.administers(channel):
        raise BadRequestError("You do not have permission to administer this channel.")
    return channel


async def _tell(
    tx: Tx,
    connection: Connection,
    ground: Ground,
    channel: ChannelRow,
    event: ChannelUpdated,
    *,
    without: tuple[UserId, ...] = (),
) -> Audience:
    """Tell those who may know of the channel as it is now; older rows of it are stale."""
    audiences = await seers(connection, tx.realm_id, ground, [channel])
    audience = audiences[channel.channel_id]
    entry = tx.append(event, besides(audience, without) if without else audience)
    tx.at_position(entry, channels.changed(tx.realm_id, [channel.channel_id]))
    return audience


def _update(row: ChannelRow, **facts: Any) -> ChannelUpdated:
    return ChannelUpdated(
        stream_id=row.channel_id, name=row.name, archived=row.is_archived, **facts
    )


async def _give_back(tx: Tx, connection: Connection, info: ChannelInfo, audience: Audience) -> None:
    """To clients that had lost it with the archiving, those who are in the channel come back."""
    shown = await subscriptions.subscribers(connection, tx.realm_id, [info.stream_id])
    subscribers = Raw(shown[0].user_ids.encode())
    user_ids: list[UserId] = msgspec.json.decode(subscribers)
    if not user_ids:
        return
    peers = PeersAdded(stream_ids=[info.stream_id], user_ids=user_ids, is_return=True)
    tx.append(peers, audience)

    rows = await subscriptions.active_in(connection, tx.realm_id, info.stream_id)
    people = {row.user_id: row for row in await users.by_ids(connection, tx.realm_id, user_ids)}
    alike: dict[Hashable, list[SubscriptionRow]] = defaultdict(list)
    for row in rows:
        if row.user_id in people:
            defaults = notification_defaults(people[row.user_id])
            alike[*personal(row).values(), *defaults.values()].append(row)
    for same in alike.values():
        subscription = SubscriptionInfo.of_subscriber(info, same[0], subscribers=subscribers)
        event = SubscriptionsAdded(
            user_ids=[row.user_id for row in same],
            subscriptions=[subscription],
            defaults=notification_defaults(people[same[0].user_id]),
            is_return=True,
        )
        tx.append(event, to_users(*event.user_ids))
